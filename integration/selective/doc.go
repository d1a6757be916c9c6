// Package selective asks for one per cent of the rows of a Parquet file of 150 MB behind a store that answers late, and compares bytes,
// requests, the time to the first row and the rows themselves with those of other readers. run.py does all of it; the test runs it against
// the servers of internal/rig.
package selective
