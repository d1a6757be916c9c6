//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"slices"
)

// DuckDB asks for a scan when the pipeline that reads it begins, and a join's probe side begins when its build side is through: one table
// after another would go through its manifests, footers and first columns, a handful of round trips each. So a statement of several tables
// opens their scans at the start, all at once, and each then waits with what its look-ahead has fetched until DuckDB asks.

// mostAhead scans are opened so, in the order of the text: each holds memory while it waits.
const mostAhead = 16

// openAhead starts to open the scans that the statement is certain to read. One that a LIMIT may make needless is left out.
func (f *function) openAhead(ctx context.Context, refs []*reference) {
	var ahead []*reference
	for _, r := range refs {
		if len(r.once) > 0 && !r.Need.StopsEarly && r.Need.Limit == 0 && r.hasTypes && !slices.ContainsFunc(r.once, r.refuses) {
			ahead = append(ahead, r)
		}
	}
	if len(ahead) < 2 {
		return // DuckDB begins with the only one right away
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.ahead = map[*reference]*scan{}
	for _, r := range ahead[:min(len(ahead), mostAhead)] {
		f.mu.ahead[r] = beginScan(ctx, f, r, r.once)
	}
}

func (r *reference) refuses(c int) bool { return r.refuse(r.columns[c]) != nil }

// takeAhead returns the scan of ref that was opened ahead, nil if there is none. Should DuckDB want other columns than its plan said, that
// one is closed: it costs time, never rows.
func (f *function) takeAhead(ref *reference, columns []int) *scan {
	f.mu.Lock()
	s := f.mu.ahead[ref]
	delete(f.mu.ahead, ref)
	f.mu.Unlock()
	if s == nil || sameColumns(s.columns, columns) {
		return s
	}
	s.close()
	return nil
}

func sameColumns(a, b []int) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}
