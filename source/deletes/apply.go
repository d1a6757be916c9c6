package deletes

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// Applied is what is gone from one data file. It belongs to one goroutine; what it shares with others is immutable.
type Applied struct {
	loader  *Loader
	target  Target
	deleted rowsel.Selection
	groups  []appliedGroup
	keys    []arrow.Field
	release []func() // each once, by Release
	held    int64
	done    bool
}

type appliedGroup struct {
	group   *Group
	leaves  []keyLeaf
	table   *keyTable
	columns []int // in Applied.keys, of each of the group's Key
}

// Deleted are the absolute positions that are gone; a selection of no rows if none is.
func (a *Applied) Deleted() rowsel.Selection { return a.deleted }

// Live are the others: the selection to decode.
func (a *Applied) Live() rowsel.Selection { return a.deleted.Not() }

// Keys are the columns that Mask needs, in the table's current types, some perhaps dropped from it since; nil = Mask need not
// be called. The slice is shared.
func (a *Applied) Keys() []arrow.Field { return a.keys }

// Mask sets the bit of each row (least significant first) that an equality delete removes, and returns the mask and how many
// bits it set anew. columns are those of Keys, all of the same length. dst keeps its other bits and grows as needed.
func (a *Applied) Mask(dst []byte, columns []arrow.Array) ([]byte, int64, error) {
	if len(a.groups) == 0 {
		return dst, 0, nil
	}
	if len(columns) != len(a.keys) {
		return dst, 0, fmt.Errorf("deletes: %d key columns given, %d needed", len(columns), len(a.keys))
	}
	rows := columns[0].Len()
	for need := (rows + 7) / 8; len(dst) < need; {
		dst = append(dst, 0)
	}
	var set int64
	for _, g := range a.groups {
		k, err := newKeys(g.leaves, func(leaf keyLeaf) arrow.Array { return columns[g.columns[leaf.column]] })
		if err != nil {
			return dst, set, a.loader.wrap(err, g.group.Files[0].File, a.target)
		}
		for row := range rows {
			if dst[row/8]>>(row%8)&1 == 1 {
				continue
			}
			if g.table.sequence(k.at(row)) > a.target.DataSequence {
				dst[row/8] |= 1 << (row % 8)
				set++
			}
		}
	}
	return dst, set, nil
}

// Release gives back what nobody else uses; idempotent.
func (a *Applied) Release() {
	if a == nil || a.done {
		return
	}
	a.done = true
	for _, f := range a.release {
		f()
	}
	a.loader.account.Add(-a.held)
	a.deleted, a.groups = rowsel.None(), nil
}

// add joins positions of one more source; the union is the Applied's own memory.
func (a *Applied) add(s rowsel.Selection) error {
	if a.deleted.None() {
		a.deleted = s
		return nil
	}
	union := a.deleted.Or(s)
	if err := a.loader.charge(union.Bytes()); err != nil {
		return err
	}
	a.held += union.Bytes()
	a.deleted = union
	return nil
}

// applyVector takes the vector's positions, loading it with its near neighbours if nobody has.
func (l *Loader) applyVector(ctx context.Context, a *Applied, v *Vector) error {
	s := l.span(v)
	if s == nil {
		return errClosed
	}
	if err := s.turn.take(ctx); err != nil {
		return err
	}
	defer s.turn.give()
	slot := l.useVector(a, v)
	l.mu.Lock()
	loaded := slot.loaded
	l.mu.Unlock()
	if !loaded {
		if err := l.loadSpan(ctx, s, v); err != nil {
			return err
		}
	}
	l.mu.Lock()
	set, last, err := slot.set, slot.last, slot.err
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if a.target.Rows >= 0 && last >= a.target.Rows {
		return corrupt("deletion vector: position %d in a data file of %d rows", last, a.target.Rows)
	}
	return a.add(set)
}

// useVector counts a as a user of the slot until a is released.
func (l *Loader) useVector(a *Applied, v *Vector) *vectorSlot {
	l.mu.Lock()
	defer l.mu.Unlock()
	slot := l.mu.vectors[v]
	if slot == nil {
		slot = &vectorSlot{}
		l.mu.vectors[v] = slot
	}
	slot.users++
	a.release = append(a.release, func() {
		l.mu.Lock()
		slot.users--
		held := int64(0)
		if slot.users == 0 { // a vector belongs to one data file: nobody else will ask
			held = slot.held
			*slot = vectorSlot{}
			if l.mu.vectors[v] == slot {
				delete(l.mu.vectors, v)
			}
		}
		l.mu.Unlock()
		l.account.Add(-held)
	})
	return slot
}

// loadSpan is called in the span's turn. The first time it decodes all vectors of the span, later the one that is asked for.
func (l *Loader) loadSpan(ctx context.Context, s *span, v *Vector) error {
	if err := v.check(); err != nil {
		return err
	}
	vectors, pending := s.vectors, l.takePending(&s.pending)
	if s.done || !s.sound() { // a neighbour with a bad range must not spoil this one
		vectors = []*Vector{v}
	}
	of := span{vectors: vectors}
	if pending == nil {
		pending = l.fetch(ctx, v.File, of.bounds())
	}
	defer pending.Release()
	b, _, err := pending.Await(ctx)
	if err != nil {
		return err
	}
	if int64(len(b)) != of.bounds().Len {
		return corrupt("deletion vector: %d bytes read of %d", len(b), of.bounds().Len)
	}
	for _, n := range vectors {
		at := n.Offset - vectors[0].Offset
		l.store(n, b[at:at+n.Size], n == v)
	}
	s.done = true
	return nil
}

// sound: every range of the span makes sense.
func (s *span) sound() bool {
	return !slices.ContainsFunc(s.vectors, func(v *Vector) bool { return v.check() != nil })
}

// check the range before anything is fetched by it.
func (v *Vector) check() error {
	if v.Offset < 0 || v.Size < vectorFrame || v.Size > math.MaxUint32+8 || v.Offset > math.MaxInt64-v.Size ||
		v.File.Size > 0 && v.Offset+v.Size > v.File.Size {
		return corrupt("deletion vector at [%d, +%d) of a file of %d bytes", v.Offset, v.Size, v.File.Size)
	}
	return nil
}

// store decodes one vector into its slot. One that nobody has asked for is left out if the budget refuses it.
func (l *Loader) store(v *Vector, blob []byte, asked bool) {
	r, err := parseVector(blob)
	if err == nil {
		err = checkVector(r, v.Cardinality, -1)
	}
	slot := vectorSlot{loaded: true, err: err, last: -1, set: rowsel.None()}
	if err == nil {
		if err := l.charge(r.bytes()); err != nil {
			if !asked {
				return
			}
			slot.err = err
		} else {
			slot.held = r.bytes()
			slot.set = r.selection()
			if r.cardinality > 0 {
				slot.last = r.last
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.mu.vectors[v]
	switch {
	case old == nil:
		l.mu.vectors[v] = &slot
	case !old.loaded:
		slot.users = old.users
		*old = slot
	default:
		l.account.Add(-slot.held)
	}
}

// applyFile takes the positions that a delete file holds for the data file, loading it if nobody has.
func (l *Loader) applyFile(ctx context.Context, a *Applied, f *File) error {
	s := l.file(f)
	if s == nil {
		return errClosed
	}
	if err := s.turn.take(ctx); err != nil {
		return err
	}
	defer s.turn.give()
	if s.err != nil {
		return s.err
	}
	path := FoldScheme(a.target.Location.Recorded)
	l.mu.Lock()
	index, gone := s.index, s.gone[path]
	l.mu.Unlock()
	if index == nil || gone {
		only := ""
		if index != nil {
			only = path
		}
		fresh, err := l.loadFile(ctx, f, s, only)
		if err != nil {
			return err
		}
		l.mu.Lock()
		if index == nil {
			s.index = fresh
		} else { // asked for again after it was dropped
			delete(s.gone, path)
			s.index.held += fresh.held
			for p, set := range fresh.paths {
				s.index.paths[p] = set
			}
		}
		l.mu.Unlock()
	}
	set := l.usePositions(a, s, path)
	if set == nil {
		return nil
	}
	return a.add(set.set)
}

func (l *Loader) loadFile(ctx context.Context, f *File, s *fileSlot, only string) (*positionIndex, error) {
	index := newPositionIndex(only, l.charge)
	err := l.read(ctx, f.File, l.takePending(&s.pending), positionSchema, index.add)
	if err == nil {
		err = index.finish()
	}
	if err != nil {
		l.account.Add(-index.held)
		if sticky(err) {
			s.err = err
		}
		return nil, err
	}
	return index, nil
}

// usePositions counts a as a user of the path's positions until a is released; nil = there are none.
func (l *Loader) usePositions(a *Applied, s *fileSlot, path string) *positionSet {
	l.mu.Lock()
	defer l.mu.Unlock()
	set := s.index.paths[path]
	if set == nil {
		return nil
	}
	set.users++
	a.release = append(a.release, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if set.users--; set.users > 0 || s.index == nil {
			return
		}
		// A data file is scanned once: its positions are not kept, and are read again should it come back.
		delete(s.index.paths, path)
		s.gone[path] = true
		s.index.held -= set.held
		l.account.Add(-set.held)
	})
	return set
}

// applyGroup takes the group's keys, loading them if nobody has.
func (l *Loader) applyGroup(ctx context.Context, a *Applied, g *Group) error {
	applies := false
	for _, f := range g.Files {
		applies = applies || f.Sequence > a.target.DataSequence
	}
	if !applies {
		return nil
	}
	s := l.group(g)
	if s == nil {
		return errClosed
	}
	if err := s.turn.take(ctx); err != nil {
		return err
	}
	defer s.turn.give()
	if s.err == nil && !s.loaded {
		err := l.loadGroup(ctx, a.target, g, s)
		if err != nil && !sticky(err) {
			return err
		}
		s.err, s.loaded = err, err == nil
	}
	if s.err != nil {
		return s.err
	}
	a.useGroup(g, s)
	return nil
}

// useGroup adds the group's key columns to those of a; equal ones are shared.
func (a *Applied) useGroup(g *Group, s *groupSlot) {
	of := appliedGroup{group: g, leaves: s.leaves, table: s.keys, columns: make([]int, len(g.Key))}
	for i, k := range g.Key {
		at := -1
		for j, have := range a.keys {
			id1, _ := expr.FieldID(k)
			id2, _ := expr.FieldID(have)
			if id1 == id2 && arrow.TypeEqual(k.Type, have.Type, arrow.CheckMetadata()) {
				at = j
			}
		}
		if at < 0 {
			at = len(a.keys)
			a.keys = append(a.keys, k)
		}
		of.columns[i] = at
	}
	a.groups = append(a.groups, of)
}

// loadGroup reads the group's files in their order. Errors name the file.
func (l *Loader) loadGroup(ctx context.Context, t Target, g *Group, s *groupSlot) (err error) {
	leaves, err := keyLeaves(g.Key)
	if err != nil {
		return l.wrap(err, g.Files[0].File, t)
	}
	table := newKeyTable(l.charge)
	defer func() {
		if err != nil {
			l.account.Add(-table.held)
		}
	}()
	want := arrow.NewSchema(g.Key, nil)
	for i, f := range g.Files {
		err := l.read(ctx, f.File, l.takePending(&s.pending[i]), want, func(rec arrow.RecordBatch) error {
			k, err := newKeys(leaves, func(leaf keyLeaf) arrow.Array { return rec.Column(leaf.column) })
			if err != nil {
				return err
			}
			for row := range int(rec.NumRows()) {
				if err := table.put(k.at(row), f.Sequence); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return l.wrap(err, f.File, t)
		}
	}
	l.mu.Lock()
	s.leaves, s.keys = leaves, table
	l.mu.Unlock()
	return nil
}
