package source

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/prefetchpool"
)

// TestI4_MemoryGoesToTheNextFiles: where memory is for two files, they are the next two, whichever goroutine ran first and whichever
// footer came first. A file far ahead would keep its bytes until it is consumed, and all before it would be fetched one by one.
func TestI4_MemoryGoesToTheNextFiles(t *testing.T) {
	t.Parallel()
	whole := fakeFile{rounds: 1, tail: 16 << 20, keeps: true, waves: []int64{0, 0}, rows: 10, columns: 2, plain: 100 << 20, decode: 20 * ms}
	parts := fakeFile{rounds: 1, tail: 64 << 10, waves: []int64{8 << 20, 8 << 20}, rows: 10, columns: 2, plain: 100 << 20, decode: 20 * ms}
	for name, c := range map[string]struct {
		file fakeFile
		late bool // the last footer comes first
	}{
		"files read whole": {whole, false},
		"waves":            {parts, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const files = 8
				var asked []int
				store := &fakeStore{}
				store.read = func(ctx context.Context, loc object.Location, r object.Range) error {
					n, _ := strconv.Atoi(strings.TrimPrefix(loc.Key, "f"))
					d := 50 * ms
					if r.Len >= 1<<20 {
						store.mu.Lock()
						asked = append(asked, n)
						store.mu.Unlock()
					} else if c.late {
						d += time.Duration(files-n) * ms
					}
					return sleep(ctx, d)
				}
				g := newRig(t, 128, 8<<30, slices.Repeat([]fakeFile{c.file}, files), store)
				g.poolOf(prefetchpool.Config{MaxBytes: 36 << 20})
				lane := g.pool.Lane(prefetchpool.LaneConfig{})
				got, err := values(g.open(t.Context(), g.tasks(), Auto, func(cfg *Config) { cfg.Lane = lane }).All())
				if want, _ := g.want(); err != nil || !slices.Equal(got, want) {
					t.Errorf("%d rows, want %d; %v", len(got), len(want), err)
				}
				for i, n := range asked { // two at a time, so two may change places
					if n > slices.Min(asked[i:])+1 {
						t.Errorf("files were asked for in the order %v", asked)
						break
					}
				}
				if n := lane.Stats().OverdraftBytes; n > 0 {
					t.Errorf("%d bytes over the budget", n)
				}
				g.check()
			})
		})
	}
}
