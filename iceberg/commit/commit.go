package commit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
)

// Table is where commits go. It keeps no state: every commit begins with the metadata it is given.
type Table struct {
	Backend meta.Backend
	Ident   meta.Ident
	Store   object.Store // an object.Writer too, for commits of data
	Logger  *slog.Logger // nil = silent
}

// For is the target of a loaded table.
func For(t *iceberg.Table) *Table {
	return &Table{Backend: t.Backend(), Ident: t.Ident(), Store: t.Store()}
}

func (t *Table) log() *slog.Logger {
	if t.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return t.Logger
}

// Change is a new snapshot of main.
type Change struct {
	Operation string // append, overwrite, replace, delete; "" = append, or overwrite if files are removed
	Add       []DataFile
	Remove    []string // recorded paths of data files, which must still be live and without new deletes
	RemoveAll bool     // all data files and all deletes, whatever they are by then
	Summary   map[string]string
	// Properties are set with the same commit.
	Properties map[string]string
	// Holds is asked before each further round whether the commit still makes sense on the table as it is then; its error
	// ends the commit. nil = it always does.
	Holds func(context.Context, *meta.Metadata) error
}

func (c Change) operation() string {
	switch {
	case c.Operation != "":
		return c.Operation
	case c.RemoveAll || len(c.Remove) > 0:
		return "overwrite"
	}
	return "append"
}

// Result of a commit.
type Result struct {
	Metadata *meta.Metadata
	Snapshot int64
	Rounds   int // 1 = without a conflict
}

// Commit publishes the change on top of base, or on top of what the table has become meanwhile. On an error other than
// *UnknownError nothing was published, and the files that this package wrote are deleted; those of the change stay.
func (t *Table) Commit(ctx context.Context, base *meta.Metadata, c Change) (*Result, error) {
	p, err := t.newPublish(base, c)
	if err != nil {
		return nil, err
	}
	return p.run(ctx, base)
}

func (t *Table) newPublish(base *meta.Metadata, c Change) (*publish, error) {
	if err := t.writable(base); err != nil {
		return nil, err
	}
	if _, ok := t.Store.(object.Writer); !ok {
		return nil, unsupported("writing to the table's store", t.Ident)
	}
	if c.RemoveAll && len(c.Remove) > 0 {
		return nil, errors.New("commit: Remove and RemoveAll exclude each other")
	}
	id := rand.Int64N(1<<62) + 1
	return &publish{t: t, change: c, snapshot: id, files: newManifests(t, c, id)}, nil
}

// writable refuses versions whose rules for data this package does not know: version 1 has no sequence numbers.
func (t *Table) writable(m *meta.Metadata) error {
	switch {
	case m.FormatVersion != 2 && m.FormatVersion != 3:
		return unsupported(fmt.Sprintf("committing data to format version %d", m.FormatVersion), t.Ident)
	case m.FormatVersion == 3 && m.NextRowID < 0:
		return meta.Invalidf(m.File, "format version 3 without next-row-id")
	}
	return nil
}

// publish is one commit on its way. The snapshot has the same id in every round, so that it can be looked for.
type publish struct {
	t        *Table
	change   Change
	snapshot int64
	files    *manifests
	creates  []jsonMap // updates of the table that this commit creates; nil = it exists
}

func (p *publish) run(ctx context.Context, base *meta.Metadata) (*Result, error) {
	for round := 1; ; round++ {
		m, err := p.try(ctx, base, round)
		if err == nil {
			return &Result{m, p.snapshot, round}, nil
		}
		if round >= rounds || !again(err) {
			return nil, p.fail(ctx, err)
		}
		p.t.log().Info("commit met another, trying again", "table", p.t.Ident.String(), "round", round, "err", err)
		if err := pause(ctx, round); err != nil {
			return nil, p.fail(ctx, err)
		}
		next, err := p.reload(ctx)
		switch {
		case err != nil:
			return nil, p.fail(ctx, err)
		case next == nil: // the table that this commit creates is still to come
		case p.landed(next):
			return &Result{next, p.snapshot, round}, nil
		default:
			base = next
		}
	}
}

// again: another round may do better.
func again(err error) bool {
	return !errors.Is(err, ErrStale) && !errors.Is(err, meta.ErrCommitUnknown) && (errors.Is(err, meta.ErrConflict) || errors.Is(err, meta.ErrUnavailable))
}

// try is one round: list, request, and certainty about its outcome.
func (p *publish) try(ctx context.Context, base *meta.Metadata, round int) (*meta.Metadata, error) {
	if err := p.t.writable(base); err != nil {
		return nil, err // another has raised the version meanwhile
	}
	sequence := base.LastSequence + 1
	list, err := p.files.list(ctx, base, sequence, round)
	if err != nil {
		return nil, err
	}
	snapshot, err := p.describe(base, list, sequence)
	if err != nil {
		return nil, err
	}
	rq := request{
		Requirements: []jsonMap{assertUUID(base), assertHead(base), assertSchema(base)},
		Updates:      []jsonMap{{"action": "add-snapshot", "snapshot": snapshot}, setMain(base, p.snapshot)},
	}
	if p.creates != nil {
		rq.Requirements = []jsonMap{{"type": "assert-create"}}
		rq.Updates = append(p.creates[:len(p.creates):len(p.creates)], rq.Updates...)
	}
	if len(p.change.Properties) > 0 {
		rq.Updates = append(rq.Updates, setProperties(p.change.Properties))
	}
	return p.t.post(ctx, rq, outcome{landed: p.landed, barred: func(m *meta.Metadata) bool { return moved(base, m) }, creates: p.creates != nil})
}

// landed says whether the table has the snapshot.
func (p *publish) landed(m *meta.Metadata) bool {
	s, err := m.Snapshot(p.snapshot)
	return err == nil && s != nil
}

// reload brings the table for another round, having asked whether the commit still makes sense on it.
func (p *publish) reload(ctx context.Context) (*meta.Metadata, error) {
	if p.creates != nil {
		m, err := p.t.Backend.Load(ctx, p.t.Ident, true)
		switch {
		case errors.Is(err, meta.ErrNoSuchTable):
			return nil, nil
		case err == nil && !p.landed(m):
			return nil, fmt.Errorf("%w: another created the table", ErrStale)
		}
		return m, err
	}
	m, err := p.t.Backend.Load(ctx, p.t.Ident, true)
	if err != nil || p.landed(m) {
		return m, err
	}
	if len(p.change.Remove) > 0 {
		if err := p.noNewDeletes(ctx, m); err != nil {
			return nil, err
		}
	}
	if p.change.Holds != nil {
		if err := p.change.Holds(ctx, m); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrStale, err)
		}
	}
	return m, nil
}

// noNewDeletes: rows deleted since the removed files were read would come back in the files that replace them.
func (p *publish) noNewDeletes(ctx context.Context, m *meta.Metadata) error {
	files, err := p.t.manifestsOf(ctx, m)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Deletes && !p.files.deletes[f.Path] {
			return fmt.Errorf("%w: rows were deleted meanwhile (manifest %s)", ErrStale, f.Path)
		}
	}
	return nil
}

// describe makes the snapshot of the request.
func (p *publish) describe(base *meta.Metadata, list listed, sequence int64) (jsonMap, error) {
	at := max(time.Now().UnixMilli(), base.LastUpdated.UnixMilli()+1)
	summary := map[string]string{"operation": p.change.operation()}
	var added removed
	for _, d := range p.change.Add {
		added.add(removed{1, d.Rows, d.Size})
	}
	s := jsonMap{"snapshot-id": p.snapshot, "sequence-number": sequence, "timestamp-ms": at, "manifest-list": list.location, "schema-id": base.CurrentSchemaID, "summary": summary}
	if base.FormatVersion >= 3 {
		s["first-row-id"], s["added-rows"] = base.NextRowID, list.rowIDs
	}
	var before map[string]string
	if id, ok := head(base); ok {
		parent, err := base.Snapshot(id)
		if err != nil {
			return nil, err
		}
		s["parent-snapshot-id"] = id
		before = parent.Summary
	}
	counts(summary, before, added, list.gone, before == nil || p.change.RemoveAll)
	maps.Copy(summary, p.change.Summary)
	return s, nil
}

// counts fills in what a snapshot adds and removes, and the totals as far as the parent knows its own. fresh: nothing of the
// parent is left.
func counts(summary, before map[string]string, added, gone removed, fresh bool) {
	for _, c := range []struct {
		added, removed, total string
		plus, minus           int64
	}{
		{"added-data-files", "deleted-data-files", "total-data-files", added.files, gone.files},
		{"added-records", "deleted-records", "total-records", added.rows, gone.rows},
		{"added-files-size", "removed-files-size", "total-files-size", added.bytes, gone.bytes},
	} {
		if c.plus != 0 {
			summary[c.added] = strconv.FormatInt(c.plus, 10)
		}
		if c.minus != 0 {
			summary[c.removed] = strconv.FormatInt(c.minus, 10)
		}
		if fresh {
			summary[c.total] = strconv.FormatInt(c.plus, 10)
		} else if n, err := strconv.ParseInt(before[c.total], 10, 64); err == nil && n >= c.minus {
			summary[c.total] = strconv.FormatInt(n-c.minus+c.plus, 10)
		}
	}
	for _, k := range []string{"total-delete-files", "total-position-deletes", "total-equality-deletes"} {
		if fresh {
			summary[k] = "0"
		} else if v, ok := before[k]; ok {
			summary[k] = v
		}
	}
}

// fail ends the commit: after a definite failure nobody will name the files that were written for it.
func (p *publish) fail(ctx context.Context, err error) error {
	if unknown, ok := errors.AsType[*UnknownError](err); ok {
		unknown.Snapshot = p.snapshot
		unknown.Files = append(unknown.Files, p.files.written...)
		for _, d := range p.change.Add {
			unknown.Files = append(unknown.Files, d.Path)
		}
		return unknown
	}
	p.t.remove(ctx, p.files.written)
	return err
}
