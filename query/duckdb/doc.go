// Package duckdb is the SQL engine: DuckDB inside the process, fed by an own table function. It needs cgo and the build tag
// duckdb_arrow; without them New answers query.ErrNoEngine.
//
// DuckDB never reads storage. Every table of a statement is a view over the function lakescan('key'), whose callbacks pull
// Arrow batches from a query.Reader and write them into DuckDB's vectors:
//
//	text ─ gate ─ tables ─ views ─ BEGIN ─ plan ─ predicates ─ the same text runs ─ chunks ─ Arrow
//	        plan/   Load            now() is fixed    plan/                 lakescan() ─ Table.Open ─ Reader.Next
//
// One statement has one DuckDB instance, closed with it: the instance is locked when it opens (no file, no extension, no
// setting), so nothing of one statement reaches another.
//
// # Ownership
//
// A batch of a Reader is retained while a thread cuts it into chunks of 2,048 rows. Fixed-width values and texts are copied.
// Nested columns are lent to DuckDB through the Arrow C data interface, which holds the batch until DuckDB drops the vector.
// A batch of the result is a copy: in Go's memory if all its columns are of plain types, else in C memory.
//
// # Concurrency
//
// Callbacks run on DuckDB's threads, several at a time, each locked to its thread. A Reader is used by one of them at a time.
// Since code that uses coroutines (iter.Pull) dies on a locked thread, a Reader that does not say otherwise is opened and
// read by a goroutine of its reference. Every callback recovers: a panic that leaves one would end the process.
package duckdb
