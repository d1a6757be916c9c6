// Package parquettest writes Parquet files for tests: every encoding, codec, page version and pattern of nulls, sound or
// broken on purpose. It is written from the specification (apache/parquet-format) and shares no code with the reader but
// the names of types.
//
// Two levels:
//
//	Table      columns of Go values and a Layout: pages, groups, encodings, indexes are cut and built for you
//	File       groups, chunks and pages given one by one, with hooks that change the bytes of a page or of the footer
//
// Values are bool, int32, int64, float32, float64, []byte (BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY, 12 bytes of INT96); nil is
// null. Shred turns nested values into the levels and values of leaves, Random makes schemas and values up.
//
// The package panics on misuse: it runs in tests only.
package parquettest
