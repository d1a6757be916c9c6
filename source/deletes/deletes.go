// Package deletes loads and applies delete files. Its descriptors are part of source.Task, so it imports no parent.
package deletes

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/object"
)

// Set is what applies to one data file; the pointers are shared by the tasks of a scan, loaded once, reference-counted.
type Set struct {
	Vector    *Vector
	Positions []*File
	Equality  []*Group
}

// Vector is a deletion vector: one blob of a Puffin file.
type Vector struct {
	File         object.Info
	Offset, Size int64
	Cardinality  int64
}

// File is a position-delete file.
type File struct {
	File     object.Info
	Sequence int64
}

// Group is one scope with one set of equality ids; Key holds the fields with ids, also those since dropped.
type Group struct {
	Key   []arrow.Field
	Files []File
}
