package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lakescan/lakescan/internal/fakerest"
	"github.com/lakescan/lakescan/internal/fakes3"
	"github.com/lakescan/lakescan/internal/faulty"
	"github.com/lakescan/lakescan/query/duckdb"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lakescan": main})
}

// TestScripts runs each script against a store and a catalog of its own, which hold the demo's table.
//
//	exits N lakescan …        the exit code is N; output as after exec
//	faults s3|rest RULE       adds a rule of internal/faulty in front of the store, the catalog
//	requests s3|rest N GLOB   the number of requests whose path matches, since the script began or since "requests reset"
//	spans NAME…               the collector at COLLECTOR has got a span of each of these names, and of no others, since the last "spans"
//	interrupt N lakescan …    sends SIGINT once stderr or the store has been reached, and demands exit code N within 4 s
//	tty INPUT COMMAND         runs a shell command on a terminal where INPUT is typed; the file tty has what it showed
//
// Variables: URI (catalog), S3 (store), KEY and SECRET.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		Deadline:            time.Now().Add(5 * time.Minute),
		Setup:               setupLake,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "corpus":
				return fileExists(corpusDir), nil
			case "sql":
				return duckdb.Version != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "faults": faults, "requests": requests, "interrupt": interrupt, "spans": spans, "tty": tty,
		},
	})
}

// corpusDir holds real files; tests that need it are left out where it is not.
var corpusDir = filepath.Join("..", "..", "..", "shared", "corpus")

const (
	testKey    = "planted-key-id"
	testSecret = "planted-secret-access-key-0123456789"
)

// lake is one script's servers.
type lake struct {
	s3, rest         *faulty.Rules
	collector        *collector
	s3Base, restBase int
}

type lakeKey struct{}

func setupLake(env *testscript.Env) error {
	store := fakes3.New(fakes3.Config{Keys: []fakes3.Keys{{ID: testKey, Secret: testSecret}}, Region: "us-east-1"}, "lakescan-demo")
	newest, err := loadDemo(store)
	if err != nil {
		return err
	}
	l := &lake{}
	if l.s3, err = faulty.Parse("", 1); err != nil {
		return err
	}
	if l.rest, err = faulty.Parse("", 1); err != nil {
		return err
	}
	s3 := httptest.NewServer(l.s3.Handler(store))
	catalog := fakerest.New(fakerest.Config{Warehouse: "s3://lakescan-demo", Defaults: map[string]string{
		"s3.endpoint": s3.URL, "s3.access-key-id": testKey, "s3.secret-access-key": testSecret, "s3.region": "us-east-1", "s3.path-style-access": "true",
	}})
	document := store.Get("lakescan-demo", newest).Data
	if err := catalog.AddTable([]string{"demo"}, "trips", "s3://lakescan-demo/"+newest, document); err != nil {
		return err
	}
	catalog.AddNamespace("empty")
	catalog.AddNamespace("demo", "nested.dot")
	rest := httptest.NewServer(l.rest.Handler(catalog))
	l.collector = &collector{}
	traces := httptest.NewServer(l.collector)
	env.Setenv("COLLECTOR", traces.URL)
	env.Defer(traces.Close)
	env.Defer(func() { rest.CloseClientConnections(); rest.Close(); s3.CloseClientConnections(); s3.Close() })
	env.Values[lakeKey{}] = l
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	corpus, err := filepath.Abs(corpusDir)
	if err != nil {
		return err
	}
	env.Setenv("GORACE", os.Getenv("GORACE"))
	env.Setenv("CORPUS", corpus)
	for k, v := range map[string]string{"HOME": home, "URI": rest.URL, "S3": s3.URL, "KEY": testKey, "SECRET": testSecret, "LAKESCAN_URI": rest.URL, "LAKESCAN_RETRIES": "1"} {
		env.Setenv(k, v)
	}
	return nil
}

// loadDemo puts the demo's files into the bucket and returns the key of its newest metadata.
func loadDemo(store *fakes3.Server) (newest string, err error) {
	root := filepath.Join("..", "..", "demo", "lake")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(rel)
		store.Put("lakescan-demo", key, body)
		if strings.HasSuffix(key, ".metadata.json") {
			newest = max(newest, key)
		}
		return nil
	})
	return newest, err
}

func lakeOf(ts *testscript.TestScript) *lake { return ts.Value(lakeKey{}).(*lake) }

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := codeOf(ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func codeOf(err error) int {
	var e *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.ExitCode()
	}
	return -1
}

func faults(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: faults s3|rest RULE")
	}
	ts.Check(lakeOf(ts).rules(ts, args[0]).Add(args[1]))
}

func (l *lake) rules(ts *testscript.TestScript, name string) *faulty.Rules {
	switch name {
	case "s3":
		return l.s3
	case "rest":
		return l.rest
	}
	ts.Fatalf("%s is neither s3 nor rest", name)
	return nil
}

func requests(ts *testscript.TestScript, neg bool, args []string) {
	l := lakeOf(ts)
	if len(args) == 1 && args[0] == "reset" {
		l.s3Base, l.restBase = len(l.s3.Log()), len(l.rest.Log())
		return
	}
	if neg || len(args) != 3 {
		ts.Fatalf("usage: requests s3|rest N GLOB")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	base := map[string]int{"s3": l.s3Base, "rest": l.restBase}[args[0]]
	got, all := 0, []string{}
	for _, e := range l.rules(ts, args[0]).Log()[base:] {
		path := strings.TrimPrefix(e.Path, "/")
		all = append(all, e.Method+" "+path)
		if ok, _ := filepath.Match(strings.ReplaceAll(args[2], "/", "\x00"), strings.ReplaceAll(path, "/", "\x00")); ok {
			got++
		}
	}
	if got != want {
		ts.Fatalf("%d requests for %s, want %d; all:\n%s", got, args[2], want, strings.Join(all, "\n"))
	}
}

// interrupt starts a command, waits until the store has seen a request, and interrupts it.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupt CODE command …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	path, err := exec.LookPath(args[1])
	if err != nil {
		for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
			if p := filepath.Join(dir, args[1]); fileExists(p) {
				path, err = p, nil
				break
			}
		}
	}
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.Getenv("WORK")
	for _, k := range []string{"HOME", "PATH", "LAKESCAN_URI", "LAKESCAN_RETRIES", "TMPDIR"} {
		cmd.Env = append(cmd.Env, k+"="+ts.Getenv(k))
	}
	var out, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &stderr
	l := lakeOf(ts)
	seen := len(l.s3.Log())
	open := func() bool { return l.s3.Open() > 0 && len(l.s3.Log()) > seen }
	ts.Check(cmd.Start())
	for deadline := time.Now().Add(10 * time.Second); !open() && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	began := time.Now()
	ts.Check(cmd.Process.Signal(os.Interrupt))
	code := codeOf(cmd.Wait())
	ts.Logf("[stdout]\n%s\n[stderr]\n%s", out.String(), stderr.String())
	if code != want || time.Since(began) > 4*time.Second {
		ts.Fatalf("exit code %d after %v, want %d", code, time.Since(began), want)
	}
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), "interrupt.stderr"), []byte(stderr.String()), 0o600))
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), "interrupt.stdout"), []byte(out.String()), 0o600))
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
