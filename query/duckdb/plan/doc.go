// Package plan reads the two JSON documents that DuckDB writes about a statement, and does so without DuckDB: it has no cgo
// and no build tag.
//
//   - The syntax tree, from json_serialize_sql: Gate refuses what a read-only, sandboxed client must not run, and lists the
//     tables that the text names.
//   - The optimised plan, from json_serialize_plan(…, optimize := true): Scans says, for each scan of a table, which columns
//     it needs and which predicate is sound for pruning.
//
// A predicate is a hint. DuckDB applies every filter itself, so a condition that cannot be converted is left out and the
// rows stay the same; but a predicate that is too strong loses rows. Hence one rule above all: a part may be dropped from an
// AND in positive position only, and everything else converts whole or not at all.
//
// Neither document has a promise of stability. The DuckDB version is pinned, and the golden plans of query/duckdb must pass
// before a bump.
//
// All functions are pure and safe for concurrent use.
package plan
