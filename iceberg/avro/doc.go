// Package avro reads and writes Avro object container files as far as Iceberg's manifests need them.
//
// Reading is projected: Compile turns a file's schema and a list of wanted fields, found by field id, into a flat program
// that fills the slots of a reused Row and skips everything else in place. Nothing is allocated per record, and no
// reflection runs. A File and a Program are immutable and may be shared; a Rows belongs to one goroutine. Bytes in a Row
// are views, valid until the next record is read.
//
// Blocks hold what has been unpacked; one of them can be used for many files, and by another goroutine ahead of the Rows.
//
// No length or count is believed before it is checked against the bytes at hand: unpacked blocks are bounded by
// MaxBlock, and recursion follows the schema, whose depth is bounded.
package avro
