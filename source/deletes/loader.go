package deletes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

const (
	wholeMax = 16 << 20
	spanGap  = 64 << 10 // vectors that lie closer together are fetched at once
	spanMax  = 8 << 20
)

// Config of a Loader.
type Config struct {
	Fetcher   object.Fetcher     // the scan's lane
	Budget    *memory.Budget     // nil = unlimited, uncounted
	Allocator arrowmem.Allocator // for the batches of delete files; nil = Go's
	Snapshot  string             // named by errors; "" = not said
}

// Loader serves one scan.
type Loader struct {
	cfg      Config
	account  *memory.Elastic // nil counts nothing
	wholeMax int64           // files up to this size are fetched by one request

	mu struct {
		sync.Mutex
		closed  bool
		vectors map[*Vector]*vectorSlot
		spans   map[*Vector]*span // by their first vector
		files   map[*File]*fileSlot
		groups  map[*Group]*groupSlot
		stats   Stats
	}
}

// Stats of a Loader.
type Stats struct {
	Requests int64 // reads asked of the Fetcher
	Bytes    int64 // of them
	Held     int64 // charged to the budget now
}

// NewLoader makes a Loader; it must be closed.
func NewLoader(cfg Config) *Loader {
	if cfg.Allocator == nil {
		cfg.Allocator = arrowmem.DefaultAllocator
	}
	l := &Loader{cfg: cfg, wholeMax: wholeMax, account: cfg.Budget.Elastic(memory.Prefetch, 0).Named("delete files of a scan")}
	l.mu.vectors = map[*Vector]*vectorSlot{}
	l.mu.spans = map[*Vector]*span{}
	l.mu.files = map[*File]*fileSlot{}
	l.mu.groups = map[*Group]*groupSlot{}
	return l
}

// errClosed answers a Load after Close.
var errClosed = errors.New("deletes: loader is closed")

// turn is a lock that a waiter may leave: whoever holds it does the loading.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turn) give() { <-t }

// vectorSlot holds a loaded vector until its last user is done. All under Loader.mu.
type vectorSlot struct {
	loaded bool
	err    error
	set    rowsel.Selection
	last   int64 // largest position, -1 = none
	held   int64
	users  int
}

// span is a stretch of a Puffin file that one request fetches.
type span struct {
	turn    turn
	vectors []*Vector
	pending object.Pending // under Loader.mu
	done    bool           // under turn
}

// fileSlot holds the positions of one delete file by data file. pending, index and gone are under Loader.mu.
type fileSlot struct {
	turn    turn
	pending object.Pending
	index   *positionIndex
	gone    map[string]bool // paths whose positions have been used and dropped
	err     error           // under turn
}

// groupSlot holds the keys of one group. pending, one a file, and keys are under Loader.mu.
type groupSlot struct {
	turn    turn
	pending []object.Pending
	keys    *keyTable
	leaves  []keyLeaf // this and the rest under turn
	loaded  bool
	err     error
}

// charge asks the budget for n more bytes, or gives bytes back.
func (l *Loader) charge(n int64) error {
	if n <= 0 {
		l.account.Add(n)
		return nil
	}
	if !l.account.TryAdd(n) {
		return &TooLargeError{Need: n, Held: l.account.Bytes(), Allowed: l.account.Allowed()}
	}
	return nil
}

// fetch starts one read and counts it. The recorded size of a file is not held against the answer: real tables record wrong
// ones. Later reads of a file are pinned by its ETag.
func (l *Loader) fetch(ctx context.Context, info object.Info, r object.Range) object.Pending {
	n := max(r.Len, -r.Off)
	l.mu.Lock()
	l.mu.stats.Requests++
	l.mu.stats.Bytes += n
	l.mu.Unlock()
	return l.cfg.Fetcher.Fetch(ctx, info.Location, r, object.ReadOptions{ETag: info.ETag, Limit: n, Immutable: true})
}

// first is the read that a file begins with: all of it, or its end.
func (l *Loader) first(ctx context.Context, info object.Info) object.Pending {
	n := info.Size
	if n <= 0 || n > l.wholeMax { // not recorded, or too much
		n = min(tailBytes, l.wholeMax)
	}
	return l.fetch(ctx, info, object.Suffix(n))
}

// Prefetch asks the Fetcher for what the set needs and nobody has asked for yet; it never waits. ctx is the scan's: the reads
// end with it.
func (l *Loader) Prefetch(ctx context.Context, set Set) {
	if set.Vector != nil {
		if s := l.span(set.Vector); s != nil && s.sound() {
			l.begin(&s.pending, func() object.Pending { return l.fetch(ctx, s.vectors[0].File, s.bounds()) })
		}
	} else {
		for _, f := range set.Positions {
			if s := l.file(f); s != nil {
				l.begin(&s.pending, func() object.Pending { return l.first(ctx, f.File) })
			}
		}
	}
	for _, g := range set.Equality {
		s := l.group(g)
		if s == nil {
			continue
		}
		for i, f := range g.Files {
			l.begin(&s.pending[i], func() object.Pending { return l.first(ctx, f.File) })
		}
	}
}

// begin fills a slot's pending read, once: a slot that has been loaded keeps a marker.
func (l *Loader) begin(p *object.Pending, fetch func() object.Pending) {
	l.mu.Lock()
	begun := *p != nil || l.mu.closed
	if !begun {
		*p = consumed{} // claims it while the lock is off
	}
	l.mu.Unlock()
	if begun {
		return
	}
	got := fetch()
	l.mu.Lock()
	if closed := l.mu.closed; !closed {
		*p = got
		got = nil
	}
	l.mu.Unlock()
	if got != nil {
		got.Release()
	}
}

// consumed marks a read that has been taken.
type consumed struct{}

func (consumed) Await(context.Context) ([]byte, object.Info, error) {
	return nil, object.Info{}, errClosed
}
func (consumed) Release() {}

// takePending hands over a slot's read; nil = none was begun.
func (l *Loader) takePending(p *object.Pending) object.Pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := *p
	*p = consumed{}
	if _, none := got.(consumed); none {
		return nil
	}
	return got
}

// span of a vector: it and its near neighbours. nil when the loader is closed.
func (l *Loader) span(v *Vector) *span {
	vectors := near(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return nil
	}
	s := l.mu.spans[vectors[0]]
	if s == nil {
		s = &span{turn: newTurn(), vectors: vectors}
		l.mu.spans[vectors[0]] = s
	}
	return s
}

// near cuts the neighbours of v into spans, always at the same places, and returns that of v.
func near(v *Vector) []*Vector {
	first := 0
	for i, n := range v.Neighbours {
		if i > first {
			last := v.Neighbours[i-1]
			end := last.Offset + last.Size
			if n.Offset < end || n.Offset-end > spanGap || n.Offset+n.Size-v.Neighbours[first].Offset > spanMax {
				if of := v.Neighbours[first:i]; contains(of, v) {
					return of
				}
				first = i
			}
		}
	}
	if of := v.Neighbours[first:]; contains(of, v) {
		return of
	}
	return []*Vector{v}
}

func contains(of []*Vector, v *Vector) bool {
	for _, n := range of {
		if n == v {
			return true
		}
	}
	return false
}

func (s *span) bounds() object.Range {
	first, last := s.vectors[0], s.vectors[len(s.vectors)-1]
	return object.Range{Off: first.Offset, Len: last.Offset + last.Size - first.Offset}
}

func (l *Loader) file(f *File) *fileSlot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return nil
	}
	s := l.mu.files[f]
	if s == nil {
		s = &fileSlot{turn: newTurn(), gone: map[string]bool{}}
		l.mu.files[f] = s
	}
	return s
}

func (l *Loader) group(g *Group) *groupSlot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return nil
	}
	s := l.mu.groups[g]
	if s == nil {
		s = &groupSlot{turn: newTurn(), pending: make([]object.Pending, len(g.Files))}
		l.mu.groups[g] = s
	}
	return s
}

// sticky says whether an error is the delete's own, and so the answer to everybody who needs it.
func sticky(err error) bool {
	return err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// Load waits until all that applies to the data file is at hand. The caller releases the Applied. Errors are *Error, but for
// those of ctx.
func (l *Loader) Load(ctx context.Context, t Target, set Set) (a *Applied, err error) {
	l.Prefetch(ctx, set)
	a = &Applied{loader: l, target: t, deleted: rowsel.None()}
	defer func() {
		if err != nil {
			a.Release()
			a = nil
		}
	}()
	if set.Vector != nil {
		if err := l.applyVector(ctx, a, set.Vector); err != nil {
			return a, l.wrap(err, set.Vector.File, t)
		}
	} else {
		for _, f := range set.Positions {
			if err := l.applyFile(ctx, a, f); err != nil {
				return a, l.wrap(err, f.File, t)
			}
		}
	}
	for _, g := range set.Equality {
		if err := l.applyGroup(ctx, a, g); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (l *Loader) wrap(err error, file object.Info, t Target) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("delete file %s: %w", file.Location.Recorded, err)
	}
	return &Error{File: file.Location.Recorded, Data: t.Location.Recorded, Snapshot: l.cfg.Snapshot, Err: err}
}

// Stats at any time.
func (l *Loader) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.mu.stats
	s.Held = l.account.Bytes()
	return s
}

// Close gives back everything. No Load may run any more; an Applied may still be used and released. Idempotent.
func (l *Loader) Close() {
	l.mu.Lock()
	if l.mu.closed {
		l.mu.Unlock()
		return
	}
	l.mu.closed = true
	var pending []object.Pending
	for _, s := range l.mu.spans {
		pending = append(pending, s.pending)
	}
	for _, s := range l.mu.files {
		pending = append(pending, s.pending)
	}
	for _, s := range l.mu.groups {
		pending = append(pending, s.pending...)
	}
	var held int64
	for v, s := range l.mu.vectors {
		if s.users == 0 {
			held += s.held
			delete(l.mu.vectors, v)
		}
	}
	for _, s := range l.mu.files {
		if s.index != nil {
			held += s.index.held
			s.index = nil
		}
	}
	for _, s := range l.mu.groups {
		if s.keys != nil {
			held += s.keys.held
			s.keys = nil
		}
	}
	l.mu.Unlock()
	for _, p := range pending {
		if p != nil {
			p.Release()
		}
	}
	l.account.Add(-held)
	l.account.Close()
}
