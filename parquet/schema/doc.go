// Package schema is a Parquet file's schema as a tree: nodes with their levels, logical types and field ids, and the
// Arrow type each one has by nature. Lists and maps are recognised by structure, as the specification's backward
// compatibility rules say (apache/parquet-format, LogicalTypes.md), whatever their groups are called.
//
// A tree is immutable and may be shared by goroutines. The package is pure.
package schema
