// Package iceberg is the catalog client and planner. It decides which files, deletes, constants and residual filters a scan
// needs, and never opens a data file: source does, from the tasks that a Plan yields.
//
//	Open ─► Catalog ─Load─► Table ─Plan─► Plan ─Tasks─► source.Task …
//
// rest, dir, manifest, plan and inspect import meta and never this package; what they share lies in meta and is re-exported
// here by alias. commit imports this package and posts through Table.Backend.
//
// Contexts: every call obeys its own, and nothing is kept of it. A Catalog is safe for concurrent use; a Table and a Plan are
// immutable. No goroutine is started by this package itself.
//
// Errors are told apart by errors.Is with the classes of meta, which are re-exported: ErrNoSuchTable, ErrNoSuchSnapshot,
// ErrUnsupported, ErrInvalidMetadata, …; errors of the store keep their object classes.
package iceberg
