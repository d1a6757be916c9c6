// Package query is SQL over the scan: the interface that an engine implements, the text of a statement before an engine sees
// it (split, time travel), the result stream, typed errors, and explain.
//
// Engines live in sub-packages and are handed to the client by value, never by registration: query/duckdb is the full one,
// behind the build tag duckdb_arrow. A build without an engine answers ErrNoEngine.
//
// # Ownership
//
// A Result lends its batches: valid until the next step. The strings of a batch may live in the engine's memory, which
// Release frees, so a string that outlives the batch must be copied (strings.Clone; an append to an empty string aliases).
// A Reader lends in the same way. Needs and References are read-only and may be shared.
//
// # Concurrency
//
// An Engine is safe for concurrent use. A Prepared and a Result belong to one goroutine at a time, except for Close of a
// Prepared, which may be called from anywhere and ends a running statement. Contexts: Prepare's bounds planning, Run's bounds
// the whole result stream.
package query
