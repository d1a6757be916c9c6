//go:build integration

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/exit"
	"github.com/lakescan/lakescan/internal/rig"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/source"
	"github.com/lakescan/lakescan/toxiproxy"
)

// faultCase is a row of the fault table.
type faultCase struct {
	fault  string
	want   []error                             // any of these; none = right rows
	breaks func(tr *trial, depth source.Depth) // makes the fault; nil = none
	limit  time.Duration                       // longer is a hang; 0 = 30 s
	only   *source.Depth                       // one depth only; nil = off and auto
	slow   bool                                // waits for limits of tens of seconds: not in -short, and beside others
	alone  bool                                // though it is slow: it kills what the others need
}

func downstream(kind string, attributes map[string]any) toxiproxy.Toxic {
	return toxiproxy.Toxic{Name: kind, Type: kind, Stream: "downstream", Toxicity: 1, Attributes: attributes}
}

var auto = source.Auto

// file7 is the file that faults of one file hit; #2 is its first request after the footer.
const file7 = "GET *f07.parquet "

func faultCases() []faultCase {
	return []faultCase{
		{fault: "none"},
		{fault: "connection reset (RST) in mid-body, once a file", breaks: rules("GET *.parquet #2 -> reset 20000")},
		{fault: "connection reset in mid-body, every third request", breaks: rules("GET *.parquet 33% -> reset 30000")},
		{fault: "connection reset in mid-body, always, one file", want: []error{object.ErrUnavailable}, breaks: rules(file7 + "#2+ -> reset 1000")},
		{fault: "body truncated (FIN) in mid-body, once a file", breaks: rules("GET *.parquet #2 -> cut 20000")},
		{fault: "toxiproxy limit_data: every connection ends after 600 kB", breaks: func(tr *trial, _ source.Depth) {
			tr.toxic(downstream("limit_data", map[string]any{"bytes": 600_000}))
		}},
		{fault: "toxiproxy reset_peer in the middle, for 300 ms", breaks: func(tr *trial, _ source.Depth) {
			name := tr.toxic(downstream("latency", map[string]any{"latency": 20}))
			tr.inMiddle(func() {
				x := downstream("reset_peer", map[string]any{"timeout": 0})
				tr.must(tr.rig.Toxi.Add(tr.t.Context(), name, x))
				time.Sleep(300 * time.Millisecond)
				tr.must(tr.rig.Toxi.Remove(tr.t.Context(), name, x.Name))
			})
		}},
		{fault: "toxiproxy slicer: answers in pieces of 1 kB", breaks: func(tr *trial, _ source.Depth) {
			tr.toxic(downstream("slicer", map[string]any{"average_size": 1000, "size_variation": 500, "delay": 10}))
		}},
		{fault: "toxiproxy down for 1 s in the middle", breaks: func(tr *trial, _ source.Depth) {
			name := tr.toxic(downstream("latency", map[string]any{"latency": 20}))
			tr.inMiddle(func() {
				tr.must(tr.rig.Toxi.SetEnabled(tr.t.Context(), name, false))
				time.Sleep(time.Second)
				tr.must(tr.rig.Toxi.SetEnabled(tr.t.Context(), name, true))
			})
		}},
		{fault: "stall in mid-body, one file", breaks: rules(file7 + "#2 -> stall 5000"), limit: time.Minute, slow: true},
		{fault: "no headers, one file", breaks: rules(file7 + "#2 -> hang"), limit: time.Minute, slow: true},
		{fault: "stall in mid-body, always, --retries 1", want: []error{object.ErrUnavailable}, limit: 2 * time.Minute, slow: true, breaks: func(tr *trial, _ source.Depth) {
			tr.config.Retries = 1
			tr.rules(file7 + "#2+ -> stall 5000")
		}},
		{fault: "toxiproxy timeout 0 (black hole) in the middle, for 3 s", limit: time.Minute, slow: true, breaks: func(tr *trial, _ source.Depth) {
			name := tr.toxic(downstream("latency", map[string]any{"latency": 20}))
			tr.inMiddle(func() {
				x := downstream("timeout", map[string]any{"timeout": 0})
				tr.must(tr.rig.Toxi.Add(tr.t.Context(), name, x))
				time.Sleep(3 * time.Second)
				tr.must(tr.rig.Toxi.Remove(tr.t.Context(), name, x.Name))
			})
		}},
		{fault: "503 SlowDown, Retry-After 60, one request in ten", breaks: rules("GET *.parquet 10% -> status 503 retry-after=60"), limit: 90 * time.Second, slow: true},
		{fault: "503 SlowDown, Retry-After 60, on all, for ever", want: []error{object.ErrUnavailable}, breaks: rules("GET *.parquet -> status 503 retry-after=60"), limit: 90 * time.Second, slow: true},
		{fault: "503 from a proxy (no S3 error), on all, for ever", want: []error{object.ErrUnavailable}, breaks: rules("GET *.parquet -> status 503 code=ServiceUnavailable")},
		{fault: "200 that ignores the range, one file", want: []error{object.ErrCorrupt}, breaks: rules(file7 + "-> ignore-range")},
		{fault: "object swapped after the footer, same size", want: []error{object.ErrChanged}, breaks: swapped(0)},
		{fault: "object swapped after the footer, shorter", want: []error{object.ErrChanged}, breaks: swapped(-100_000)},
		{fault: "object swapped after the footer, longer", want: []error{object.ErrChanged}, breaks: swapped(100_000)},
		{fault: "object deleted after the footer", want: []error{object.ErrNotFound}, breaks: func(tr *trial, _ source.Depth) {
			tr.config.HedgeAfter = -1
			r := tr.rules(file7 + "#2 -> call gone")
			r.On("gone", func(*http.Request) { tr.must(tr.remove(7)) })
			tr.defers(func() { tr.mend(tr.t, 7) })
		}},
		{fault: "object gone before the scan", want: []error{object.ErrNotFound}, breaks: func(tr *trial, _ source.Depth) {
			tr.must(tr.remove(7))
			tr.defers(func() { tr.mend(tr.t, 7) })
		}},
		{fault: "data file cut short in the bucket", want: []error{parquet.ErrCorrupt}, breaks: func(tr *trial, _ source.Depth) {
			tr.must(tr.replace(7, tr.files[7].data[:len(tr.files[7].data)/2]))
			tr.defers(func() { tr.mend(tr.t, 7) })
		}},
		{fault: "session keys expire in the middle, new ones to be had", breaks: expiring(true)},
		{fault: "session keys expire in the middle, no new ones", want: []error{object.ErrDenied}, breaks: expiring(false)},
		{fault: "the client's clock is 20 minutes late", want: []error{object.ErrDenied}, breaks: lateClock},
		{fault: "MinIO killed (kill -9) in the middle and restarted", limit: time.Minute, breaks: func(tr *trial, _ source.Depth) {
			tr.inMiddle(func() {
				tr.rig.MinIO.Kill()
				tr.must(tr.rig.RestartMinIO(context.Background()))
			})
		}},
		{fault: "MinIO killed (kill -9) in the middle, for ever", want: []error{object.ErrUnavailable}, limit: time.Minute, slow: true, alone: true, breaks: func(tr *trial, _ source.Depth) {
			tr.inMiddle(tr.rig.MinIO.Kill)
			tr.defers(func() { tr.must(tr.rig.RestartMinIO(context.Background())) })
		}},
		{fault: "catalog killed (kill -9) while the plan is read", breaks: func(tr *trial, _ source.Depth) {
			r := tr.rules("GET *.avro -> call kill x1")
			r.On("kill", func(*http.Request) { tr.rig.Catalog.Kill() })
			tr.defers(func() { tr.must(tr.rig.RestartCatalog(context.Background())) })
		}},
		{fault: "catalog dead before the scan", want: []error{meta.ErrUnavailable}, only: &auto, breaks: func(tr *trial, _ source.Depth) {
			tr.rig.Catalog.Kill()
			tr.defers(func() { tr.must(tr.rig.RestartCatalog(context.Background())) })
		}},
	}
}

// rules is a fault that the text says in full.
func rules(text string) func(*trial, source.Depth) {
	return func(tr *trial, _ source.Depth) { tr.rules(text) }
}

func swapped(by int) func(*trial, source.Depth) {
	return func(tr *trial, _ source.Depth) {
		own := tr.files[7].data
		other := bytes.Clone(own)
		for i := 200; i < 20_000; i += 8 { // in the first column's values: rows that are wrong, and could not be told to be
			other[i] ^= 1
		}
		switch {
		case by < 0:
			other = other[-by:]
		case by > 0:
			other = append(make([]byte, by), other...)
		}
		tr.config.HedgeAfter = -1 // a copy of the footer's request would be the second one, and its old answer as good as the new one
		r := tr.rules(file7 + "#2 -> call swap")
		r.On("swap", func(*http.Request) { tr.must(tr.replace(7, other)) })
		tr.defers(func() { tr.mend(tr.t, 7) })
	}
}

func (tr *trial) must(err error) {
	if err != nil {
		tr.t.Error(err)
	}
}

// TestFaultTable scans a table on real servers while something breaks: the right rows in their order, or a typed error; never a hang, and
// nothing left behind. With LAKESCAN_FAULTS_OUT the table is written there as Markdown (make faults).
func TestFaultTable(t *testing.T) {
	r := rig.Get(t)
	if r.MinIO == nil || r.Catalog == nil {
		t.Fatal("servers are killed here, and these are not the rig's: unset LAKESCAN_TEST_S3 and LAKESCAN_TEST_REST")
	}
	l := getLab(t)
	var table faultTable
	for _, c := range faultCases() {
		if c.slow && (!c.alone || testing.Short()) {
			continue
		}
		for _, depth := range c.depths() {
			t.Run(c.fault+"/depth "+depth.String(), func(t *testing.T) { table.add(c, depth, c.try(t, l, depth, true)) })
		}
	}
	if !testing.Short() {
		t.Run("slow", func(t *testing.T) { // these wait for limits, side by side
			for _, c := range faultCases() {
				for _, depth := range c.depths() {
					if c.slow && !c.alone {
						t.Run(c.fault+"/depth "+depth.String(), func(t *testing.T) { t.Parallel(); table.add(c, depth, c.try(t, l, depth, false)) })
					}
				}
			}
		})
	}
	t.Run("full disk", func(t *testing.T) { table.fullDisk(t, l) })
	table.write(t)
}

func (c faultCase) depths() []source.Depth {
	if c.only != nil {
		return []source.Depth{*c.only}
	}
	return []source.Depth{source.Off, source.Auto}
}

// try runs one case and judges it. alone = nobody else runs, so goroutines can be counted.
func (c faultCase) try(t *testing.T, l *lab, depth source.Depth, alone bool) report {
	before := goleak.IgnoreCurrent()
	tr := &trial{lab: l, t: t, s3: l.rig.S3, rest: l.rig.REST}
	if c.breaks != nil {
		c.breaks(tr, depth)
	}
	limit := c.limit
	if limit == 0 {
		limit = 30 * time.Second
	}
	rep := tr.run(depth, limit)
	for i := len(tr.cleanup) - 1; i >= 0; i-- {
		tr.cleanup[i]()
	}
	if alone {
		http.DefaultClient.CloseIdleConnections() // of the rig's own requests
		if err := goleak.Find(before, goleak.IgnoreAnyFunction("github.com/lakescan/lakescan/internal/rig.(*Process).Start.func1")); err != nil {
			rep.leftOut = append(rep.leftOut, err.Error())
		}
	}
	if len(rep.leftOut) > 0 {
		t.Errorf("left behind: %s", strings.Join(rep.leftOut, ", "))
	}
	if !c.accepts(rep.err) {
		t.Errorf("outcome %v, want %v", rep.err, c.want)
	}
	var file *source.FileError
	if errors.Is(rep.err, object.ErrChanged) && (!errors.As(rep.err, &file) || file.Ordinal != 7) {
		t.Errorf("%v does not name the file", rep.err)
	}
	return rep
}

func (c faultCase) accepts(err error) bool {
	if err == nil {
		return len(c.want) == 0
	}
	for _, w := range c.want {
		if errors.Is(err, w) {
			return true
		}
	}
	return false
}

// faultTable collects rows.
type faultTable struct {
	mu   sync.Mutex
	rows map[string]string
	sum  []string
}

func (f *faultTable) add(c faultCase, depth source.Depth, r report) {
	outcome := "all rows, in order"
	if r.err != nil {
		outcome = fmt.Sprintf("%s after %d rows", class(r.err), r.rows)
	}
	var requests int64
	for _, n := range r.stats.Requests {
		requests += n
	}
	if len(r.leftOut) > 0 {
		outcome += "; LEFT BEHIND " + strings.Join(r.leftOut, ", ")
	}
	f.line(c.fault+depth.String(), fmt.Sprintf("| %s | %s | %s | %.2f s | %d | %d | %d |", c.fault, depth, outcome, r.wall.Seconds(), requests, r.stats.Retries, r.stats.Resumes))
}

func (f *faultTable) line(key, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows == nil {
		f.rows = map[string]string{}
	}
	f.rows[key] = text
}

// class is the error's sentinel, and the code the command line would exit with.
func class(err error) string {
	name := "UNTYPED " + err.Error()
	for n, e := range map[string]error{
		"object.ErrUnavailable": object.ErrUnavailable, "object.ErrChanged": object.ErrChanged, "object.ErrNotFound": object.ErrNotFound, "object.ErrDenied": object.ErrDenied,
		"object.ErrCorrupt": object.ErrCorrupt, "parquet.ErrCorrupt": parquet.ErrCorrupt, "meta.ErrUnavailable": meta.ErrUnavailable,
	} {
		if errors.Is(err, e) {
			name = n
		}
	}
	return fmt.Sprintf("`%s` (exit %d)", name, exit.Of(err))
}

// write prints the table in the order of the cases.
func (f *faultTable) write(t *testing.T) {
	out := os.Getenv("LAKESCAN_FAULTS_OUT")
	if out == "" {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d files, %d rows, 2 of 3 columns; MinIO, Iceberg's Java REST catalog and toxiproxy as processes on this machine. Times are those of the scan, from `Open` to its end.\n\n", labFiles, labFiles*labRows)
	b.WriteString("| fault | depth | outcome | time | requests | retries | resumed |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range faultCases() {
		for _, d := range c.depths() {
			if line, ok := f.rows[c.fault+d.String()]; ok {
				b.WriteString(line + "\n")
			}
		}
	}
	for _, line := range f.sum {
		b.WriteString(line + "\n")
	}
	if err := os.WriteFile(out, []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
}
