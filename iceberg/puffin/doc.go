// Package puffin reads and writes Puffin files (Puffin specification, version 1): blobs with a JSON footer, used for table
// statistics and indexes. Deletion vectors lie in Puffin files too, but are read by offset and need nothing of this.
//
//	PFA1 blob blob … PFA1 {JSON} size flags PFA1
//
// ParseFooter does no I/O: it is given the end of a file and says what is missing. Nothing in a file is believed before it
// was checked against the bytes at hand. A File is immutable; a Writer belongs to one goroutine.
package puffin
