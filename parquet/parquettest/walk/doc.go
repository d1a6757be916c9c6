// Package walk reads Parquet files with package parquet, whole or by selections, and judges what comes back by the test
// corpus: Read gives canonical rows, Corpus walks every Parquet case of the manifest, Table prints the outcome of each.
//
// For tests and tools; it holds no state.
package walk
