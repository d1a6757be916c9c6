package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/prefetchpool"
)

// reads is the scan's way to its store: through the lane, or inline without one.
type reads struct {
	store   object.Store
	lane    *prefetchpool.Lane // nil = inline
	account *memory.Elastic    // class Prefetch: inline reads and joined ranges; the lane's own bytes are on the pool's meter
	stats   *counters
	near    atomic.Bool // what is asked for is at hand: the pool is passed by
}

// beside is under which a read costs less than its way through the pool, by far.
const beside = 200 * time.Microsecond

// request is one read.
type request struct {
	location object.Location
	span     object.Range
	order    uint64
	options  object.ReadOptions
	notify   chan<- struct{} // gets a value when the read has ended; nil = nobody listens
}

// answer is what came.
type answer struct {
	bytes []byte // lies in buf, or is the store's
	buf   []byte // pooled, given back at release
	info  object.Info
	took  time.Duration
}

// held is what the answer keeps from being freed.
func (a answer) held() int64 { return int64(max(cap(a.buf), len(a.bytes))) }

// pending is a read on its way. It belongs to one goroutine at a time; release ends it in any state.
type pending struct {
	reads  *reads
	req    request
	ctx    context.Context
	future *prefetchpool.Future[answer]
	err    error // of submission
	answer answer
	have   bool
	held   int64 // charged by an inline read
}

// start submits a read. Inline, nothing happens before wait.
func (r *reads) start(ctx context.Context, req request) *pending {
	p := &pending{reads: r, req: req, ctx: ctx}
	if r.lane == nil || r.near.Load() && req.weighs() <= r.account.Allowed()-r.account.Bytes() {
		return p
	}
	p.future, p.err = prefetchpool.Submit(ctx, r.lane, prefetchpool.Job[answer]{
		Name: req.location.Recorded, Order: req.order, Weight: req.weighs(), Notify: req.notify,
		Run: func(ctx context.Context, t *prefetchpool.Ticket) (answer, error) {
			req.options.Urgent, req.options.Throttled = t.Awaited, r.lane.Throttled
			a, err := r.read(ctx, req)
			if err == nil {
				if t.Resize(a.held()); a.info.Cached {
					t.Local(int64(len(a.bytes)))
				} else {
					t.Transferred(int64(len(a.bytes)))
				}
			}
			return a, err
		},
		Discard: func(a answer) { giveBuffer(a.buf) },
	})
	return p
}

// weighs is what is charged before the answer is known: the buffer that will be taken.
func (q request) weighs() int64 {
	_, size, _ := bufferClass(q.expected())
	return size
}

// expected is the length of the answer, as far as it is known.
func (q request) expected() int64 {
	switch {
	case q.span.Len > 0:
		return q.span.Len
	case q.span.Off < 0:
		return -q.span.Off
	}
	return max(q.options.Size-q.span.Off, 0)
}

// read does one request and counts it.
func (r *reads) read(ctx context.Context, q request) (answer, error) {
	start := time.Now()
	dst := takeBuffer(q.expected())
	r.stats.requests.Add(1)
	b, info, err := r.store.Read(ctx, q.location, q.span, dst, q.options)
	a := answer{info: info, took: time.Since(start)}
	r.stats.bytes.Add(int64(len(b)))
	if err != nil {
		giveBuffer(dst)
		return a, err
	}
	if len(b) > 0 && len(dst) > 0 && &b[0] == &dst[0] {
		a.buf = dst
	} else {
		giveBuffer(dst)
	}
	a.bytes = b
	return a, nil
}

// wait returns the answer; its bytes are valid until release. It keeps the read's place in the queue: what makes a read
// urgent is the consumer (Lane.Head).
func (p *pending) wait(ctx context.Context) (answer, error) { return p.get(ctx, false) }

func (p *pending) get(ctx context.Context, urgent bool) (answer, error) {
	if p.have || p.err != nil {
		return p.answer, p.err
	}
	switch {
	case p.future == nil:
		p.answer, p.err = p.reads.read(p.ctx, p.req)
		if p.answer.took > quick { // not so near after all
			p.reads.near.Store(false)
		}
		p.held = p.answer.held()
		p.reads.account.Add(p.held)
	case urgent:
		p.answer, p.err = p.future.Await(ctx)
	default:
		p.answer, p.err = p.future.Wait(ctx)
	}
	if p.err != nil && ctx.Err() != nil && p.future != nil && p.ctx.Err() == nil {
		err := p.err // only this wait ended; the read may be awaited again
		p.err = nil
		return answer{}, err
	}
	p.have = p.err == nil
	return p.answer, p.err
}

// ready reports whether wait would not block for a slot.
func (p *pending) ready() bool { return p.future == nil || p.future.Ready() }

// release gives bytes and weight back; idempotent.
func (p *pending) release() {
	if p.future != nil {
		p.future.Release()
	}
	if p.have {
		giveBuffer(p.answer.buf)
		p.reads.account.Add(-p.held)
	}
	p.have, p.answer, p.held = false, answer{}, 0
	if p.err == nil {
		p.err = prefetchpool.ErrReleased
	}
}

// Buffers of fetched bytes are pooled by size class, four classes an octave: they are large, short-lived and need no
// clearing. What is charged is the class, so at most a quarter lies fallow.
const (
	minBuffer  = 4 << 10
	maxBuffer  = 16 << 20
	bufClasses = 4*12 + 1
)

var buffers [bufClasses]sync.Pool

// bufferClass is the class of n bytes and its size; ok is false above maxBuffer.
func bufferClass(n int64) (class int, size int64, ok bool) {
	if n > maxBuffer {
		return 0, n, false
	}
	for octave := int64(minBuffer); ; octave, class = octave*2, class+4 {
		if n > 2*octave-octave/4 && octave < maxBuffer {
			continue
		}
		for size = octave; size < n; size += octave / 4 {
			class++
		}
		return class, size, true
	}
}

// takeBuffer gives n bytes of any content; n = 0 gives nil.
func takeBuffer(n int64) []byte {
	if n <= 0 {
		return nil
	}
	c, size, ok := bufferClass(n)
	if !ok {
		return make([]byte, n)
	}
	if p, _ := buffers[c].Get().(*[]byte); p != nil {
		return (*p)[:n]
	}
	return make([]byte, n, size)
}

func giveBuffer(b []byte) {
	if c, size, ok := bufferClass(int64(cap(b))); ok && size == int64(cap(b)) {
		b = b[:0]
		buffers[c].Put(&b)
	}
}

// piece is one fetched part of a wave, shared by the units that need it.
type piece struct {
	span object.Range
	read *pending
	here bool         // its bytes have landed; the file's goroutine alone looks
	refs atomic.Int32 // units that need it, and the opening that read it
}

// drop counts one user out; the last gives the bytes back.
func (p *piece) drop() {
	if p.refs.Add(-1) == 0 {
		p.read.release()
	}
}

// pieces serves byte ranges to a unit's decoder: parquet.Bytes.
type pieces struct {
	list    []*piece // rising offsets
	account *memory.Elastic
	users   atomic.Int32 // units

	mu struct {
		sync.Mutex
		joined map[[2]int64][]byte // ranges that cross pieces
		held   int64
	}
}

// with returns these pieces and more, in order. The result is for one unit.
func (p *pieces) with(more []*piece) *pieces {
	out := &pieces{list: append(slices.Clone(p.list), more...), account: p.account}
	out.users.Store(1)
	slices.SortFunc(out.list, func(a, b *piece) int { return cmp.Compare(a.span.Off, b.span.Off) })
	return out
}

// leave counts a unit out. The last gives back what was joined; the pieces themselves are counted by the units that need them.
func (p *pieces) leave() {
	if p.users.Add(-1) > 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account.Add(-p.mu.held)
	p.mu.joined, p.mu.held = nil, 0
}

// Slice is valid until the unit is closed. Ranges inside one piece cost nothing; one that crosses pieces is joined once.
func (p *pieces) Slice(off, n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	i, found := slices.BinarySearchFunc(p.list, off, func(x *piece, off int64) int {
		switch {
		case x.span.Off > off:
			return 1
		case x.span.Off+x.span.Len <= off:
			return -1
		}
		return 0
	})
	if !found || n < 0 {
		return nil, missError(off, n)
	}
	x := p.list[i]
	if off+n <= x.span.Off+x.span.Len {
		at := off - x.span.Off
		return x.read.answer.bytes[at : at+n : at+n], nil
	}
	return p.join(i, off, n)
}

func (p *pieces) join(i int, off, n int64) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := [2]int64{off, n}
	if b, ok := p.mu.joined[key]; ok {
		return b, nil
	}
	last := i
	for end := p.list[i].span.Off + p.list[i].span.Len; end < off+n; end = p.list[last].span.Off + p.list[last].span.Len {
		last++
		if last == len(p.list) || p.list[last].span.Off != end {
			return nil, missError(off, n)
		}
	}
	out := make([]byte, 0, n)
	for _, x := range p.list[i : last+1] {
		b := x.read.answer.bytes
		from := max(0, off-x.span.Off)
		to := min(int64(len(b)), off+n-x.span.Off)
		out = append(out, b[from:to]...)
	}
	if int64(len(out)) != n {
		return nil, fmt.Errorf("source: pieces of [%d, %d) are short by %d bytes", off, off+n, n-int64(len(out)))
	}
	if p.mu.joined == nil {
		p.mu.joined = map[[2]int64][]byte{}
	}
	p.mu.joined[key] = out
	p.mu.held += n
	p.account.Add(n)
	return out, nil
}

// split cuts a span into equal parts of at most one and a half times part, which are fetched side by side.
func split(r object.Range, part int64) []object.Range {
	n := (r.Len + part/2) / part
	if n <= 1 {
		return []object.Range{r}
	}
	out := make([]object.Range, 0, n)
	for i := range n {
		from, to := r.Len*i/n, r.Len*(i+1)/n
		out = append(out, object.Range{Off: r.Off + from, Len: to - from})
	}
	return out
}
