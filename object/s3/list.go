package s3

import (
	"context"
	"errors"
	"iter"

	"github.com/minio/minio-go/v7"

	"github.com/lakescan/lakescan/object"
)

// List yields the objects whose key starts with the prefix's key, page by page (1,000 keys a request). A page that fails is asked
// for again, from the last key on, by the policy of the object.Retry above.
func (s *Store) List(ctx context.Context, prefix object.Location) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		l := listing{store: s, prefix: prefix, yield: yield}
		for !l.done {
			if err := object.Repeat(ctx, l.run); err != nil {
				if !l.done {
					yield(object.Info{Location: prefix, Size: -1}, err)
				}
				return
			}
		}
	}
}

type listing struct {
	store  *Store
	prefix object.Location
	yield  func(object.Info, error) bool
	after  string // the last key that was yielded
	done   bool
}

// run lists from after on. Once it made progress a temporary failure is no error: the caller runs it again, with
// all its attempts.
func (l *listing) run(ctx context.Context) error {
	progress := false
	err := l.store.call(ctx, "list", object.List, l.prefix, object.Range{}, func(ctx context.Context, c minio.Core, _ *exchange) error {
		noOwner := false
		for obj := range c.ListObjectsIter(ctx, l.prefix.Bucket, minio.ListObjectsOptions{
			Prefix: l.prefix.Key, Recursive: true, StartAfter: l.after, FetchOwner: &noOwner,
		}) {
			if obj.Err != nil {
				return obj.Err
			}
			progress, l.after = true, obj.Key
			if !l.yield(object.Info{Location: l.prefix.WithKey(obj.Key), Size: obj.Size, ETag: plainTag(obj.ETag), Modified: obj.LastModified}, nil) {
				break
			}
		}
		l.done = true
		return nil
	})
	if err != nil && progress && object.Temporary(err) && !errors.Is(err, object.ErrCorrupt) {
		return nil
	}
	return err
}
