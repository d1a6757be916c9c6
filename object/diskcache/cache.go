package diskcache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lakescan/lakescan/object"
)

// Config of a cache. Sizes are in bytes.
type Config struct {
	Dir      string // made if it is missing, with mode 0700
	MaxBytes int64  // of all entries; 0 = 1 GiB
	MaxEntry int64  // longest answer kept; 0 = 16 MiB
	Logger   *slog.Logger
}

// Defaults of Config.
const (
	DefaultMaxBytes = 1 << 30
	DefaultMaxEntry = 16 << 20
)

// Validate reports every fault at once.
func (c Config) Validate() error {
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("diskcache: Dir is empty"))
	}
	if c.MaxBytes < 0 || c.MaxEntry < 0 {
		errs = append(errs, errors.New("diskcache: negative size"))
	}
	return errors.Join(errs...)
}

// Stats are counters since Open, of this process.
type Stats struct {
	Hits, Misses     int64 // reads that could be answered from disk, and those of them that were not there
	HitBytes         int64
	Written          int64 // entries
	WrittenBytes     int64
	Evicted, Corrupt int64 // entries removed for room, and for a wrong checksum
	Failed           int64 // entries not kept because of a failure of the disk
}

// Cache is a directory of entries. Open makes it; Over puts it over a store.
type Cache struct {
	cfg  Config
	root string // DIR/v1

	hits, misses, hitBytes, written, writtenBytes, evicted, corrupt, failed atomic.Int64

	mu struct {
		sync.Mutex
		counted  bool  // the directory was looked at
		used     int64 // bytes in it, as far as known
		since    int64 // written since it was looked at
		evicting bool
		off      time.Time // no writing before
	}
}

// Open prepares the directory. A directory that cannot be one is an error; a full disk is not.
func Open(cfg Config) (*Cache, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	if cfg.MaxEntry == 0 {
		cfg.MaxEntry = DefaultMaxEntry
	}
	cfg.MaxEntry = min(cfg.MaxEntry, cfg.MaxBytes/4)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cache{cfg: cfg, root: filepath.Join(cfg.Dir, "v1")}
	if err := os.MkdirAll(c.temp(), 0o700); err != nil && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EROFS) {
		return nil, fmt.Errorf("diskcache: %w", err)
	}
	c.sweep()
	return c, nil
}

func (c *Cache) temp() string { return filepath.Join(c.root, "tmp") }

// abandoned is the age at which a temporary file belongs to nobody any more.
const abandoned = time.Hour

// sweep removes what processes that were killed left half-written.
func (c *Cache) sweep() {
	list, err := os.ReadDir(c.temp())
	if err != nil {
		return
	}
	for _, e := range list {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(c.temp(), e.Name())) // another process may have been faster
		}
	}
}

// Stats takes a snapshot.
func (c *Cache) Stats() Stats {
	return Stats{
		Hits: c.hits.Load(), Misses: c.misses.Load(), HitBytes: c.hitBytes.Load(), Written: c.written.Load(), WrittenBytes: c.writtenBytes.Load(),
		Evicted: c.evicted.Load(), Corrupt: c.corrupt.Load(), Failed: c.failed.Load(),
	}
}

// Purge removes every entry.
func (c *Cache) Purge() error {
	c.mu.Lock()
	c.mu.counted = false
	c.mu.Unlock()
	list, err := os.ReadDir(c.root)
	if err != nil {
		return fmt.Errorf("diskcache: %w", err)
	}
	for _, e := range list {
		if e.Name() != "tmp" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(c.root, e.Name())))
		}
	}
	return err
}

// Scope names the store that a location is opened at, such as its endpoint: equal paths of two stores are two objects. false = unknown, and the
// cache is not asked.
type Scope func(ctx context.Context, loc object.Location) (string, bool)

// Over puts the cache over a store. It lies below memory caches and above what repeats requests.
func (c *Cache) Over(s object.Store, scope Scope) object.Store { return &store{c, s, scope} }

type store struct {
	cache *Cache
	below object.Store
	scope Scope
}

// AtHand speaks for the store below: whether an entry is on disk is known when it is read.
func (s *store) AtHand(loc object.Location, r object.Range, o object.ReadOptions) bool {
	return object.AtHand(s.below, loc, r, o)
}

// Read answers from disk if the read is pinned and an entry covers it, else it asks the store and keeps what that says.
func (s *store) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	c := s.cache
	if r.Check() != nil || !o.Pinned() || r.Known() && r.Len > c.cfg.MaxEntry {
		return s.below.Read(ctx, loc, r, dst, o)
	}
	scope, ok := s.scope(ctx, loc)
	if !ok {
		return s.below.Read(ctx, loc, r, dst, o)
	}
	k := keyOf(scope, loc)
	if data, info, ok := c.find(k, r, dst, o); ok {
		c.hits.Add(1)
		c.hitBytes.Add(int64(len(data)))
		info.Location = loc
		return data, info, nil
	}
	c.misses.Add(1)
	data, info, err := s.below.Read(ctx, loc, r, dst, o)
	switch {
	case err == nil:
		c.keep(ctx, k, r, data, info)
	case errors.Is(err, object.ErrChanged), errors.Is(err, object.ErrNotFound):
		c.drop(k)
	}
	return data, info, err
}

// List is the store's.
func (s *store) List(ctx context.Context, prefix object.Location) iter.Seq2[object.Info, error] {
	return object.ListOf(ctx, s.below, prefix)
}

// Delete forgets the object.
func (s *store) Delete(ctx context.Context, loc object.Location) error {
	defer s.forget(ctx, loc)
	return object.DeleteIn(ctx, s.below, loc)
}

// Create forgets the object once the upload is committed.
func (s *store) Create(ctx context.Context, loc object.Location, ifMatch string) (object.Upload, error) {
	u, err := object.CreateIn(ctx, s.below, loc, ifMatch)
	if err != nil {
		return nil, err
	}
	return upload{u, s, loc}, nil
}

type upload struct {
	object.Upload
	s   *store
	loc object.Location
}

func (u upload) Commit(ctx context.Context) (object.Info, error) {
	defer u.s.forget(ctx, u.loc)
	return u.Upload.Commit(ctx)
}

func (s *store) forget(ctx context.Context, loc object.Location) {
	if scope, ok := s.scope(ctx, loc); ok {
		s.cache.drop(keyOf(scope, loc))
	}
}

// drop removes all entries of an object.
func (c *Cache) drop(k key) {
	if err := os.RemoveAll(c.folder(k)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.cfg.Logger.Debug("disk cache: cannot remove", "folder", c.folder(k), "error", err)
	}
}
