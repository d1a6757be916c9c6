// Package resolve answers one question for one data file: where does each wanted column come from?
//
// A table's columns have ids; a file has its own columns, written under an older schema or by an engine that knew no ids.
// For every wanted field, at every depth, the first of these that applies is taken (Iceberg specification, "Column
// projection"):
//
//  1. the file's column with the same id,
//  2. the constant of an identity partition field of the file's own spec,
//  3. the column that the table's name mapping gives the id to, when the file has no ids at all,
//  4. the field's initial default,
//  5. null, if the field is optional.
//
// A wanted field without an id (a plain Parquet scan) is found by its name among its siblings.
//
// Struct fields are matched by id, never by place. The element of a list and the key and value of a map are matched by
// structure, whatever their groups are called; an element whose id is another than the wanted one is an error.
//
// The result is a Plan: a tree of parquet.Column to decode, and the lineage columns to complete afterwards. Column paths
// are the names of Footer.Schema, from the root: a struct field by its name, an element by the name of the list's element
// field, the two of a map as "key" and "value" (Arrow's names, whatever the file calls them).
//
// The package is pure: no I/O, no goroutine; every result is immutable and may be shared. It imports no parent.
package resolve
