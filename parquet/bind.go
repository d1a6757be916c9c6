package parquet

import (
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/build"
	"github.com/lakescan/lakescan/parquet/nested"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// origin is where a bound column's values come from.
type origin uint8

const (
	fromFile origin = iota
	fromConst
	fromPosition
)

// bound is an output column, ready to be read.
type bound struct {
	Column
	origin origin
	part   Part
	filter bool // the filter reads it
	node   *schema.Node
	plan   *build.Plan // of a flat column
	leaves []int       // chunks it reads
	nested *nested.Plan
	inner  []*build.Plan // of nested.Leaves; nil where only levels are read
}

// Reader reads chosen columns of one file. It is immutable and shared by workers.
type Reader struct {
	f      *Footer
	cols   []bound
	schema *arrow.Schema
	filter expr.Expr
	leaves map[int]filterLeaf // columns of the filter by field id
	o      Options

	// index caches what Prune has seen; it changes how much is read, never what.
	index struct {
		sync.Mutex
		offsets map[[2]int]*thrift.OffsetIndex // by row group and leaf
	}
}

// Bind makes a Reader for the wanted columns. filter is bound (field ids of the columns' Output, nested leaves included) and
// only chooses the columns of PartFilter and prunes; evaluating it on rows is the caller's. Filter columns must be among
// cols. A column that cannot be read as wanted is ErrUnsupported.
func (f *Footer) Bind(cols []Column, filter expr.Expr, o Options) (*Reader, error) {
	r := &Reader{f: f, filter: filter, o: o.withDefaults(), cols: make([]bound, len(cols))}
	fields := make([]arrow.Field, len(cols))
	ids := filterIDs(filter)
	for i, c := range cols {
		b, err := f.bind(c)
		if err != nil {
			return nil, err
		}
		b.part, b.filter = PartRest, readsAny(c.Output, ids)
		if b.filter {
			b.part = PartFilter
		}
		r.cols[i], fields[i] = b, c.Output
	}
	r.schema = arrow.NewSchema(fields, nil)
	r.leaves = f.filterLeaves(cols, ids)
	return r, nil
}

// Schema of the batches.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// Footer that the Reader reads.
func (r *Reader) Footer() *Footer { return r.f }

func (f *Footer) bind(c Column) (bound, error) {
	b := bound{Column: c}
	switch {
	case c.Position:
		b.origin = fromPosition
		if c.Output.Type.ID() != arrow.INT64 {
			return b, fmt.Errorf("parquet: position column %s of type %v", c.Output.Name, c.Output.Type)
		}
		return b, nil
	case c.Path == nil:
		b.origin = fromConst
		return b, nil
	}
	b.node = f.tree.Root
	for _, name := range c.Path {
		if b.node = b.node.Child(name); b.node == nil {
			return b, &CorruptError{RowGroup: -1, Page: -1, Offset: -1, Column: strings.Join(c.Path, "."), Reason: "no such column in the file"}
		}
	}
	if !b.node.IsLeaf() {
		return b, f.bindNested(&b)
	}
	plan, err := build.NewPlan(b.node, c.Output.Type)
	if err != nil {
		return b, &UnsupportedError{Ability: err.Error(), RowGroup: -1, Column: b.node.String()}
	}
	b.plan, b.leaves = plan, []int{b.node.Leaf}
	return b, nil
}

func filterIDs(e expr.Expr) map[int]bool {
	if e == nil {
		return nil
	}
	ids := make(map[int]bool)
	for _, c := range expr.Columns(e) {
		ids[c.ID] = true
	}
	return ids
}

// readsAny reports whether a field or anything below it has one of the ids.
func readsAny(f arrow.Field, ids map[int]bool) bool {
	if len(ids) == 0 {
		return false
	}
	if id, ok := expr.FieldID(f); ok && ids[id] {
		return true
	}
	if n, ok := f.Type.(arrow.NestedType); ok {
		for _, c := range n.Fields() {
			if readsAny(c, ids) {
				return true
			}
		}
	}
	return false
}
