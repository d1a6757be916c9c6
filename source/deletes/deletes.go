package deletes

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/object"
)

// Set is what applies to one data file; the pointers are shared by the tasks of a scan and tell a Loader what is the same.
// A vector excludes position files: it holds what they held.
type Set struct {
	Vector    *Vector
	Positions []*File
	Equality  []*Group
}

// Empty says that nothing applies.
func (s Set) Empty() bool { return s.Vector == nil && len(s.Positions) == 0 && len(s.Equality) == 0 }

// Vector is a deletion vector: one blob of a Puffin file, found by offset and size without the file's own directory.
type Vector struct {
	File         object.Info
	Offset, Size int64
	Cardinality  int64 // -1 = not said
	// Neighbours are all vectors of the scan in the same file, in offset order, this one among them; nil = not known. Those
	// that lie close together are fetched at once.
	Neighbours []*Vector
}

// File is a position-delete file, or one equality-delete file of a Group.
type File struct {
	File     object.Info
	Sequence int64
}

// Group is one scope with one set of equality ids; Key holds the fields with ids, also those since dropped, in the table's
// current types. The key inside a struct is given as the struct, pruned to it. A row dies if a file with a Sequence above the
// data file's holds its key.
type Group struct {
	Key   []arrow.Field
	Files []File
}

// Target is the data file that a Set applies to.
type Target struct {
	Location     object.Location
	Rows         int64 // -1 = not known
	DataSequence int64
}
