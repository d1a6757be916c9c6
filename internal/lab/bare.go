package lab

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/internal/usage"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

// doBare scans once, to learn how many requests of how many bytes a file takes, then sends as many of that size through a client of its own:
// planning first, then all files at once, within the slots of a scan. Rows are those of the first scan.
func doBare(ctx context.Context, j Job, env []string) (*Sample, error) {
	scan := j
	scan.Cell.Depth = "auto"
	learnt, err := Do(ctx, scan, env)
	if err != nil {
		return nil, err
	}
	c, err := scan.open(ctx, env, nil)
	if err != nil {
		return nil, err
	}
	s := &Sample{Cell: j.Cell, Rows: learnt.Rows, Check: learnt.Check, Rounds: learnt.Rounds, FileCount: learnt.FileCount, Workers: runtime.GOMAXPROCS(0), Slots: c.Pool().Slots()}
	s.BaseRSS = usage.PeakRSS()
	cpu, began := usage.CPU(), time.Now()
	s.Began = began.UTC().Format(time.RFC3339)
	err = s.fetchAll(ctx, c, j, learnt, began)
	s.Wall, s.CPU, s.RSS = millis(time.Since(began)), millis(usage.CPU()-cpu), usage.PeakRSS()
	s.FirstRow = s.Wall
	s.traffic(object.Stats{}, c.Requests())
	if cerr := c.Close(); err == nil {
		err = cerr
	}
	return s, err
}

func (s *Sample) fetchAll(ctx context.Context, c *lakescan.Client, j Job, learnt *Sample, began time.Time) error {
	table, err := c.Table(ctx, j.Target)
	if err != nil {
		return err
	}
	p, err := table.Plan(ctx, iceberg.ScanSpec{})
	if err != nil {
		return err
	}
	var files []object.Info
	for t, err := range p.Tasks(ctx) {
		if err != nil {
			return err
		}
		files = append(files, t.File)
	}
	s.Plan = millis(time.Since(began))
	n := max(learnt.FileCount, 1)
	b := &bare{store: table.Store(), slots: make(chan struct{}, s.Slots), requests: max(int((learnt.FileReads+n/2)/n), 1), bytes: learnt.FileBytes / n}
	errs := make([]error, len(files))
	var wg sync.WaitGroup
	for i, f := range files {
		wg.Go(func() { errs[i] = b.file(ctx, f) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	s.FileReads, s.FileBytes = int64(b.requests)*int64(len(files)), b.bytes*int64(len(files))
	return nil
}

// bare fetches files as a scan would, and throws the bytes away.
type bare struct {
	store    object.Store
	slots    chan struct{}
	requests int   // of a file
	bytes    int64 // of a file
}

// bareTail is the first read of a file that is not read whole, in bytes.
const bareTail = 64 << 10

// file reads the end, then the rest of the bytes in ranges of one size, side by side.
func (b *bare) file(ctx context.Context, f object.Info) error {
	if b.requests == 1 {
		return b.read(ctx, f, object.Range{Off: 0, Len: f.Size})
	}
	tail := min(bareTail, f.Size, b.bytes)
	if err := b.read(ctx, f, object.Range{Off: f.Size - tail, Len: tail}); err != nil {
		return err
	}
	parts := int64(b.requests - 1)
	each, apart := (b.bytes-tail)/parts, (f.Size-tail)/parts
	errs := make([]error, parts)
	var wg sync.WaitGroup
	for i := range parts {
		if n := min(each, apart); n > 0 {
			wg.Go(func() { errs[i] = b.read(ctx, f, object.Range{Off: i * apart, Len: n}) })
		}
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bare) read(ctx context.Context, f object.Info, r object.Range) error {
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	_, _, err := b.store.Read(ctx, f.Location, r, make([]byte, r.Len), object.ReadOptions{Size: f.Size})
	return err
}

var _ source.Sink = (*consumer)(nil)
