package plan

import (
	"context"
	"io"
	"iter"

	"github.com/lakescan/lakescan/iceberg/manifest"
)

// Live is one live file of a snapshot with the manifest that lists it. Both are valid until the next step.
type Live struct {
	Manifest *manifest.File
	Spec     int
	*manifest.Entry
}

// Entries ranges over all live files of the snapshot, data and deletes, in the order of the list, with what p asks for. It is
// lazy as Tasks is; lazy says that the consumer may stop early. After an error nothing follows.
func (c *Config) Entries(ctx context.Context, p manifest.Projection, lazy bool) iter.Seq2[Live, error] {
	return func(yield func(Live, error) bool) {
		if c.Snapshot == nil {
			return
		}
		r := run{c: c, report: &Report{}, reads: map[int]*read{}}
		defer r.close()
		if err := r.entries(ctx, p, lazy, yield); err != nil {
			yield(Live{}, err)
		}
	}
}

func (r *run) entries(ctx context.Context, p manifest.Projection, lazy bool, yield func(Live, error) bool) error {
	files, err := r.list(ctx, r.c.Snapshot)
	if err != nil {
		return err
	}
	lengths := make([]int64, 0, len(files))
	kept := files[:0]
	for _, f := range files {
		if !f.NoLiveFiles() {
			kept, lengths = append(kept, f), append(lengths, f.Length)
		}
	}
	r.m = &machine{files: kept, win: newWindow(lengths, 0, lazy)}
	decoder := manifest.NewDecoder(r.c.Table, p)
	for !r.m.win.drained() {
		if err := r.request(ctx); err != nil {
			return err
		}
		i := r.m.win.head
		rd := r.reads[i]
		data, waited, err := r.await(ctx, &rd)
		r.reads[i] = rd
		if err != nil {
			return r.c.wrap(err, "manifest")
		}
		more, err := liveFiles(decoder, data, &kept[i], yield)
		if err != nil || !more {
			return err
		}
		r.drop(i)
		r.m.win.used(waited)
	}
	return nil
}

// liveFiles yields those of one manifest; more is false if the consumer stopped.
func liveFiles(d *manifest.Decoder, data []byte, f *manifest.File, yield func(Live, error) bool) (more bool, err error) {
	reader, err := d.Open(data, f, nil)
	if err != nil {
		return false, err
	}
	for {
		e, err := reader.Next()
		switch {
		case err == io.EOF:
			return true, nil
		case err != nil:
			return false, err
		case !yield(Live{f, reader.Spec().ID, e}, nil):
			return false, nil
		}
	}
}
