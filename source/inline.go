package source

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
)

// inline is a scan at depth 0: a plain loop on the consumer's goroutine.
type inline struct {
	cfg     Config
	format  format
	tasks   iter.Seq2[Task, error]
	ctx     context.Context
	cancel  context.CancelCauseFunc
	reads   reads
	decoded *memory.Elastic
	stats   *counters
	opened  time.Time
	left    int64 // rows still wanted, -1 = all
	files   int64
	lent    bool // the consumer's code runs

	pull func() (Batch, error, bool)
	stop func()
}

func newInline(ctx context.Context, tasks iter.Seq2[Task, error], cfg Config, f format) *inline {
	n := &inline{cfg: cfg, format: f, tasks: tasks, stats: &counters{}, opened: time.Now(), left: -1}
	if cfg.Limit > 0 {
		n.left = cfg.Limit
	}
	n.ctx, n.cancel = context.WithCancelCause(ctx)
	n.decoded = cfg.Budget.Elastic(memory.Decoded, 0).Named("scan at depth 0")
	if f == nil {
		n.format = newParquetFormat(n.ctx, cfg, n.stats, n.decoded)
	}
	n.reads = reads{store: cfg.Store, stats: n.stats, account: cfg.Budget.Elastic(memory.Prefetch, 0).Named("scan at depth 0")}
	return n
}

// all is Reader.All.
func (n *inline) all(yield func(Batch, error) bool) {
	err := n.run(func(b Batch) bool { return lend(b, yield) })
	if err != nil {
		yield(Batch{}, err)
	}
}

var errStop = errors.New("source: consumer stopped")

// run hands every batch to yield, which owns it. A panic of the task iterator becomes an error, one of the consumer goes on.
func (n *inline) run(yield func(Batch) bool) (err error) {
	defer func() {
		if !n.lent {
			guardHere(&err, recover())
		}
	}()
	index := 0
	for t, err := range n.tasks {
		if err != nil {
			return err
		}
		if n.left == 0 {
			return nil
		}
		f := newFile(&t, index, &n.reads)
		index++
		switch err := n.read(f, func(b Batch) error { return n.deliver(b, yield) }); {
		case errors.Is(err, errStop):
			return nil
		case err != nil:
			err = f.fail(err)
			n.event("error", f, Event{Err: err})
			return err
		}
		n.files++
		n.event("deliver", f, Event{})
		if n.left == 0 {
			return nil
		}
	}
	return nil
}

// read hands every batch of a file to out, which owns it; an error of out ends it.
func (n *inline) read(f *file, out func(Batch) error) error {
	n.event("claim", f, Event{})
	if f.task.knownEmpty() {
		n.stats.filesEmpty.Add(1)
		n.event("empty", f, Event{})
		return nil
	}
	c, err := n.format.open(n.ctx, f)
	if err != nil {
		return err
	}
	defer c.close()
	n.event("open", f, Event{Depth: f.rounds, Duration: f.took})
	if c.waves() == 0 {
		n.event("empty", f, Event{})
	}
	for i := 0; i < c.waves(); i++ {
		wv, err := c.wave(i)
		if err != nil {
			return err
		}
		n.stats.waves.Add(1)
		if err := n.wave(f, wv, out); err != nil {
			return err
		}
	}
	return nil
}

// wave reads the spans of a wave, then decodes its units in order.
func (n *inline) wave(f *file, wv wave, out func(Batch) error) error {
	if wv.stream != nil {
		return n.streamed(f, wv, out)
	}
	ps := &pieces{account: n.reads.account}
	ps.users.Store(1)
	for _, p := range wv.held {
		p.refs.Add(1)
	}
	if len(wv.held) > 0 {
		n.stats.reused.Add(int64(len(wv.units)))
	}
	mine := wv.held
	defer func() {
		for _, p := range mine {
			p.drop()
		}
		ps.leave()
	}()
	before := n.stats.fetchNanos.Load()
	got, err := n.fetch(f, wv.spans)
	if err == nil {
		n.event("wave", f, Event{Bytes: total(wv.spans), Duration: time.Duration(n.stats.fetchNanos.Load() - before)})
	}
	mine = append(mine[:len(mine):len(mine)], got...)
	if err != nil {
		closeUnits(wv.units)
		return err
	}
	ps = ps.with(mine)
	for i, u := range wv.units {
		if err := n.unit(f, u, ps, out); err != nil {
			closeUnits(wv.units[i+1:])
			return err
		}
	}
	return nil
}

// streamed reads the next window of a stream and decodes the units that it completes.
func (n *inline) streamed(f *file, wv wave, out func(Batch) error) error {
	before := n.stats.fetchNanos.Load()
	got, err := n.fetch(f, wv.spans)
	wv.stream.own(wv, got)
	for _, p := range got {
		p.drop() // the stream's now
	}
	if err != nil {
		return err
	}
	n.event("wave", f, Event{Bytes: total(wv.spans), Duration: time.Duration(n.stats.fetchNanos.Load() - before)})
	units, err := wv.stream.land()
	for _, u := range units {
		ps := u.pieces(n.reads.account)
		if err == nil {
			err = n.unit(f, u.unit, ps, out)
		} else {
			u.unit.close()
		}
		for _, p := range u.held {
			p.drop()
		}
		ps.leave()
	}
	return err
}

// event tells the hook of a step with a file, at once.
func (n *inline) event(name string, f *file, e Event) {
	if n.cfg.OnEvent != nil {
		e.Name, e.At, e.Ordinal, e.Location = name, time.Since(n.opened), f.task.Ordinal, f.task.File.Location.Recorded
		n.cfg.OnEvent(e)
	}
}

func total(spans []object.Range) (n int64) {
	for _, r := range spans {
		n += r.Len
	}
	return n
}

func closeUnits(us []unit) {
	for _, u := range us {
		u.close()
	}
}

// fetch reads spans one after another; what it got before an error is returned too.
func (n *inline) fetch(f *file, spans []object.Range) (got []*piece, err error) {
	for _, r := range spans {
		p := &piece{span: r, read: n.reads.start(n.ctx, f.request(1, 0, r))}
		a, err := p.read.wait(n.ctx)
		if err != nil {
			return got, err
		}
		n.stats.fetchNanos.Add(int64(a.took))
		f.pin(a.info)
		p.here = true
		p.refs.Store(1)
		got = append(got, p)
	}
	return got, nil
}

func (n *inline) unit(f *file, u unit, ps *pieces, out func(Batch) error) error {
	batches, err := n.decode(f, u, ps)
	u.close()
	if err != nil {
		return err
	}
	for i, b := range batches {
		if err := out(b); err != nil {
			for _, rest := range batches[i+1:] {
				rest.Record.Release()
			}
			return err
		}
	}
	return nil
}

func (n *inline) decode(f *file, u unit, ps *pieces) (batches []Batch, err error) {
	defer guard(&err)
	start := time.Now()
	defer func() { n.stats.decodeNanos.Add(int64(time.Since(start))); n.stats.units.Add(1) }()
	if first := u.columns(0); len(first) > 0 {
		for _, c := range first {
			if err := u.decode(n.ctx, c, ps); err != nil {
				return nil, err
			}
		}
		more, err := u.narrow(n.ctx)
		if err != nil {
			return nil, err
		}
		if len(more) > 0 {
			late, err := n.fetch(f, more)
			ps = ps.with(late)
			defer func() {
				for _, p := range late {
					p.drop()
				}
				ps.leave()
			}()
			if err != nil {
				return nil, err
			}
		}
	}
	for _, c := range u.columns(1) {
		if err := u.decode(n.ctx, c, ps); err != nil {
			return nil, err
		}
	}
	return u.finish(n.ctx)
}

func (n *inline) deliver(b Batch, yield func(Batch) bool) error {
	if n.left >= 0 {
		if b.Record.NumRows() >= n.left {
			b = b.head(n.left)
		}
		n.left -= b.Record.NumRows()
	}
	n.stats.rows.Add(b.Record.NumRows())
	n.stats.batches.Add(1)
	n.lent = true
	more := yield(b)
	n.lent = false
	if !more || n.left == 0 {
		return errStop
	}
	return nil
}

// next is Reader.Next: the loop in a coroutine.
func (n *inline) next(ctx context.Context) (Batch, error) {
	if err := ctx.Err(); err != nil {
		return Batch{}, err
	}
	if n.pull == nil {
		n.pull, n.stop = iter.Pull2(func(yield func(Batch, error) bool) {
			if err := n.run(func(b Batch) bool { return yield(b, nil) }); err != nil {
				yield(Batch{}, err)
			}
		})
	}
	// The call's own context reaches the reads for as long as the call lasts.
	done := context.AfterFunc(ctx, func() { n.cancel(context.Cause(ctx)) })
	defer done()
	b, err, ok := n.pull()
	if !ok {
		return Batch{}, io.EOF
	}
	return b, err
}

func (n *inline) close() {
	n.cancel(ErrClosed)
	if n.stop != nil {
		n.stop()
	}
	n.format.close()
	n.reads.account.Close()
	n.decoded.Close()
	if n.cfg.Lane != nil {
		n.cfg.Lane.Close()
	}
}

func (n *inline) snapshot() Stats {
	var s Stats
	n.stats.fill(&s)
	s.Files = n.files
	s.Wall = time.Since(n.opened)
	return s
}
