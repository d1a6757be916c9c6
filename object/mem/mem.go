// Package mem is a store in memory, for tests, examples and generated data.
//
// Objects are immutable byte slices under their canonical location (s3, s3a and s3n name the same object); each write makes a new
// ETag. A Read copies under no lock. The zero value is not usable; New makes a Store, which is safe for concurrent use.
package mem

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lakescan/lakescan/object"
)

// Store holds objects in memory. It is an object.Store, Lister and Writer.
type Store struct {
	mu struct {
		sync.RWMutex
		objects map[string]entry // by canonical location
		version uint64
	}
}

type entry struct {
	data     []byte // never written again
	etag     string
	modified time.Time
}

// New makes an empty store.
func New() *Store {
	s := &Store{}
	s.mu.objects = map[string]entry{}
	return s
}

// Put stores a copy of data at a location in text form; it panics on a text that is no location, as a mistake of the test.
func (s *Store) Put(location string, data []byte) object.Info {
	loc, err := object.ParseLocation(location)
	if err != nil {
		panic(err)
	}
	return s.put(loc, bytes.Clone(data))
}

func (s *Store) put(loc object.Location, data []byte) object.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putLocked(loc, data)
}

func (s *Store) putLocked(loc object.Location, data []byte) object.Info {
	s.mu.version++
	e := entry{data: data, etag: fmt.Sprintf("mem-%d", s.mu.version), modified: time.Now()}
	s.mu.objects[loc.Canonical()] = e
	return e.info(loc)
}

func (e entry) info(loc object.Location) object.Info {
	return object.Info{Location: loc, Size: int64(len(e.data)), ETag: e.etag, Modified: e.modified}
}

func (s *Store) get(loc object.Location) (entry, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.mu.objects[loc.Canonical()]
	return e, ok
}

// AtHand is true.
func (s *Store) AtHand(object.Location, object.Range, object.ReadOptions) bool { return true }

// Read copies a range.
func (s *Store) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	fail := func(err error) ([]byte, object.Info, error) {
		return nil, object.Info{Location: loc, Size: -1}, object.Fail(ctx, "read", loc, r, err)
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	if err := r.Check(); err != nil {
		return fail(err)
	}
	e, ok := s.get(loc)
	if !ok {
		return fail(object.ErrNotFound)
	}
	info := e.info(loc)
	if err := o.Verify(info); err != nil {
		return fail(err)
	}
	off, n, err := r.Resolve(info.Size)
	if err != nil {
		return fail(err)
	}
	if err := o.Admit(r, n); err != nil {
		return fail(err)
	}
	out := object.Buffer(dst, n)
	copy(out, e.data[off:off+n])
	return out, info, nil
}

// List yields a snapshot taken when the iteration starts.
func (s *Store) List(ctx context.Context, prefix object.Location) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		for _, info := range s.match(prefix) {
			if err := ctx.Err(); err != nil {
				yield(object.Info{Location: prefix, Size: -1}, object.Fail(ctx, "list", prefix, object.Range{}, err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (s *Store) match(prefix object.Location) []object.Info {
	at := prefix.Canonical()
	base := strings.TrimSuffix(at, prefix.Key)
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []object.Info
	for k, e := range s.mu.objects {
		if strings.HasPrefix(k, at) {
			out = append(out, e.info(prefix.WithKey(strings.TrimPrefix(k, base))))
		}
	}
	slices.SortFunc(out, func(a, b object.Info) int { return strings.Compare(a.Location.Key, b.Location.Key) })
	return out
}

// Create collects the bytes and publishes them at Commit, where the condition is checked.
func (s *Store) Create(ctx context.Context, loc object.Location, ifMatch string) (object.Upload, error) {
	if err := ctx.Err(); err != nil {
		return nil, object.Fail(ctx, "create", loc, object.Range{}, err)
	}
	return &upload{store: s, ctx: ctx, loc: loc, ifMatch: ifMatch}, nil
}

// Delete removes an object; what is not there is no error.
func (s *Store) Delete(ctx context.Context, loc object.Location) error {
	if err := ctx.Err(); err != nil {
		return object.Fail(ctx, "delete", loc, object.Range{}, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.objects, loc.Canonical())
	return nil
}

type upload struct {
	store   *Store
	ctx     context.Context
	loc     object.Location
	ifMatch string
	data    []byte
	ended   bool
}

func (u *upload) Write(p []byte) (int, error) {
	if u.ended {
		return 0, u.fail(u.ctx, "write", object.ErrInvalid)
	}
	if err := u.ctx.Err(); err != nil {
		return 0, u.fail(u.ctx, "write", err)
	}
	u.data = append(u.data, p...)
	return len(p), nil
}

func (u *upload) Commit(ctx context.Context) (object.Info, error) {
	if u.ended {
		return object.Info{}, u.fail(ctx, "commit", object.ErrInvalid)
	}
	u.ended = true
	if err := ctx.Err(); err != nil {
		return object.Info{}, u.fail(ctx, "commit", err)
	}
	info, err := u.store.commit(u)
	u.data = nil
	return info, u.fail(ctx, "commit", err)
}

func (s *Store) commit(u *upload) (object.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.mu.objects[u.loc.Canonical()]
	if err := object.CheckCondition(u.ifMatch, exists, old.etag); err != nil {
		return object.Info{}, err
	}
	return s.putLocked(u.loc, u.data), nil
}

func (u *upload) Abort() { u.ended, u.data = true, nil }

func (u *upload) fail(ctx context.Context, op string, err error) error {
	return object.Fail(ctx, op, u.loc, object.Range{}, err)
}
