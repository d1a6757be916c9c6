package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
)

// maxListBytes bounds a manifest list or manifest.
const maxListBytes = 64 << 20

// run is one range over the tasks of a plan: the machine and the reads in flight.
type run struct {
	c      *Config
	report *Report
	m      *machine
	reads  map[int]*read // by manifest, those between the window's head and next
	waited bool          // for the manifest at the head
}

// read is one object on its way, or at hand.
type read struct {
	pending object.Pending // nil = from the cache
	data    []byte
}

func (r *run) start(ctx context.Context) error {
	var files []manifest.File
	var err error
	if r.c.Appends != nil {
		files, err = r.appended(ctx)
	} else {
		files, err = r.list(ctx, r.c.Snapshot)
	}
	if err != nil {
		return err
	}
	r.m, r.reads = newMachine(r.c, r.report), map[int]*read{}
	r.m.start(files)
	return nil
}

// list reads the manifest list, or names the manifests that a snapshot of version 1 carries itself.
func (r *run) list(ctx context.Context, s *meta.Snapshot) ([]manifest.File, error) {
	if s.ManifestList == "" {
		files := make([]manifest.File, len(s.Manifests))
		for i, path := range s.Manifests {
			files[i] = manifest.Inline(path)
		}
		return files, nil
	}
	if s.KeyID != "" {
		return nil, &meta.UnsupportedError{Ability: "encrypted manifest lists", Where: s.ManifestList}
	}
	rd, err := r.fetch(ctx, s.ManifestList)
	if err != nil {
		return nil, r.c.wrap(err, "manifest list")
	}
	defer rd.release()
	data, _, err := rd.await(ctx, r.c.Cache, s.ManifestList)
	if err != nil {
		return nil, r.c.wrap(err, "manifest list")
	}
	return manifest.ReadList(data, s.ManifestList)
}

// appended lists the manifests that the append snapshots added. A list that is gone, or an append that brought deletes, is
// not incremental.
func (r *run) appended(ctx context.Context) ([]manifest.File, error) {
	var out []manifest.File
	for _, s := range r.c.Appends {
		files, err := r.list(ctx, s)
		if errors.Is(err, object.ErrNotFound) {
			return nil, fmt.Errorf("%w: %w", ErrNotIncremental, err)
		}
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			switch {
			case f.AddedSnapshot != s.ID:
			case f.Deletes:
				return nil, fmt.Errorf("%w: snapshot %d, an append, added deletes", ErrNotIncremental, s.ID)
			default:
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// fetch asks for an object, without waiting. The length that a list records is only a hint: some writers get it wrong, so
// the object is read whole.
func (r *run) fetch(ctx context.Context, path string) (*read, error) {
	if data, ok := r.c.Cache.get(path); ok {
		return &read{data: data}, nil
	}
	loc, err := object.ParseLocation(path)
	if err != nil {
		return nil, err
	}
	return &read{pending: r.c.Fetcher.Fetch(ctx, loc, object.Range{Len: -1}, object.ReadOptions{Limit: maxListBytes, Immutable: true})}, nil
}

// await waits for the bytes, which are valid until release.
func (rd *read) await(ctx context.Context, cache *Cache, path string) (data []byte, waited bool, err error) {
	if rd.pending == nil {
		return rd.data, false, nil
	}
	if p, ok := rd.pending.(interface{ Ready() bool }); !ok || !p.Ready() {
		waited = true
	}
	if data, _, err = rd.pending.Await(ctx); err == nil {
		cache.put(path, data)
	}
	return data, waited, err
}

func (rd *read) release() {
	if rd.pending != nil {
		rd.pending.Release()
	}
}

// next pulls from the machine, and feeds it.
func (r *run) next(ctx context.Context) (t Metered, more bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return t, false, object.ContextError(ctx)
		}
		t, s, err := r.m.pull()
		if err != nil {
			return t, false, err
		}
		switch s {
		case stepTask:
			return t, true, nil
		case stepEnd:
			return t, false, nil
		case stepUsed:
			r.reads[r.m.win.head].release()
			delete(r.reads, r.m.win.head)
			r.m.win.used(r.waited)
			err = r.request(ctx)
		case stepWait:
			if err = r.request(ctx); err == nil {
				err = r.feed(ctx)
			}
		}
		if err != nil {
			return t, false, err
		}
	}
}

// request asks for all manifests that the window admits.
func (r *run) request(ctx context.Context) error {
	for {
		i, ok := r.m.win.admit()
		if !ok {
			return nil
		}
		f := &r.m.files[i]
		if f.Encrypted {
			return &meta.UnsupportedError{Ability: "encrypted manifests", Where: f.Path}
		}
		rd, err := r.fetch(ctx, f.Path)
		if err != nil {
			return r.c.wrap(err, "manifest")
		}
		r.reads[i] = rd
	}
}

// feed waits for the manifest at the head and gives it to the machine.
func (r *run) feed(ctx context.Context) error {
	i := r.m.win.head
	f, rd := &r.m.files[i], r.reads[i]
	data, waited, err := rd.await(ctx, r.c.Cache, f.Path)
	if err != nil {
		return r.c.wrap(err, "manifest")
	}
	r.waited = waited
	r.report.fetched(len(data), rd.pending == nil, waited)
	return r.m.arrive(data)
}

// close drops what is in flight.
func (r *run) close() {
	for _, rd := range r.reads {
		rd.release()
	}
}
