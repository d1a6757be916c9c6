// Package page takes a column chunk apart: page headers, checksums, and the split of a page into levels and values, for
// both page versions. It decompresses nothing; that is codec's, and where to is build's decision.
//
// The package is pure; pages point into the bytes of the chunk.
package page
