package meta

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Selection is what a Version means for one table.
type Selection struct {
	Snapshot *Snapshot // nil = the table has no snapshot: zero rows
	Schema   *Schema
	Ref      string // the branch or tag asked for, main by default; empty for a snapshot id and a time
}

// Select resolves a version. The current snapshot and branches read with the table's current schema; a snapshot id, a tag
// and a time read with the snapshot's schema (case L17). Errors are ErrNoSuchSnapshot, ErrNoSuchRef or ErrInvalidMetadata.
//
// A document loaded without all snapshots may answer ErrNoSuchSnapshot for one that exists.
func (m *Metadata) Select(v Version) (Selection, error) {
	if err := v.Validate(); err != nil {
		return Selection{}, err
	}
	switch {
	case v.Snapshot != 0:
		return m.pinned(v.Snapshot, "")
	case !v.AsOf.IsZero():
		id, err := m.asOf(v.AsOf)
		if err != nil {
			return Selection{}, err
		}
		return m.pinned(id, "")
	}
	name := v.Ref
	if name == "" {
		name = MainBranch
	}
	if name == MainBranch && !m.HasSnapshot {
		return Selection{Schema: m.Current(), Ref: name}, nil
	}
	ref, ok := m.Refs[name]
	if !ok {
		return Selection{}, fmt.Errorf("%w: %q", ErrNoSuchRef, name)
	}
	if ref.Tag {
		return m.pinned(ref.Snapshot, name)
	}
	s, err := m.Snapshot(ref.Snapshot)
	if err != nil {
		return Selection{}, fmt.Errorf("branch %q: %w", name, err)
	}
	return Selection{Snapshot: s, Schema: m.Current(), Ref: name}, nil
}

func (m *Metadata) pinned(id int64, ref string) (Selection, error) {
	s, err := m.Snapshot(id)
	if err != nil {
		return Selection{}, err
	}
	schema := m.Current()
	if s.SchemaID >= 0 {
		if schema = m.Schema(s.SchemaID); schema == nil {
			return Selection{}, Invalidf(m.File, "snapshot %d has schema %d, which is not among the schemas", id, s.SchemaID)
		}
	}
	return Selection{Snapshot: s, Schema: schema, Ref: ref}, nil
}

// asOf finds the snapshot that was current at t: by the log, or without a log by the ancestors of the current snapshot.
func (m *Metadata) asOf(t time.Time) (int64, error) {
	log, err := m.SnapshotLog()
	if err != nil {
		return 0, err
	}
	if len(log) == 0 {
		if log, err = m.ancestry(); err != nil {
			return 0, err
		}
	}
	for _, e := range slices.Backward(log) {
		if e.Time.After(t) {
			continue
		}
		if _, err := m.Snapshot(e.Snapshot); errors.Is(err, ErrNoSuchSnapshot) {
			return 0, fmt.Errorf("%w: snapshot %d, current at %s, has expired; %s", ErrNoSuchSnapshot, e.Snapshot, stamp(t), m.oldest(log))
		}
		return e.Snapshot, nil
	}
	return 0, fmt.Errorf("%w: the table had none at %s; %s", ErrNoSuchSnapshot, stamp(t), m.oldest(log))
}

// ancestry is the log that the parents of the current snapshot amount to, oldest first.
func (m *Metadata) ancestry() ([]LogEntry, error) {
	var log []LogEntry
	seen := map[int64]bool{}
	for id := m.CurrentSnapshot; m.HasSnapshot && id != 0 && !seen[id]; {
		seen[id] = true
		s, err := m.Snapshot(id)
		if errors.Is(err, ErrNoSuchSnapshot) {
			break
		}
		if err != nil {
			return nil, err
		}
		log = append(log, LogEntry{s.ID, s.Time})
		id = s.Parent
	}
	slices.Reverse(log)
	return log, nil
}

// oldest says from when on time travel works.
func (m *Metadata) oldest(log []LogEntry) string {
	for _, e := range log {
		if _, err := m.Snapshot(e.Snapshot); err == nil {
			return "the oldest time that works is " + stamp(e.Time)
		}
	}
	return "no snapshot is left"
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
