package object

import (
	"container/list"
	"context"
	"errors"
	"hash/maphash"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// CacheConfig; the zero value takes the defaults named here.
type CacheConfig struct {
	MaxBytes int64             // of all entries, 0 = 64 MiB
	MaxEntry int64             // longest answer kept, 0 = 1 MiB: footers, manifests, small files
	Charge   func(delta int64) // told of every change of the bytes held, under the cache's lock; (*memory.Elastic).Add fits
	Meter    *Meter            // counts hits and misses; nil = nobody
}

// Cache keeps ranges of objects in memory, by path, ETag and size. It is the decorator that Cached makes.
//
// A read is answered from memory only if it is pinned (ReadOptions.Pinned); so what may be replaced in place (a
// version hint) always goes to the store. The answer then has Info.Cached set and the ETag of when it was read, which becomes the
// pin of the next GET; if that GET finds the object changed, the entry is dropped and the caller reads afresh, once. Equal
// reads at one time become one. Ranges read once cannot push out ranges read twice (segmented LRU), and longer ones from inside an object, which
// are a scan's data, are not even copied before they are read a second time.
type Cache struct {
	store Store
	cfg   CacheConfig

	mu struct {
		sync.Mutex
		objects   map[string]*cachedObject // by canonical location
		probation list.List                // of *cacheEntry, latest first
		protected list.List
		bytes     int64 // of all
		safe      int64 // of protected
		flights   map[flightKey]*flight
		seen      [4096]uint64 // hashes of long ranges that were read and not kept; 0 = none
	}
	seed maphash.Seed
}

// keptAtOnce is the longest range from inside an object that is kept when it is first read.
const keptAtOnce = 64 << 10

type cachedObject struct {
	key     string
	etag    string
	size    int64
	entries []*cacheEntry // by offset
}

type cacheEntry struct {
	of        *cachedObject
	off       int64
	data      []byte // never written again
	elem      *list.Element
	protected bool
}

type flightKey struct {
	key  string
	r    Range
	etag string
	size int64
}

type flight struct {
	done   chan struct{}
	shared atomic.Bool // somebody else waits too
}

// Cached puts a cache over s.
func Cached(s Store, cfg CacheConfig) *Cache {
	cfg.MaxBytes = orDefault(cfg.MaxBytes, 64<<20)
	cfg.MaxEntry = min(orDefault(cfg.MaxEntry, 1<<20), cfg.MaxBytes)
	if cfg.Charge == nil {
		cfg.Charge = func(int64) {}
	}
	if cfg.Meter == nil {
		cfg.Meter = NewMeter(nil)
	}
	c := &Cache{store: s, cfg: cfg, seed: maphash.MakeSeed()}
	c.mu.objects, c.mu.flights = map[string]*cachedObject{}, map[flightKey]*flight{}
	return c
}

// Read answers from memory, joins an equal read under way, or asks the store and keeps what it says.
func (c *Cache) Read(ctx context.Context, loc Location, r Range, dst []byte, o ReadOptions) ([]byte, Info, error) {
	if !o.Pinned() || (r.Known() && r.Len > c.cfg.MaxEntry) || r.Check() != nil {
		return c.through(ctx, loc, r, dst, o, nil)
	}
	if data, info, ok := c.find(loc, r, dst, o); ok {
		c.cfg.Meter.cacheHits.Add(1)
		return data, info, nil
	}
	key := flightKey{loc.Canonical(), r, o.ETag, o.Size}
	f, leader := c.join(key)
	if leader {
		defer c.leave(key, f)
		urgent := o.Urgent
		o.Urgent = func() bool { return f.shared.Load() || (urgent != nil && urgent()) }
		return c.through(ctx, loc, r, dst, o, f)
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, Info{Location: loc, Size: -1}, Fail(ctx, "read", loc, r, ctx.Err())
	}
	if data, info, ok := c.find(loc, r, dst, o); ok {
		c.cfg.Meter.cacheHits.Add(1)
		return data, info, nil
	}
	return c.through(ctx, loc, r, dst, o, nil) // the leader failed, or its answer was not worth keeping
}

func (c *Cache) join(key flightKey) (f *flight, leader bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.mu.flights[key]; f != nil {
		f.shared.Store(true)
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	c.mu.flights[key] = f
	return f, true
}

func (c *Cache) leave(key flightKey, f *flight) {
	c.mu.Lock()
	delete(c.mu.flights, key)
	c.mu.Unlock()
	close(f.done)
}

// through asks the store, and learns from the answer; f is how others may wait for it, if they can.
func (c *Cache) through(ctx context.Context, loc Location, r Range, dst []byte, o ReadOptions, f *flight) ([]byte, Info, error) {
	c.cfg.Meter.cacheMisses.Add(1)
	data, info, err := c.store.Read(ctx, loc, r, dst, o)
	switch {
	case err == nil:
		if f != nil && f.shared.Load() || c.worth(loc, r, o, info) {
			c.keep(loc, r, data, info)
		}
	case errors.Is(err, ErrChanged), errors.Is(err, ErrNotFound):
		c.Drop(loc)
	}
	return data, info, err
}

// find copies a range out of an entry that covers it.
func (c *Cache) find(loc Location, r Range, dst []byte, o ReadOptions) ([]byte, Info, bool) {
	c.mu.Lock()
	e, off, n := c.lookLocked(loc, r, o)
	if e == nil {
		c.mu.Unlock()
		return nil, Info{}, false
	}
	c.touchLocked(e)
	info := Info{Location: loc, Size: e.of.size, ETag: e.of.etag, Cached: true}
	c.mu.Unlock()
	if o.Admit(r, n) != nil {
		return nil, Info{}, false // the store says it better
	}
	out := Buffer(dst, n)
	copy(out, e.data[off-e.off:]) // entries are immutable, so no lock is needed
	return out, info, true
}

// Resident reports whether Read would answer from memory.
func (c *Cache) Resident(loc Location, r Range, o ReadOptions) bool {
	if !o.Pinned() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, _, _ := c.lookLocked(loc, r, o)
	return e != nil
}

// AtHand reports that the range is resident, or that the store below has it at hand.
func (c *Cache) AtHand(loc Location, r Range, o ReadOptions) bool {
	return c.Resident(loc, r, o) || AtHand(c.store, loc, r, o)
}

func (c *Cache) lookLocked(loc Location, r Range, o ReadOptions) (e *cacheEntry, off, n int64) {
	obj := c.mu.objects[loc.Canonical()]
	if obj == nil || (o.ETag != "" && Opaque(o.ETag) != Opaque(obj.etag)) || (o.Size > 0 && o.Size != obj.size) {
		return nil, 0, 0
	}
	off, n, err := r.Resolve(obj.size)
	if err != nil {
		return nil, 0, 0
	}
	for _, e := range obj.entries {
		if e.off > off {
			break
		}
		if off+n <= e.off+int64(len(e.data)) {
			return e, off, n
		}
	}
	return nil, 0, 0
}

// touchLocked moves an entry that was used again to the protected segment, at most four fifths of the whole.
func (c *Cache) touchLocked(e *cacheEntry) {
	if e.protected {
		c.mu.protected.MoveToFront(e.elem)
		return
	}
	c.mu.probation.Remove(e.elem)
	e.elem, e.protected = c.mu.protected.PushFront(e), true
	c.mu.safe += int64(len(e.data))
	for c.mu.safe > c.cfg.MaxBytes/5*4 {
		old := c.mu.protected.Back().Value.(*cacheEntry)
		c.mu.protected.Remove(old.elem)
		old.elem, old.protected = c.mu.probation.PushFront(old), false
		c.mu.safe -= int64(len(old.data))
	}
}

// worth reports whether a good answer is kept: whatever is short, the end of an object or all of it, and the rest if it was read before. A few
// thousand ranges are remembered; one that was forgotten is kept a read later.
func (c *Cache) worth(loc Location, r Range, o ReadOptions, info Info) bool {
	if o.Immutable || !r.Known() || r.Len <= keptAtOnce || r.Len >= info.Size {
		return true
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	h.WriteString(loc.Canonical())
	maphash.WriteComparable(&h, r)
	sum := h.Sum64() | 1
	c.mu.Lock()
	defer c.mu.Unlock()
	slot := &c.mu.seen[sum>>1%uint64(len(c.mu.seen))]
	again := *slot == sum
	*slot = sum
	return again
}

// keep stores a copy of a good answer.
func (c *Cache) keep(loc Location, r Range, data []byte, info Info) {
	n := int64(len(data))
	if n == 0 || n > c.cfg.MaxEntry || info.ETag == "" {
		return
	}
	off, want, err := r.Resolve(info.Size)
	if err != nil || want != n {
		return
	}
	own := slices.Clone(data)
	c.mu.Lock()
	defer c.mu.Unlock()
	key := loc.Canonical()
	obj := c.mu.objects[key]
	if obj != nil && (Opaque(obj.etag) != Opaque(info.ETag) || obj.size != info.Size) {
		if info.Cached {
			return // from a cache below, which may know less than we do
		}
		c.dropLocked(obj)
		obj = nil
	}
	if e, _, _ := c.lookLocked(loc, r, ReadOptions{ETag: info.ETag}); e != nil {
		return
	}
	if obj == nil {
		obj = &cachedObject{key: key, etag: info.ETag, size: info.Size}
		c.mu.objects[key] = obj
	}
	e := &cacheEntry{of: obj, off: off, data: own}
	at, _ := slices.BinarySearchFunc(obj.entries, off, func(e *cacheEntry, off int64) int { return int(min(max(e.off-off, -1), 1)) })
	obj.entries = slices.Insert(obj.entries, at, e)
	e.elem = c.mu.probation.PushFront(e)
	c.countLocked(n)
	for c.mu.bytes > c.cfg.MaxBytes {
		back := c.mu.probation.Back()
		if back == nil {
			back = c.mu.protected.Back()
		}
		c.removeLocked(back.Value.(*cacheEntry))
	}
}

func (c *Cache) countLocked(delta int64) {
	c.mu.bytes += delta
	c.cfg.Meter.cacheBytes.Add(delta)
	c.cfg.Charge(delta)
}

// removeLocked takes one entry out of its list and its object.
func (c *Cache) removeLocked(e *cacheEntry) {
	if e.protected {
		c.mu.protected.Remove(e.elem)
		c.mu.safe -= int64(len(e.data))
	} else {
		c.mu.probation.Remove(e.elem)
	}
	obj := e.of
	if i := slices.Index(obj.entries, e); i >= 0 {
		obj.entries = slices.Delete(obj.entries, i, i+1)
	}
	if len(obj.entries) == 0 && c.mu.objects[obj.key] == obj {
		delete(c.mu.objects, obj.key)
	}
	c.countLocked(-int64(len(e.data)))
}

func (c *Cache) dropLocked(obj *cachedObject) {
	for _, e := range slices.Clone(obj.entries) {
		c.removeLocked(e)
	}
	delete(c.mu.objects, obj.key)
}

// Drop forgets an object.
func (c *Cache) Drop(loc Location) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if obj := c.mu.objects[loc.Canonical()]; obj != nil {
		c.dropLocked(obj)
	}
}

// Purge forgets everything; the bytes charged go back to zero.
func (c *Cache) Purge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, obj := range c.mu.objects {
		c.dropLocked(obj)
	}
}

// List is the store's.
func (c *Cache) List(ctx context.Context, prefix Location) iter.Seq2[Info, error] {
	return ListOf(ctx, c.store, prefix)
}

// Delete forgets the object, before and after.
func (c *Cache) Delete(ctx context.Context, loc Location) error {
	defer c.Drop(loc)
	return DeleteIn(ctx, c.store, loc)
}

// Create forgets the object once the upload is committed.
func (c *Cache) Create(ctx context.Context, loc Location, ifMatch string) (Upload, error) {
	u, err := CreateIn(ctx, c.store, loc, ifMatch)
	if err != nil {
		return nil, err
	}
	return cachedUpload{u, c, loc}, nil
}

type cachedUpload struct {
	Upload
	c   *Cache
	loc Location
}

func (u cachedUpload) Commit(ctx context.Context) (Info, error) {
	defer u.c.Drop(u.loc)
	return u.Upload.Commit(ctx)
}
