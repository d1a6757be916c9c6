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
	tasks  uint          // given out
	spare  *unpacking    // memory for the next
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
	rd, err := r.fetch(ctx, s.ManifestList, false)
	if err != nil {
		return nil, r.c.wrap(err, "manifest list")
	}
	defer func() { rd.release() }()
	data, _, err := r.await(ctx, &rd)
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

// fetch asks for an object, without waiting, unless it is at hand or another plan reads it already. alone: that one is not waited
// for. The length that a list records is only a hint: some writers get it wrong, so the object is read whole.
func (r *run) fetch(ctx context.Context, path string, alone bool) (*read, error) {
	loc, err := object.ParseLocation(path)
	if err != nil {
		return nil, err
	}
	rd := &read{path: path, cache: r.c.Cache}
	if rd.data, rd.flight, rd.owner = r.c.Cache.join(path, alone); rd.owner {
		rd.flight.pending = r.c.Fetcher.Fetch(ctx, loc, object.Range{Len: -1}, object.ReadOptions{Limit: maxListBytes, Immutable: true})
		rd.flight.pass()
	}
	return rd, nil
}

// await waits for the bytes of a read, which are valid until its release. Where another plan's read failed, *rd becomes one of
// its own.
func (r *run) await(ctx context.Context, rd **read) (data []byte, waited bool, err error) {
	data, waited, again, err := (*rd).await(ctx)
	if !again {
		return data, waited, err
	}
	own, err := r.fetch(ctx, (*rd).path, true)
	if err != nil {
		return nil, true, err
	}
	*rd = own
	data, _, _, err = own.await(ctx)
	return data, true, err
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
			r.unpackAhead(ctx)
			return t, true, nil
		case stepEnd:
			return t, false, nil
		case stepUsed:
			r.drop(r.m.win.head)
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
		rd, err := r.fetch(ctx, f.Path, false)
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
	data, waited, err := r.await(ctx, &rd)
	r.reads[i] = rd
	if err != nil {
		return r.c.wrap(err, "manifest")
	}
	r.waited = waited
	r.report.fetched(len(data), rd.fromMemory(), waited)
	if rd.unpacked == nil {
		return r.m.arrive(data, f, nil)
	}
	rd.unpacked.wait()
	return r.m.arrive(data, f, &rd.unpacked.blocks)
}

// close drops what is in flight.
func (r *run) close() {
	for _, rd := range r.reads {
		rd.release()
	}
}
