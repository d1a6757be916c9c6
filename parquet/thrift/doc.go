// Package thrift reads the metadata of a Parquet file: footer, page headers, page index and Bloom filter header, all in
// Thrift's compact protocol (apache/thrift, doc/specs/thrift-compact-protocol.md; apache/parquet-format, parquet.thrift).
//
// Everything is bounded by the bytes at hand: a list is never larger than the bytes that are left could hold, nesting
// ends at 64, an integer must fit its field. Unknown fields are skipped by type, so newer files stay readable. Fields
// that are rarely wanted (statistics) stay raw bytes and are parsed on demand.
//
// The package is pure. Footers, page headers and offset indexes do not point into their input; bounds in Statistics and
// ColumnIndex do. Values are immutable after parsing and may be shared by goroutines.
package thrift
