// Package prune proves from metadata that rows of a Parquet file cannot, or must, satisfy a predicate: from row group
// statistics, the page index, a chunk's dictionary and Bloom filters.
//
// Every answer is an expr.Verdict. None and All are proofs; whatever is absent, of the wrong size or in doubt gives Some, so
// evidence may be broken or lie there unused, and rows do not depend on it. What is proved and what is not follows one table
// (Metrics.leaf): counts that are absent are unknown, not zero; bounds may be cut short, so they are limits and not values;
// NaN never shows in bounds.
//
//	chunk statistics ─┐
//	page index ───────┤  a verdict a leaf of the predicate, strongest evidence wins ──▶ AND, OR ──▶ Group: verdict and rows
//	dictionary ───────┤
//	Bloom filter ─────┘
//
// Bounds are decoded by the file's physical type and compared by the type of the predicate's column (LogicalTypes.md,
// "Column orders"); Bloom filters are probed with the file's physical type (BloomFilter.md).
//
// The package is pure and holds no state; its values are immutable and may be shared by goroutines. Bounds and Bloom filters
// point into the bytes they were read from.
package prune
