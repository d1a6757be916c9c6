// Oracle makes random Iceberg tables and random predicates, and compares the rows of lakescan (pruning on and off, look-ahead off and automatic) with a model of
// what was written, and with DuckDB and PyIceberg.
//
//	model (rows written minus rows deleted) ──▶ files ──▶ lakescan × 4 ─┐
//	      │                                       ├────▶ DuckDB ────────┤ sorted typed text of rows
//	      └── predicate ──▶ expected rows         └────▶ PyIceberg ─────┴──▶ equal, a listed fault of the other reader, or a difference
//
// The writers are not lakescan's: data and delete files come from arrow-go, manifests, lists and deletion vectors from iceberg-go, metadata JSON from the model.
// A table is a function of its seed: format version, schema, evolution, specs, appends, deletes (by position, equality, vector), metrics of any richness.
//
// The model is the referee. A difference is accepted only where it is precisely what an entry of faults.go says of another reader; nothing is ever accepted of
// lakescan. Each worker goroutine owns one Python process, one lakescan client and one table at a time; a Python process that dies is an answer, and is restarted.
package main
