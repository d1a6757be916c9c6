// Package deletes loads the delete files of a scan and answers, for one data file, which of its rows are gone.
//
// A Set says what applies to a data file; the planner has settled scope, sequence numbers and precedence. A Loader serves
// one scan: each delete file is fetched once, when the first task needs it, through the scan's Fetcher, and what it holds is
// shared and charged to the memory budget until nobody can ask again.
//
//	Set ── Vector (one blob of a Puffin file) ──┐
//	    ├─ Positions (position-delete files) ───┴─► Applied.Deleted: absolute positions, a selection before decoding
//	    └─ Equality (groups of key columns) ──────► Applied.Mask: rows of a batch, by the values of its key columns
//
// Positions are absolute in the data file, whatever was skipped. Paths are compared as they were recorded; s3, s3a and s3n
// are one scheme, since they open the same object. A row dies by equality if the largest sequence number of its key is
// above the data file's.
//
// A Loader is safe for concurrent use and starts no goroutine: who asks first does the work, others wait for it under their
// own contexts. An Applied belongs to one goroutine. The package imports no parent.
package deletes
