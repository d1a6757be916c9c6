// Command parquetdiff compares readers on random Parquet files: lakescan, PyArrow and DuckDB must give the same types and the same values,
// as canonical text. The files are PyArrow's and parquet-go's, in turn, over types, encodings, codecs, page sizes, page versions, patterns of
// nulls and nesting. lakescan reads each file whole, then in small windows and batches, and answers random filters with pruning, page index,
// Bloom filters and late materialisation as it does without.
//
//	go run . -count 2000           files of the seeds 1 to 2000
//	go run . -seed 17 -count 1     file 17 again
//	go run . -seed 17 -keep DIR    and its bytes
//
// Odd seeds are PyArrow's, even ones parquet-go's. What other readers refuse or get wrong, as far as it is known, stands in known.go with its
// reason; it is counted and shown, and everything else that differs fails the run.
//
// One Python process serves all files (judge.py); the interpreter is that of integration/prepare.sh, or LAKESCAN_PYTHON.
package main
