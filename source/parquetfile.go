package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/prune"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/prefetchpool"
	"github.com/lakescan/lakescan/source/resolve"
)

// parquetFormat opens Parquet files for one scan.
type parquetFormat struct {
	cfg     Config
	stats   *counters
	decoded *memory.Elastic
	mem     arrowmem.Allocator // gives zeros
	values  arrowmem.Allocator // gives whatever was there
	rate    func() prefetchpool.Rate
	tails   tails
	late    lateness
	hints   hints
	deletes deleteSets
}

func newParquetFormat(ctx context.Context, cfg Config, stats *counters, decoded *memory.Elastic) *parquetFormat {
	p := &parquetFormat{cfg: cfg, stats: stats, decoded: decoded, mem: memory.NewAllocator(cfg.Allocator, decoded), deletes: newDeleteSets(ctx, cfg, stats)}
	p.values = p.mem
	if recycling, ok := cfg.Allocator.(interface{ Cleared() arrowmem.Allocator }); ok {
		p.mem = memory.NewAllocator(recycling.Cleared(), decoded)
	}
	p.tails.fixed = cfg.FooterTail
	p.rate = func() prefetchpool.Rate { return prefetchpool.Rate{} }
	if cfg.Lane != nil && cfg.Depth != Off {
		p.rate, p.tails.whole = cfg.Lane.Rate, wholeAhead
	}
	return p
}

func (p *parquetFormat) close() { p.deletes.close() }

// A connection whose speed is not known yet is taken for one to S3.
const usualRate = 85e6

// hop is what one more request in line costs, in bytes that could have been fetched meanwhile. That a cache has answered so far does not
// make it cheap.
func (p *parquetFormat) hop() int64 {
	r := p.rate()
	per := r.PerJob
	if per == 0 {
		per = usualRate
	}
	return int64(max(r.Latency, r.Store).Seconds() * per)
}

// parquetFile is an opened file.
type parquetFile struct {
	format *parquetFormat
	file   *file
	want   wanted
	plan   *resolve.Plan
	footer *parquet.Footer
	reader *parquet.Reader
	filter rowFilter
	held   []*piece // the tail, and the indexes read while opening
	groups []group
	cuts   []int // step i is groups[cuts[i]:cuts[i+1]]: a wave, or a stream of them
	step   int   // the next
	given  int   // waves planned
	stream *stream

	refs atomic.Int32 // the opening and the units
}

// group is a row group that has rows to read.
type group struct {
	rg    int
	sel   rowsel.Selection // relative to the row group
	bytes int64            // compressed, of the wanted columns
	rest  int64            // of these: not the filter's

	streamed bool // large, and nobody knows where its pages are
}

func (p *parquetFormat) open(ctx context.Context, f *file) (_ content, err error) {
	c := &parquetFile{format: p, file: f}
	c.refs.Store(1)
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	p.deletes.begin(f.task)
	if c.footer, err = c.readFooter(ctx); err != nil {
		return nil, err
	}
	if c.filter.deletes, err = p.deletes.load(ctx, f.task, c.footer.NumRows()); err != nil {
		return nil, err
	}
	if err = c.bind(); err != nil {
		return nil, err
	}
	if err = c.choose(ctx); err != nil {
		return nil, err
	}
	if err = c.part(ctx); err != nil {
		return nil, err
	}
	c.cut()
	return c, nil
}

// trailer is the end of a Parquet file: the footer's length in 4 bytes, and the magic.
const trailer = 8

// readFooter reads the file's end, and more of it if the footer is longer. A file that is small, or mostly wanted, is read
// whole.
func (c *parquetFile) readFooter(ctx context.Context) (*parquet.Footer, error) {
	p, t := c.format, c.file.task
	size := t.File.Size
	var span object.Range
	if size < 0 {
		span = object.Range{Off: -p.tails.tail(), Len: -1}
	} else {
		if size == 0 {
			_, _, err := parquet.ParseFooter(nil, 0, 0)
			return nil, err
		}
		rate := p.rate()
		if rate.PerJob == 0 {
			rate.PerJob = usualRate
		}
		n := p.tails.first(size, t.ColumnBytes, t.Filter != nil && !p.cfg.NoPrune, rate.Latency, rate.PerJob)
		if fpFooterShort.DoKey(ctx, t.File.Location.Recorded) != nil {
			n = min(trailer, size)
		}
		span = object.Range{Off: size - n, Len: n}
	}
	read, err := c.file.get(ctx, span)
	if err != nil && size >= 0 && c.file.etag == "" && (errors.Is(err, object.ErrChanged) || errors.Is(err, object.ErrRange)) {
		// Writers record wrong sizes, and every other reader reads such tables: before anything is pinned the size is a hint.
		p.stats.sizesCorrected.Add(1)
		size, c.file.size = -1, -1
		read, err = c.file.get(ctx, object.Range{Off: -p.tails.tail(), Len: -1})
	}
	if err != nil {
		return nil, err
	}
	tail := read.answer.bytes
	if size < 0 {
		size = read.answer.info.Size
		c.file.size = size
	}
	if n := len(tail); n >= trailer {
		p.tails.footer(int64(binary.LittleEndian.Uint32(tail[n-trailer:])) + trailer)
	}
	c.hold(object.Range{Off: size - int64(len(tail)), Len: int64(len(tail))}, read)
	f, missing, err := parquet.ParseFooter(tail, size, 0)
	if err != nil || missing == 0 {
		p.stats.tailHits.Add(1)
		return f, err
	}
	p.stats.tailMiss.Add(1)
	off := size - int64(len(tail)) - missing
	if off < 0 {
		return nil, fmt.Errorf("%w: footer begins before the file", parquet.ErrCorrupt)
	}
	head, err := c.file.get(ctx, object.Range{Off: off, Len: missing})
	if err != nil {
		return nil, err
	}
	c.hold(object.Range{Off: off, Len: missing}, head)
	whole := append(append(make([]byte, 0, missing+int64(len(tail))), head.answer.bytes...), tail...)
	f, _, err = parquet.ParseFooter(whole, size, 0)
	return f, err
}

// hold keeps a read of the opening for the waves, in order of offsets.
func (c *parquetFile) hold(r object.Range, read *pending) {
	p := &piece{span: r, read: read, here: true}
	p.refs.Store(1)
	at := len(c.held)
	for at > 0 && c.held[at-1].span.Off > r.Off {
		at--
	}
	c.held = append(c.held, nil)
	copy(c.held[at+1:], c.held[at:])
	c.held[at] = p
}

// bind resolves the wanted columns in this file.
func (c *parquetFile) bind() (err error) {
	p, t := c.format, c.file.task
	if c.want, err = want(p.cfg.Schema, p.cfg.Table, t.Filter, c.filter.keys()); err != nil {
		return err
	}
	if c.plan, err = c.want.columns(c.footer.Schema(), t, p.cfg.Defaults); err != nil {
		return err
	}
	o := parquet.Options{Allocator: p.mem, Values: p.values, Decoded: p.decoded, BatchRows: p.cfg.BatchRows, BatchBytes: p.cfg.BatchBytes}
	if p.cfg.NoPrune {
		o.PruneOff = prune.Off{Statistics: true, PageIndex: true, Dictionary: true, Bloom: true}
	}
	c.reader, err = c.footer.Bind(c.plan.Columns, t.Filter, o)
	c.filter.expr = t.Filter
	return err
}

// choose finds the row groups that have rows to read, from the footer, from indexes that came with the tail, and from indexes
// read for it where they can save more than they cost.
func (c *parquetFile) choose(ctx context.Context) error {
	t := c.file.task
	tail := &pieces{list: c.held}
	live := t.Select
	if d := c.filter.deletes; d != nil && !c.format.cfg.KeepDeleted {
		live = live.AndNot(d.Deleted())
	}
	for rg := range c.footer.RowGroups() {
		c.format.stats.rowGroups.Add(1)
		sel := live.Cut(c.footer.FirstRow(rg), c.footer.Rows(rg))
		if g, ok := c.consider(rg, sel, tail); ok {
			c.groups = append(c.groups, g)
		} else {
			c.format.stats.pruned.Add(1)
		}
	}
	if c.format.cfg.NoPrune || len(c.groups) == 0 {
		return nil
	}
	return c.readIndexes(ctx)
}

// consider prunes one row group by the evidence at hand.
func (c *parquetFile) consider(rg int, sel rowsel.Selection, ev parquet.Bytes) (group, bool) {
	if sel.Count(c.footer.Rows(rg)) == 0 {
		return group{}, false
	}
	verdict, rows := c.reader.Prune(rg, ev)
	if verdict == expr.None {
		return group{}, false
	}
	if sel = sel.And(rows); sel.Count(c.footer.Rows(rg)) == 0 {
		return group{}, false
	}
	g := group{rg: rg, sel: sel}
	c.measure(&g)
	return g, true
}

// readIndexes fetches page indexes and Bloom filters in one round, of row groups larger than the round costs.
func (c *parquetFile) readIndexes(ctx context.Context) error {
	hop := c.format.hop()
	var demands []demand
	for i, g := range c.groups {
		if g.bytes <= hop {
			continue
		}
		for _, part := range []parquet.Part{parquet.PartIndex, parquet.PartBloom} {
			for _, r := range c.reader.Ranges(g.rg, part, g.sel, parquet.Cost{}) {
				if rest, ok := c.missing(r); ok {
					demands = append(demands, demand{rest, i})
				}
			}
		}
	}
	if len(demands) == 0 {
		return nil
	}
	spans, _, wasted := coalesce(demands, gapOf(hop), len(c.groups))
	c.format.stats.overRead.Add(wasted)
	if err := c.file.getAll(ctx, spans, c.hold); err != nil {
		return err
	}
	ev := &pieces{list: c.held}
	kept := c.groups[:0]
	for _, g := range c.groups {
		if again, ok := c.consider(g.rg, g.sel, ev); ok {
			kept = append(kept, again)
		} else {
			c.format.stats.pruned.Add(1)
		}
	}
	c.groups = kept
	return nil
}

// missing is what of a range the opening has not fetched.
func (c *parquetFile) missing(r parquet.Range) (object.Range, bool) {
	if len(c.held) == 0 {
		return object.Range{Off: r.Off, Len: r.Len}, r.Len > 0
	}
	// What is held for the waves is one stretch up to the end of the file, and perhaps indexes before it.
	from, to := c.held[len(c.held)-1].span.Off, c.held[len(c.held)-1].span.Off+c.held[len(c.held)-1].span.Len
	for i := len(c.held) - 2; i >= 0 && c.held[i].span.Off+c.held[i].span.Len == from; i-- {
		from = c.held[i].span.Off
	}
	return without(r, from, to)
}

// gapOf is the largest gap worth reading through.
func gapOf(hop int64) int64 { return min(max(hop, 16<<10), 2<<20) }

// cut groups row groups into waves.
func (c *parquetFile) cut() {
	var sum, total int64
	for i, g := range c.groups {
		if sum == 0 || sum+g.bytes > waveBytes || g.streamed {
			c.cuts = append(c.cuts, i)
			sum = 0
		}
		if sum += max(g.bytes, 1); g.streamed {
			sum = 0 // a stream has its step to itself
		}
		total += g.bytes
	}
	c.cuts = append(c.cuts, len(c.groups))
	c.format.tails.columns(total, c.file.size)
	if len(c.groups) == 0 {
		c.cuts = c.cuts[:1]
	}
}

// waves counts a stream by its bytes.
func (c *parquetFile) waves() int {
	n := c.given
	if c.stream != nil {
		n += c.stream.left()
	}
	for i := c.step; i < len(c.cuts)-1; i++ {
		n++
		if g := c.groups[c.cuts[i]]; g.streamed {
			n += int(g.bytes / c.format.streamBytes())
		}
	}
	return n
}

// ahead counts the wanted columns, but for a file that was read whole.
func (c *parquetFile) ahead() (next, all int64) {
	if len(c.held) == 1 && c.held[0].span.Off == 0 {
		return 0, 0
	}
	part := c.format.streamBytes()
	if c.stream != nil {
		if n := int64(c.stream.left()) * part; n > 0 {
			next, all = part, n
		}
	}
	for i := c.step; i < len(c.cuts)-1; i++ {
		step := int64(0)
		for _, g := range c.groups[c.cuts[i]:c.cuts[i+1]] {
			step += g.bytes
		}
		if all += step; next == 0 {
			if next = step; c.groups[c.cuts[i]].streamed {
				next = min(step, part)
			}
		}
	}
	return next, all
}

// may reports whether a wave can be planned: one of a stream waits for those before it, and what follows a stream for its end.
func (c *parquetFile) may() bool { return c.stream == nil || c.stream.may() }

// wave plans the next reads.
func (c *parquetFile) wave(int) (w wave, err error) {
	if c.stream == nil && c.groups[c.cuts[c.step]].streamed {
		if c.stream, err = c.newStream(c.groups[c.cuts[c.step]]); err != nil {
			return w, err
		}
		c.step++
	}
	c.given++
	if c.stream != nil {
		return c.stream.wave(), nil
	}
	c.step++
	return c.groupWave(c.groups[c.cuts[c.step-1]:c.cuts[c.step]])
}

// groupWave plans the reads of a few row groups and prepares their units.
func (c *parquetFile) groupWave(groups []group) (w wave, err error) {
	hop := c.format.hop()
	defer func() {
		if err != nil {
			closeUnits(w.units)
		}
	}()
	var demands []demand
	var of []int // by unit: its group
	for k, g := range groups {
		units, err := c.reader.Open(g.rg, g.sel)
		if err != nil {
			return w, err
		}
		rows := float64(max(g.sel.Count(c.footer.Rows(g.rg)), 1))
		two := len(units) == 1 && c.format.late.pays(g, hop)
		w.late = w.late || two
		c.refs.Add(int32(len(units)))
		for n, u := range units {
			w.units = append(w.units, &parquetUnit{c: c, g: g, u: u, two: two, after: n > 0, share: float64(u.Rows()) / rows})
			of = append(of, k)
		}
		demands = c.demand(demands, g, k, parquet.PartFilter)
		if !two {
			demands = c.demand(demands, g, k, parquet.PartRest)
		}
	}
	spans, needs, wasted := coalesce(demands, gapOf(hop), len(groups))
	c.format.stats.overRead.Add(wasted)
	w.spans, w.held = spans, c.held
	for _, k := range of {
		w.needs = append(w.needs, needs[k])
	}
	return w, nil
}

// demand adds what a part of a row group needs and the opening has not fetched.
func (c *parquetFile) demand(demands []demand, g group, k int, part parquet.Part) []demand {
	for _, r := range c.reader.Ranges(g.rg, part, g.sel, parquet.Cost{}) {
		if rest, ok := c.missing(r); ok {
			demands = append(demands, demand{rest, k})
		}
	}
	return demands
}

// close ends the opening's hold; what units still need lives until the last of them is closed.
func (c *parquetFile) close() {
	if c.stream != nil {
		c.stream.close()
		c.stream = nil
	}
	for _, p := range c.held {
		p.drop()
	}
	c.held = nil
	c.unref()
}

func (c *parquetFile) unref() {
	if c.refs.Add(-1) == 0 && c.filter.deletes != nil {
		c.filter.deletes.Release()
	}
}
