package lakescan

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"weak"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/diskcache"
	"github.com/lakescan/lakescan/object/file"
	"github.com/lakescan/lakescan/object/s3"
)

// cacheBytes is what one table keeps of footers, manifests and small files; the budget is charged.
const cacheBytes = 32 << 20

// newStore builds the store of one table, outermost first: Mapped → Cached → disk cache → Retry → Metered → Mux → s3 | file. creds are the table's keys, nil =
// the catalog gave none. All stores share one transport, so connections are kept across tables.
func (c *Client) newStore(creds object.Credentials) (object.Store, error) {
	levels := []object.Credentials{object.Static(c.cfg.S3.Access)}
	if creds != nil {
		levels = append(levels, creds)
	}
	if c.cfg.S3.Fallback != nil {
		levels = append(levels, c.cfg.S3.Fallback)
	}
	keys := object.Layered(levels...)
	remote, err := s3.New(s3.Config{Credentials: keys, Transport: c.transport, UserAgent: c.cfg.S3.UserAgent})
	if err != nil {
		return nil, err
	}
	local, err := file.New(file.Config{})
	if err != nil {
		return nil, err
	}
	s := object.Mux(map[string]object.Store{"s3": remote, "s3a": remote, "s3n": remote, "file": local, "": local})
	s = object.Retry(object.Metered(s, c.meter), c.cfg.retry(c.meter))
	if !c.cfg.NoCache {
		if c.disk != nil {
			s = c.disk.Over(s, address(keys))
		}
		s = c.cached(s)
	}
	if len(c.cfg.Map) > 0 {
		s = object.Mapped(s, c.cfg.Map)
	}
	return s, nil
}

// address names the S3 service of a location, so that equal buckets of two services are not taken for one on disk. Local files are not kept.
func address(keys object.Credentials) diskcache.Scope {
	return func(ctx context.Context, loc object.Location) (string, bool) {
		switch loc.Scheme {
		case "s3", "s3a", "s3n":
		default:
			return "", false
		}
		a, err := keys.Access(ctx, loc, object.Access{})
		if err != nil {
			return "", false // the store says it better
		}
		return a.Endpoint, true
	}
}

// cached puts a cache over the store of one table. The cache lives as long as the table: a service that loads tables again and again must not collect
// caches, so the client knows them weakly, and what one held is given back to the budget when it is gone.
func (c *Client) cached(s object.Store) object.Store {
	held := new(atomic.Int64)
	prefetch := c.prefetch
	cache := object.Cached(s, object.CacheConfig{MaxBytes: cacheBytes, Meter: c.meter, Charge: func(delta int64) {
		held.Add(delta)
		prefetch.Add(delta)
	}})
	runtime.AddCleanup(cache, func(held *atomic.Int64) { prefetch.Add(-held.Swap(0)) }, held)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.caches = slices.DeleteFunc(c.mu.caches, func(k knownCache) bool { return k.Value() == nil && k.held.Load() == 0 })
	c.mu.caches = append(c.mu.caches, knownCache{weak.Make(cache), held})
	return cache
}

// knownCache is a cache, as long as somebody uses it, and what it has charged.
type knownCache struct {
	weak.Pointer[object.Cache]
	held *atomic.Int64
}

// purge empties the caches that are still there, and gives back for those that are dead and whose clean-up has not run yet.
func (c *Client) purge(caches []knownCache) {
	for _, k := range caches {
		if cache := k.Value(); cache != nil {
			cache.Purge()
		}
		c.prefetch.Add(-k.held.Swap(0))
	}
}
