package lakescan

import (
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/file"
	"github.com/lakescan/lakescan/object/s3"
)

// cacheBytes is what one table keeps of footers, manifests and small files; the budget is charged.
const cacheBytes = 32 << 20

// newStore builds the store of one table, outermost first: Mapped → Cached → Retry → Metered → Mux → s3 | file. creds are the table's keys, nil =
// the catalog gave none. All stores share one transport, so connections are kept across tables.
func (c *Client) newStore(creds object.Credentials) (object.Store, error) {
	levels := []object.Credentials{object.Static(c.cfg.S3.Access)}
	if creds != nil {
		levels = append(levels, creds)
	}
	if c.cfg.S3.Fallback != nil {
		levels = append(levels, c.cfg.S3.Fallback)
	}
	remote, err := s3.New(s3.Config{Credentials: object.Layered(levels...), Transport: c.transport, UserAgent: c.cfg.S3.UserAgent})
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
		cache := object.Cached(s, object.CacheConfig{MaxBytes: cacheBytes, Charge: c.prefetch.Add, Meter: c.meter})
		c.mu.Lock()
		c.mu.caches = append(c.mu.caches, cache)
		c.mu.Unlock()
		s = cache
	}
	if len(c.cfg.Map) > 0 {
		s = object.Mapped(s, c.cfg.Map)
	}
	return s, nil
}
