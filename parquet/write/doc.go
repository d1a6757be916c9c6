// Package write makes Parquet files of Arrow batches, for projections and tests: one pass, into an io.Writer.
//
// Rows are encoded in chunks of a fixed number, and row groups and pages end at chunks, so a file's bytes depend on the rows
// and the options alone, never on how the rows were cut into batches. Pages of all columns that are not unusually wide end
// at the same rows, which makes the page index cheap to use. Every column gets statistics and a page index, chosen ones a
// Bloom filter; columns whose first rows repeat get a dictionary.
//
// Encoding is arrow-go's file writer. (Measured on half a million rows of numbers and strings, zstd: 0.85 of the CPU of
// parquet-go's column writers, a quarter of it outside of zstd; and its module is linked already.) Levels of nested columns
// are made here, since pqarrow would link gRPC.
//
// A Writer belongs to one goroutine. Batches given to Write are lent: the Writer retains what it has not encoded yet, never
// more than one chunk of rows. Memory held is that of one encoded row group, about Buffered bytes.
package write
