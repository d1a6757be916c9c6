package deletes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/source/resolve"
)

// FoldScheme gives s3a and s3n locations the scheme s3: they open the same object, so a path recorded under one of them names
// it under all. Nothing else of a recorded path is changed before it is compared.
func FoldScheme(recorded string) string {
	if strings.HasPrefix(recorded, "s3a://") || strings.HasPrefix(recorded, "s3n://") {
		return "s3" + recorded[3:]
	}
	return recorded
}

// positionSchema asks for the two columns by their reserved ids.
var positionSchema = arrow.NewSchema([]arrow.Field{
	expr.WithFieldID(arrow.Field{Name: "file_path", Type: arrow.BinaryTypes.String}, resolve.DeletePathID),
	expr.WithFieldID(arrow.Field{Name: "pos", Type: arrow.PrimitiveTypes.Int64}, resolve.DeletePosID),
}, nil)

// positionIndex collects the rows of position-delete files by data file. It is fed by one goroutine.
type positionIndex struct {
	only   string // folded path; "" = all
	charge func(delta int64) error
	held   int64
	paths  map[string]*positionSet

	lastRaw string // path of the row before, as recorded: rows come in runs of one path
	last    *positionSet
	skipped positionSet // stands for the paths that are not wanted
}

// positionSet of one data file: rows not yet sorted in, and the others.
type positionSet struct {
	fresh []int64
	set   rowsel.Selection
	held  int64
	users int // under Loader.mu
}

// freshMax rows are collected before they are sorted into the set.
const freshMax = 1 << 16

const pathBytes = 96 // of a map entry and its set, beside the path's text

func newPositionIndex(only string, charge func(int64) error) *positionIndex {
	return &positionIndex{only: only, charge: charge, paths: map[string]*positionSet{}}
}

// add takes a batch of file_path and pos.
func (x *positionIndex) add(rec arrow.RecordBatch) error {
	path, err := pathColumn(rec.Column(0))
	if err != nil {
		return err
	}
	pos, ok := rec.Column(1).(*array.Int64)
	if !ok {
		return corrupt("column pos is %v", rec.Column(1).DataType())
	}
	if rec.Column(0).NullN() > 0 || pos.NullN() > 0 {
		return corrupt("a position delete without path or position")
	}
	for i, p := range pos.Int64Values() {
		if p < 0 {
			return corrupt("position %d", p)
		}
		if raw := path(i); raw != x.lastRaw || x.last == nil {
			if err := x.turn(raw); err != nil {
				return err
			}
		}
		if x.last == &x.skipped {
			continue
		}
		x.last.fresh = append(x.last.fresh, p)
		if len(x.last.fresh) >= freshMax {
			if err := x.sortIn(x.last); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn makes the path the present one.
func (x *positionIndex) turn(raw string) error {
	x.lastRaw = strings.Clone(raw) // raw lies in the batch
	folded := FoldScheme(x.lastRaw)
	if x.only != "" && folded != x.only {
		x.last = &x.skipped
		return nil
	}
	s := x.paths[folded]
	if s == nil {
		if err := x.take(pathBytes + int64(len(folded))); err != nil {
			return err
		}
		s = &positionSet{set: rowsel.None(), held: pathBytes + int64(len(folded))}
		x.paths[folded] = s
	}
	x.last = s
	return nil
}

func (x *positionIndex) take(n int64) error {
	if err := x.charge(n); err != nil {
		return err
	}
	x.held += n
	return nil
}

// sortIn moves the fresh rows into the set. Files are sorted by the specification, and not always in fact.
func (x *positionIndex) sortIn(s *positionSet) error {
	if len(s.fresh) == 0 {
		return nil
	}
	slices.Sort(s.fresh)
	merged := s.set.Or(rowsel.FromPositions(s.fresh))
	if err := x.take(merged.Bytes() - s.set.Bytes()); err != nil {
		return err
	}
	s.held += merged.Bytes() - s.set.Bytes()
	s.set, s.fresh = merged, s.fresh[:0]
	return nil
}

// finish sorts in what is left.
func (x *positionIndex) finish() error {
	for _, s := range x.paths {
		if err := x.sortIn(s); err != nil {
			return err
		}
		s.fresh = nil
	}
	x.last, x.lastRaw = nil, ""
	return nil
}

func pathColumn(a arrow.Array) (func(int) string, error) {
	if get := texts(a); get != nil {
		return get, nil
	}
	if d, ok := a.(*array.Dictionary); ok {
		if get := texts(d.Dictionary()); get != nil {
			return func(i int) string { return get(d.GetValueIndex(i)) }, nil
		}
	}
	return nil, fmt.Errorf("%w: column file_path is %v", ErrCorrupt, a.DataType())
}
