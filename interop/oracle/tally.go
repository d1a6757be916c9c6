package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// tally holds the outcomes of a run, and of the runs before that kept theirs in the same file.
type tally struct {
	mu struct {
		sync.Mutex
		outcomes map[uint64]outcome
		file     *os.File // nil = kept nowhere
	}
}

// resume reads the outcomes that a file keeps of the seeds, and opens it for more.
func (t *tally) resume(path string, seeds []uint64) error {
	t.mu.outcomes = map[uint64]outcome{}
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	whole := b[:strings.LastIndexByte(string(b), '\n')+1] // a run that was killed may have left half a line
	for line := range strings.Lines(string(whole)) {
		var o outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if slices.Contains(seeds, o.Seed) {
			t.mu.outcomes[o.Seed] = o
		}
	}
	if t.mu.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return err
	}
	if err := t.mu.file.Truncate(int64(len(whole))); err != nil {
		return err
	}
	_, err = t.mu.file.Seek(0, io.SeekEnd)
	return err
}

func (t *tally) close() {
	if t.mu.file != nil {
		t.mu.file.Close()
	}
}

func (t *tally) has(seed uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.mu.outcomes[seed]
	return ok
}

func (t *tally) add(o outcome) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.outcomes[o.Seed] = o
	if t.mu.file == nil {
		return nil
	}
	_, err = t.mu.file.Write(append(b, '\n')) // one small write; the lock also keeps lines whole
	return err
}

// sum adds up one kind of figures, with the least seed that has each.
func (t *tally) sum(of func(outcome) map[string]int) (sums map[string]int, first map[string]uint64) {
	sums, first = map[string]int{}, map[string]uint64{}
	for seed, o := range t.mu.outcomes {
		for k, n := range of(o) {
			sums[k] += n
			if old, ok := first[k]; !ok || seed < old {
				first[k] = seed
			}
		}
	}
	return sums, first
}

func (t *tally) differences() (n int) {
	for _, o := range t.mu.outcomes {
		n += len(o.Differences)
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (t *tally) report(out io.Writer, d time.Duration) {
	w := bufio.NewWriter(out)
	defer w.Flush()
	var total outcome
	low, high := ^uint64(0), uint64(0)
	writers, refused, unlisted := map[string]int{}, map[string]int{}, map[string]int{}
	for seed, o := range t.mu.outcomes {
		low, high = min(low, seed), max(high, seed)
		if o.Refused != "" {
			refused[o.Refused[:min(len(o.Refused), 110)]]++
			continue
		}
		writers[o.Writer]++
		total.Rows, total.Predicates, total.Snapshots = total.Rows+o.Rows, total.Predicates+o.Predicates, total.Snapshots+o.Snapshots
		for _, d := range o.Differences {
			for _, r := range sortedKeys(o.Compared) {
				if strings.Contains(d, ", "+r+", where ") {
					unlisted[r]++
				}
			}
		}
	}
	fmt.Fprintf(w, "seeds        %d..%d\n", low, high)
	fmt.Fprintf(w, "tables       %d, %d live rows, %d past snapshots, %d predicates\n", len(t.mu.outcomes), total.Rows, total.Snapshots, total.Predicates)
	for _, k := range sortedKeys(writers) {
		fmt.Fprintf(w, "  written by %-22s %d\n", k, writers[k])
	}
	tables, _ := t.sum(func(o outcome) map[string]int {
		out := map[string]int{}
		for k := range o.Features {
			out[k] = 1
		}
		return out
	})
	for _, k := range sortedKeys(tables) {
		fmt.Fprintf(w, "  with %-28s %d\n", k, tables[k])
	}
	for _, k := range sortedKeys(refused) {
		fmt.Fprintf(w, "not written  %dx %s\n", refused[k], k)
	}
	compared, _ := t.sum(func(o outcome) map[string]int { return o.Compared })
	equal, _ := t.sum(func(o outcome) map[string]int { return o.Equal })
	fmt.Fprintf(w, "%-34s %9s %9s %9s %9s\n", "reader", "compared", "equal", "listed", "unlisted")
	for _, k := range sortedKeys(compared) {
		fmt.Fprintf(w, "%-34s %9d %9d %9d %9d\n", k, compared[k], equal[k], compared[k]-equal[k]-unlisted[k], unlisted[k])
	}
	known, first := t.sum(func(o outcome) map[string]int { return o.Known })
	for _, k := range sortedKeys(known) {
		fmt.Fprintf(w, "known fault  %-36s %5d, first at seed %d\n", k, known[k], first[k])
	}
	for _, f := range faults {
		if known[f.ID] == 0 && compared[f.Reader] > 0 {
			fmt.Fprintf(w, "not met      %s\n", f.ID)
		}
	}
	fmt.Fprintf(w, "differences  %d\n", t.differences())
	fmt.Fprintf(w, "seconds      %.1f\n", d.Seconds())
}
