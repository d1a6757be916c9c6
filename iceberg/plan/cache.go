package plan

import (
	"bytes"
	"container/list"
	"sync"

	"github.com/lakescan/lakescan/memory"
)

// DefaultCacheBytes bounds a Cache.
const DefaultCacheBytes = 64 << 20

// Cache keeps the bytes of manifest lists and manifests, which are immutable, by location. The least recently used goes
// first; what it holds is charged to the budget and shrinks when others need the memory. What one plan is reading, others
// that want it join. Safe for concurrent use; a nil Cache keeps nothing, and nothing is joined.
type Cache struct {
	limit   int64
	account *memory.Elastic
	mu      struct {
		sync.Mutex
		order *list.List // of *cached, most recently used first
		byKey map[string]*list.Element
		bytes int64
		// flights are the reads that may be joined.
		flights map[string]*flight
	}
}

type cached struct {
	location string
	data     []byte
}

// NewCache makes a cache of at most limit bytes (0 = DefaultCacheBytes), charged to b (nil = not charged).
func NewCache(b *memory.Budget, limit int64) *Cache {
	if limit <= 0 {
		limit = DefaultCacheBytes
	}
	c := &Cache{limit: limit, account: b.Elastic(memory.Prefetch, limit).Named("manifest cache")}
	c.mu.order, c.mu.byKey, c.mu.flights = list.New(), map[string]*list.Element{}, map[string]*flight{}
	return c
}

// join returns what is at hand, or the flight that reads it, or a new flight, which the caller then owns. alone: it is not to
// wait for another's.
func (c *Cache) join(location string, alone bool) (data []byte, f *flight, owner bool) {
	if c == nil {
		return nil, board(), true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if data, ok := c.find(location); ok {
		return data, nil, false
	}
	if f := c.mu.flights[location]; f != nil && !alone {
		return nil, f, false
	}
	f = board()
	if c.mu.flights[location] == nil {
		c.mu.flights[location] = f
	}
	return nil, f, true
}

// land ends the joining of a flight, and keeps a copy of what it brought (nil = nothing). The caller has the flight's token, or
// is its owner and gives it up.
func (c *Cache) land(location string, f *flight, data []byte) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(location, data)
	if c.mu.flights[location] == f {
		delete(c.mu.flights, location)
	}
}

// get returns bytes that nobody may change.
func (c *Cache) get(location string) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(location)
}

// find is get with the lock held.
func (c *Cache) find(location string) ([]byte, bool) {
	e := c.mu.byKey[location]
	if e == nil {
		return nil, false
	}
	c.mu.order.MoveToFront(e)
	return e.Value.(*cached).data, true
}

// put keeps a copy of data, if there is room for it beside what was used more recently. The lock is held.
func (c *Cache) put(location string, data []byte) {
	n := int64(len(data))
	if data == nil || c.mu.byKey == nil || c.mu.byKey[location] != nil || n > c.allowed()/4 {
		return
	}
	for c.mu.bytes+n > c.allowed() && c.mu.order.Len() > 0 {
		c.evict()
	}
	if c.mu.bytes+n > c.allowed() {
		return
	}
	c.mu.byKey[location] = c.mu.order.PushFront(&cached{location, bytes.Clone(data)})
	c.mu.bytes += n
	c.account.Add(n)
}

// allowed is what the cache may hold now: with little memory left for others, less than its limit.
func (c *Cache) allowed() int64 { return min(c.limit, c.account.Allowed()) }

// evict drops the entry that was used least recently. The lock is held.
func (c *Cache) evict() {
	last := c.mu.order.Back()
	e := last.Value.(*cached)
	c.mu.order.Remove(last)
	delete(c.mu.byKey, e.location)
	c.mu.bytes -= int64(len(e.data))
	c.account.Add(-int64(len(e.data)))
}

// Close drops everything; the cache stays usable and keeps nothing. Idempotent.
func (c *Cache) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.mu.order.Len() > 0 {
		c.evict()
	}
	c.mu.byKey = nil
	c.account.Close()
}
