package commit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lakescan/lakescan/failpoints"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
)

// Places where tests break a commit.
var (
	fpWrite  = failpoints.New("iceberg/commit_write")  // before a manifest or list is written
	fpPost   = failpoints.New("iceberg/commit_post")   // before the request
	fpAnswer = failpoints.New("iceberg/commit_answer") // after the answer
)

const (
	rounds       = 4                // of a commit that meets conflicts
	asks         = 5                // looks for the outcome of a request whose answer was lost
	afterwards   = 30 * time.Second // for learning and cleaning up when the caller's context has ended
	pauseFirst   = 100 * time.Millisecond
	pauseMax     = 2 * time.Second
	maxListBytes = 64 << 20
)

// outcome is how to tell whether a request was carried out, and whether it still can be.
type outcome struct {
	landed  func(*meta.Metadata) bool
	barred  func(*meta.Metadata) bool // its requirements fail by now; nil = they cannot
	creates bool                      // the table need not exist
}

// post sends the request and does not rest before its outcome is known: metadata, a definite error, or an *UnknownError.
func (t *Table) post(ctx context.Context, rq request, o outcome) (*meta.Metadata, error) {
	body, err := rq.bytes()
	if err != nil {
		return nil, err
	}
	if err := fpPost.Do(ctx); err != nil {
		return nil, err
	}
	m, err := t.send(ctx, body)
	for n := 1; lost(ctx, err); n++ {
		if n > asks {
			return nil, &UnknownError{Ident: t.Ident, Err: err}
		}
		m, err = t.settle(ctx, body, o, err, n)
	}
	return m, err
}

// send posts once. What is returned with a nil error was answered.
func (t *Table) send(ctx context.Context, body []byte) (*meta.Metadata, error) {
	m, err := t.Backend.Post(ctx, t.Ident, body)
	if ferr := fpAnswer.Do(ctx); ferr != nil {
		return nil, fmt.Errorf("%w: %w", meta.ErrCommitUnknown, ferr)
	}
	return m, err
}

// lost: the request may have been carried out. A caller whose context ends has not learnt it either.
func lost(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, meta.ErrCommitUnknown) || ctx.Err() != nil && !definite(err))
}

// definite answers come from the catalog.
func definite(err error) bool {
	for _, class := range []error{meta.ErrConflict, meta.ErrDenied, meta.ErrNoSuchTable, meta.ErrNoSuchNamespace, meta.ErrUnsupported} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// settle looks at the table once. As long as the request can still land it is sent again: a snapshot has the same id, so of
// two requests only one can meet its requirements, and statistics and properties are the same twice.
func (t *Table) settle(ctx context.Context, body []byte, o outcome, cause error, n int) (*meta.Metadata, error) {
	look := ctx
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		look, cancel = context.WithTimeout(context.WithoutCancel(ctx), afterwards)
		defer cancel()
	}
	if err := pause(look, n); err != nil {
		return nil, cause
	}
	m, err := t.Backend.Load(look, t.Ident, true)
	switch {
	case err == nil && o.landed(m):
		return m, nil
	case err == nil && (o.creates || o.barred != nil && o.barred(m)):
		return nil, fmt.Errorf("%w: another commit came first", meta.ErrConflict)
	case err != nil && !(o.creates && errors.Is(err, meta.ErrNoSuchTable)):
		return nil, cause
	}
	if ctx.Err() != nil {
		return nil, cause
	}
	m, err = t.send(ctx, body)
	if err != nil && !errors.Is(err, meta.ErrConflict) && !errors.Is(err, meta.ErrCommitUnknown) {
		return nil, fmt.Errorf("%w: %w", cause, err) // of the second request; the first may still land
	}
	if errors.Is(err, meta.ErrConflict) {
		return nil, fmt.Errorf("%w: %w", meta.ErrCommitUnknown, err) // perhaps with the first: look again
	}
	return m, err
}

// moved: main is not where base has it, so a request that requires that can no longer succeed.
func moved(base, m *meta.Metadata) bool {
	a, ok1 := head(base)
	b, ok2 := head(m)
	return ok1 != ok2 || ok1 && a != b || base.UUID != m.UUID || base.CurrentSchemaID != m.CurrentSchemaID
}

// pause before round n+1, with jitter.
func pause(ctx context.Context, n int) error {
	timer := time.NewTimer(rand.N(min(pauseMax, pauseFirst<<n)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// manifestsOf reads the manifest list of main; none if the table has no snapshot.
func (t *Table) manifestsOf(ctx context.Context, m *meta.Metadata) ([]manifest.File, error) {
	id, ok := head(m)
	if !ok {
		return nil, nil
	}
	s, err := m.Snapshot(id)
	if err != nil {
		return nil, err
	}
	if s.ManifestList == "" {
		return nil, unsupported("committing on top of a snapshot without a manifest list", t.Ident)
	}
	data, err := t.get(ctx, s.ManifestList)
	if err != nil {
		return nil, err
	}
	files, err := manifest.ReadList(data, s.ManifestList)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Encrypted {
			return nil, unsupported("committing on top of encrypted manifests", t.Ident)
		}
		if min(f.AddedFiles, f.ExistingFiles, f.DeletedFiles, f.AddedRows, f.ExistingRows, f.DeletedRows, f.Length) < 0 {
			return nil, unsupported("committing on top of manifests of format version 1 without counts", t.Ident)
		}
	}
	return files, nil
}

func (t *Table) get(ctx context.Context, location string) ([]byte, error) {
	loc, err := object.ParseLocation(location)
	if err != nil {
		return nil, err
	}
	b, _, err := t.Store.Read(ctx, loc, object.Whole, nil, object.ReadOptions{Limit: maxListBytes})
	return b, err
}

func (t *Table) put(ctx context.Context, loc object.Location, b []byte) error {
	if err := fpWrite.Do(ctx); err != nil {
		return err
	}
	u, err := t.Store.(object.Writer).Create(ctx, loc, "")
	if err != nil {
		return err
	}
	defer u.Abort()
	if _, err := u.Write(b); err != nil {
		return err
	}
	_, err = u.Commit(ctx)
	return err
}

// remove deletes files that nobody names, also after the caller's context has ended. What cannot be deleted is left to the
// table's orphan removal.
func (t *Table) remove(ctx context.Context, locations []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	for _, s := range locations {
		loc, err := object.ParseLocation(s)
		if err == nil {
			err = t.Store.(object.Writer).Delete(ctx, loc)
		}
		if err != nil {
			t.log().Warn("a file of a failed commit stays behind", "file", s, "err", err)
		}
	}
}
