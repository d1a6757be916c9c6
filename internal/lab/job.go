package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/internal/usage"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

// Job is one run of a cell against a store. It goes to a process of its own as JSON, on its standard input; keys come with the environment
// (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), none = unsigned requests.
type Job struct {
	Cell     Cell   `json:"cell"`
	Endpoint string `json:"endpoint"` // of the store, behind the link
	Catalog  string `json:"catalog,omitempty"`
	Region   string `json:"region,omitempty"`
	Target   string `json:"target"` // table name or location of metadata
	Beside   string `json:"beside"` // what a neighbour scans
	Within   string `json:"within"` // prefix of the target's data files, to tell its events from a neighbour's; "" = cannot be told
	Rows     int64  `json:"rows"`   // that must come; -1 = not known
	Check    int64  `json:"check"`
}

// ErrWrongRows is a run whose rows are not those that were written.
var ErrWrongRows = errors.New("lab: wrong rows")

// Do runs a job in this process. The figures are those of the process, so nothing else may run in it.
func Do(ctx context.Context, j Job, env []string) (*Sample, error) {
	if j.Cell.Depth == Bare {
		return doBare(ctx, j, env)
	}
	line := &timeline{}
	var on atomic.Bool
	c, err := j.open(ctx, env, func(e source.Event) {
		if on.Load() && strings.HasPrefix(e.Location, j.Within) {
			line.add(e)
		}
	})
	if err != nil {
		return nil, err
	}
	s := &Sample{Cell: j.Cell, Began: time.Now().UTC().Format(time.RFC3339), Workers: runtime.GOMAXPROCS(0), Slots: c.Pool().Slots()}
	err = measure(ctx, c, j, s, line, &on)
	if cerr := c.Close(); err == nil {
		err = cerr
	}
	if err == nil && j.Rows >= 0 && (s.Rows != j.Rows || s.Check != j.Check) {
		err = fmt.Errorf("%w: %d rows with sum %d, want %d with %d", ErrWrongRows, s.Rows, s.Check, j.Rows, j.Check)
	}
	return s, err
}

// open makes the client of a job.
func (j Job) open(ctx context.Context, env []string, hook func(source.Event)) (*lakescan.Client, error) {
	depth, err := source.ParseDepth(j.Cell.Depth)
	if err != nil {
		return nil, err
	}
	cfg := lakescan.Config{Depth: depth, Memory: int64(j.Cell.MemoryMiB) << 20, OnEvent: hook}
	cfg.S3.Access = object.Access{Endpoint: j.Endpoint, Region: cmp.Or(j.Region, "us-east-1"), PathStyle: true}
	keys := object.Access{KeyID: lookup(env, "AWS_ACCESS_KEY_ID"), Secret: lookup(env, "AWS_SECRET_ACCESS_KEY"), Token: lookup(env, "AWS_SESSION_TOKEN")}
	if keys.KeyID == "" {
		keys.Anonymous = true
	}
	cfg.S3.Fallback = object.Static(keys)
	cfg.Catalog = iceberg.CatalogConfig{URI: j.Catalog, OwnS3Keys: keys.KeyID != ""}
	return lakescan.Open(ctx, cfg)
}

// measure runs the scan, with a warm cache or a neighbour if the cell says so.
func measure(ctx context.Context, c *lakescan.Client, j Job, s *Sample, line *timeline, on *atomic.Bool) (err error) {
	if j.Cell.Cache == "hot" {
		if err := (&consumer{}).scan(ctx, c, j, nil); err != nil {
			return err
		}
	}
	if j.Cell.Neighbour != "none" {
		n, err := startNeighbour(ctx, c, j)
		if err != nil {
			return err
		}
		defer func() {
			nerr := n.stop()
			s.NeighbourRows, s.NeighbourScans = n.rows.Load(), n.scans.Load()
			err = errors.Join(err, nerr)
		}()
	}
	s.BaseRSS = usage.PeakRSS()
	before, cpu := c.Requests(), usage.CPU()
	line.began = time.Now()
	on.Store(j.Within != "" || j.Cell.Neighbour == "none")
	k := &consumer{began: line.began, line: line}
	err = k.scan(ctx, c, j, s)
	on.Store(false)
	s.CPU = millis(usage.CPU() - cpu)
	s.RSS = usage.PeakRSS()
	s.Rows, s.Check, s.FirstRow, s.Budget = k.rows.Load(), k.sum.Load(), float64(k.first.Load())/1000, k.peak.Load()
	s.traffic(before, c.Requests())
	line.finish(s)
	return err
}

// traffic is what was sent between two looks at a client.
func (s *Sample) traffic(before, after object.Stats) {
	s.Requests = map[string]int64{}
	for kind, n := range after.Requests {
		if d := n - before.Requests[kind]; d > 0 {
			s.Requests[kind.String()] = d
		}
	}
	s.Bytes, s.Conns = after.BytesRead-before.BytesRead, after.ConnsCreated-before.ConnsCreated
	s.Retries, s.Hedges = after.Retries-before.Retries, after.Hedges-before.Hedges
}

// consumer drains a scan: it counts rows, sums the first column of 64-bit integers, and nothing else.
type consumer struct {
	began                  time.Time
	line                   *timeline
	client                 *lakescan.Client
	rows, sum, first, peak atomic.Int64
}

// scan reads all rows; with s it also takes the scan's figures.
func (k *consumer) scan(ctx context.Context, c *lakescan.Client, j Job, s *Sample) error {
	k.client = c
	r, err := c.Scan(ctx, j.Target, j.options()...)
	if err != nil {
		return err
	}
	defer r.Close()
	if j.Cell.Streams > 1 {
		err = source.Feed(ctx, r, k)
	} else {
		for b, e := range r.All() {
			if err = e; err != nil {
				break
			}
			k.take(b)
		}
	}
	if s != nil {
		s.Wall = millis(time.Since(k.began))
		s.fill(r.Stats())
	}
	return err
}

func (j Job) options() []lakescan.ScanOption {
	opts := []lakescan.ScanOption{lakescan.Streams(j.Cell.Streams)}
	if j.Cell.Columns != "all" {
		opts = append(opts, lakescan.Columns(strings.Split(j.Cell.Columns, "+")...))
	}
	if j.Cell.Order == "arrival" {
		opts = append(opts, lakescan.OrderBy(source.ArrivalOrder))
	}
	return opts
}

func (s *Sample) fill(st source.Stats) {
	s.FileCount, s.FileReads, s.FileBytes = st.Files, st.Requests, st.Bytes
	s.HeadWaits, s.FetchWait, s.DecodeWait = st.HeadWaits, millis(st.FetchWait), millis(st.DecodeWait)
	s.DecodeTime, s.ConsumerTime = millis(st.DecodeTime), millis(st.ConsumerTime)
	s.SlotWait, s.BudgetWait, s.LimitWait = millis(st.SlotWait), millis(st.BudgetWait), millis(st.LimitWait)
	s.Throttled, s.InFlight, s.FetchedPeak, s.DecodedPeak = st.Throttled, st.InFlightPeak, st.FetchedPeak, st.DecodedPeak
	s.DepthMax, s.Eta, s.LimitedBy = st.DepthMax, st.Eta(), st.LimitedBy
	for _, d := range st.DepthLog {
		s.Depths = append(s.Depths, DepthAt{At: millis(d.At), Depth: d.Depth, Reason: d.Reason})
	}
}

func (k *consumer) take(b source.Batch) {
	if k.line != nil {
		k.first.CompareAndSwap(0, time.Since(k.began).Microseconds())
		k.line.batch(b.Origin.Ordinal)
		for n := k.client.Budget().Stats().Total; ; {
			was := k.peak.Load()
			if n <= was || k.peak.CompareAndSwap(was, n) {
				break
			}
		}
	}
	k.rows.Add(b.Record.NumRows())
	k.sum.Add(sumFirst(b.Record))
}

// sumFirst adds up the first column of 64-bit integers.
func sumFirst(rec arrow.RecordBatch) (sum int64) {
	for _, c := range rec.Columns() {
		a, ok := c.(*array.Int64)
		if !ok {
			continue
		}
		for i, v := range a.Int64Values() {
			if a.IsValid(i) {
				sum += v
			}
		}
		break
	}
	return sum
}

// A consumer is a source.Sink of as many parts as there are streams.
func (k *consumer) Part(int) (source.Part, error) { return part{k}, nil }
func (k *consumer) Finish(context.Context) error  { return nil }
func (k *consumer) Abort()                        {}

type part struct{ k *consumer }

func (p part) Write(_ context.Context, b source.Batch) error { p.k.take(b); return nil }
func (p part) Wake() <-chan struct{}                         { return nil }
func (p part) Relieve(context.Context) error                 { return nil }
func (p part) Close(context.Context) error                   { return nil }

// neighbour scans the same table again and again at its own depth, on the same client, so that both share the pool and the budget.
type neighbour struct {
	cancel      context.CancelFunc
	done        chan error
	rows, scans atomic.Int64
}

// startNeighbour returns once the neighbour's first batch is there, so that its look-ahead is in full flight.
func startNeighbour(ctx context.Context, c *lakescan.Client, j Job) (*neighbour, error) {
	depth, err := source.ParseDepth(j.Cell.Neighbour)
	if err != nil {
		return nil, err
	}
	n := &neighbour{done: make(chan error, 1)}
	ctx, n.cancel = context.WithCancel(ctx)
	first := make(chan struct{})
	go func() { n.done <- n.loop(ctx, c, j, depth, first) }()
	select {
	case <-first:
		return n, nil
	case err := <-n.done:
		n.cancel()
		return nil, fmt.Errorf("neighbour: %w", err)
	}
}

func (n *neighbour) loop(ctx context.Context, c *lakescan.Client, j Job, depth source.Depth, first chan struct{}) error {
	opts := append(j.options(), lakescan.MaxFilesToPrefetch(depth), lakescan.Streams(1))
	told := false
	for ctx.Err() == nil {
		r, err := c.Scan(ctx, j.Beside, opts...)
		if err != nil {
			return ended(ctx, err)
		}
		for b, err := range r.All() {
			if err != nil {
				_ = r.Close()
				return ended(ctx, err)
			}
			if n.rows.Add(b.Record.NumRows()); !told {
				told = true
				close(first)
			}
		}
		_ = r.Close()
		n.scans.Add(1)
	}
	return nil
}

// ended is nil for the echo of a cancel.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (n *neighbour) stop() error {
	n.cancel()
	return <-n.done
}

func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
