package plan

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the results in testdata")

// Scripts in testdata/window: "open lengths… [barrier=n] [lazy]", then "used" and "waited" steps; the answer to each is what
// is asked for next, and the state.
func TestWindowScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/window/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			var w *window
			for line := range strings.Lines(string(text)) {
				line = strings.TrimRight(line, "\n")
				if strings.HasPrefix(line, "  ") {
					continue
				}
				fmt.Fprintln(&out, line)
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				w = step1(t, &out, w, strings.Fields(line))
			}
			if *rewrite {
				if err := os.WriteFile(name, out.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if out.String() != string(text) {
				t.Errorf("got\n%s", out.String())
			}
		})
	}
}

func step1(t *testing.T, out *bytes.Buffer, w *window, words []string) *window {
	times := 1
	if n, err := strconv.Atoi(words[len(words)-1]); err == nil && words[0] != "open" {
		times = n
	}
	for range times {
		switch words[0] {
		case "open":
			w = openWindow(t, words[1:])
		case "used":
			w.used(false)
		case "waited":
			w.used(true)
		default:
			t.Fatalf("unknown step %q", words[0])
		}
		var asked []string
		for {
			i, ok := w.admit()
			if !ok {
				break
			}
			asked = append(asked, strconv.Itoa(i))
		}
		fmt.Fprintf(out, "  ask [%s]  in flight %d, %d bytes, window %d, drained %v\n", strings.Join(asked, " "), w.next-w.head, w.bytes, w.size, w.drained())
	}
	return w
}

func openWindow(t *testing.T, words []string) *window {
	var lengths []int64
	barrier, lazy := 0, false
	for _, f := range words {
		if n, ok := strings.CutPrefix(f, "barrier="); ok {
			barrier, _ = strconv.Atoi(n)
			continue
		}
		if f == "lazy" {
			lazy = true
			continue
		}
		length, count, _ := strings.Cut(f, "x")
		n := 1
		if count != "" {
			n, _ = strconv.Atoi(count)
		}
		v, err := strconv.ParseInt(length, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			lengths = append(lengths, v)
		}
	}
	return newWindow(lengths, barrier, lazy)
}
