package main

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

var duckdbFaults = []Fault{
	{
		ID: "duckdb-nanoseconds", Seed: 1, Reader: "duckdb", Version: "1.5.5", Wrong: "refuses every table that has a timestamptz_ns (or timestamp_ns) column", Proof: "Iceberg specification, Primitive types (v3)",
		Error: regexp.MustCompile(`Unrecognized primitive type: timestamp(tz)?_ns`),
		When: func(m *Model, _ *Pred) bool {
			return slices.ContainsFunc(m.table().Schemas, func(t *Type) bool { return hasKind(t, TimestampNs, TimestamptzNs) })
		},
	},
	{
		ID: "duckdb-decimal-scale", Seed: 134, Reader: "duckdb", Version: "1.5.5", Wrong: "dies (SIGFPE) at a decimal without scale in an Avro schema, which may be left out for 0", Proof: "Avro specification, Decimal: scale, optional, default 0",
		Error: regexp.MustCompile(`the process died`), When: partition(scaleZero),
	},
	{
		ID: "duckdb-dropped-source", Seed: 40, Reader: "duckdb", Version: "1.5.5", Wrong: "fails at any filter on a table with a partition field whose source column was dropped", Proof: "Iceberg specification, Partition evolution: old specs stay; the unfiltered scan of the same table works",
		Error: regexp.MustCompile(`unordered_map::at`), When: every(filtered, partition(droppedSource)),
	},
	{
		ID: "duckdb-truncate-wrap", Seed: 280, Reader: "duckdb", Version: "1.5.5", Wrong: "prunes a partition whose truncated value was wrapped at the end of its type", Proof: "Iceberg specification, Truncate Transform Details: v - (((v % W) + W) % W) in the arithmetic of the type, which Java and iceberg-go wrap",
		Fewer: truncateWrapped, When: partitionLeaf(func(_ *Model, _ *Pred, s SpecField) bool { return strings.HasPrefix(s.Transform, "truncate") }),
	},
	{
		ID: "duckdb-upgraded-list", Seed: 124, Reader: "duckdb", Version: "1.5.5", Wrong: "wants sequence numbers in a manifest list of format version 1 when the table is of version 2 or 3 now", Proof: "Iceberg specification, Version 2 changes: reading v1 metadata for v2, sequence_number defaults to 0",
		Error: regexp.MustCompile(`required field 'sequence_number' is NULL`), When: func(m *Model, _ *Pred) bool { return m.Listed == 1 && m.table().Version > 1 },
	},
	{
		ID: "duckdb-decimal-bound", Seed: 38, Reader: "duckdb", Version: "1.5.5", Wrong: "an internal error when it compares a decimal literal with a partition of a decimal", Proof: "its message: a negative number read as unsigned",
		Error: regexp.MustCompile(`Information loss on integer cast`), When: partitionLeaf(func(_ *Model, _ *Pred, s SpecField) bool { return s.source().Type.Kind == Decimal }),
	},
	{
		ID: "duckdb-dropped-source-equality", Seed: 376, Reader: "duckdb", Version: "1.5.5", Wrong: "aborts (an exception in a thread) at equality deletes of a partition whose source column was dropped", Proof: "Iceberg specification, Partition evolution: the type of a field of an old spec comes from the schema that had its source",
		Error: regexp.MustCompile(`the process died .*aborted`), When: every(feature("equality deletes"), partition(droppedSource)),
	},
	{
		ID: "duckdb-dropped-source-decimal", Seed: 20134, Reader: "duckdb", Version: "1.5.5", Wrong: "aborts (an exception in a thread) at a partition whose only field is of a decimal that was dropped", Proof: "its message: can't change source type STRUCT(p1000 DECIMAL(1,1)) to NULL; Iceberg specification, Partition evolution: the type of a field of an old spec comes from the schema that had its source",
		Error: regexp.MustCompile(`the process died .*aborted`),
		When:  partition(func(m *Model, s SpecField) bool { return droppedSource(m, s) && s.source().Type.Kind == Decimal }),
	},
	{
		ID: "duckdb-equality-dropped", Seed: 20142, Reader: "duckdb", Version: "1.5.5", Wrong: "dies (a segmentation fault) at equality deletes by a column that was dropped since", Proof: "Iceberg specification, Equality Delete Files: a delete column that is later dropped must still be used; the snapshots before those deletes are read",
		Error: regexp.MustCompile(`the process died .*segmentation fault`), When: every(feature("equality deletes"), feature("drop")),
	},
	{
		ID: "duckdb-equality-null", Seed: 14, Reader: "duckdb", Version: "1.5.5", Wrong: "an internal error where equality deletes meet NULL", Proof: "Iceberg specification, Equality Delete Files: NULL matches NULL",
		Error: regexp.MustCompile(`Comparison on NULL values`), When: feature("equality deletes"),
	},
	{
		ID: "duckdb-equality-scope", Seed: 460, Reader: "duckdb", Version: "1.5.5", Wrong: "equality deletes of one partition delete in others", Proof: "Iceberg specification, Scan Planning: the data file's partition equals the delete file's, or the delete file's spec is unpartitioned; repaired after 1.5.5 by github.com/duckdb/duckdb-iceberg/pull/1240",
		Fewer: func(_ *Model, _ *Pred, r Row) bool { return r.File.Foreign[r.At] }, When: feature("equality deletes"),
	},
	{
		ID: "duckdb-equality-unknown", Seed: 93, Reader: "duckdb", Version: "1.5.5", Wrong: "an equality delete also takes rows with NULL in a key column where the delete has a value: NOT (NULL = 1) is unknown, and the row lost", Proof: "Iceberg specification, Equality Delete Files: a row is deleted if its values equal the delete's; NULL equals NULL only",
		Fewer: func(_ *Model, _ *Pred, r Row) bool { return r.File.Unknown[r.At] }, When: feature("equality deletes"),
	},
	{
		ID: "duckdb-equality-default", Seed: 242, Reader: "duckdb", Version: "1.5.5", Wrong: "an equality delete does not see the default, or the partition's value, of a column that the data file lacks", Proof: "Iceberg specification, Equality Delete Files and Default values: the missing column reads as its initial-default",
		More: func(_ *Model, _ *Pred, r Row) bool { return r.File.EqDead[r.At] }, When: feature("equality deletes"),
	},
	{
		ID: "duckdb-nan", Seed: 15, Reader: "duckdb", Version: "1.5.5", Wrong: "loses rows with NaN under =, <>, > and >=, and adds them under < and <=, where statistics of the other values decide for it", Proof: "github.com/duckdb/duckdb/issues/25521; Parquet format, Statistics: NaN is not in min and max",
		Dialect: nanLow, Fewer: nanRow, When: kindLeaf(Float, Double),
	},
	{
		ID: "duckdb-float-literal", Seed: 20133, Reader: "duckdb", Version: "1.5.5", Wrong: "rounds a literal to a float for files that have a column, now double, as float: 9.935760498046875 is not < 9.935760498046877 there", Proof: "Iceberg specification, Schema Evolution: the column is double, and the literal one; files with doubles give the other answer",
		Dialect: floatLiteral, When: every(feature("promote"), kindLeaf(Double)),
	},
	{
		ID: "duckdb-uuid-bucket", Seed: 353, Reader: "duckdb", Version: "1.5.5", Wrong: "prunes rows of a table partitioned by bucket of a UUID under IN", Proof: "Iceberg specification, appendix B: a UUID is hashed as 16 big-endian bytes; PyIceberg finds them",
		Fewer: func(_ *Model, p *Pred, r Row) bool {
			return slices.ContainsFunc(r.File.Spec.Fields, func(f SpecField) bool { return strings.HasPrefix(f.Transform, "bucket") && tests(p, f.source().ID) })
		},
		When: partitionLeaf(func(_ *Model, l *Pred, s SpecField) bool {
			return s.source().Type.Kind == UUID && l.Op == "in" && strings.HasPrefix(s.Transform, "bucket")
		}),
	},
	{
		ID: "duckdb-uuid-constant", Seed: 88, Reader: "duckdb", Version: "1.5.5", Wrong: "reads, and filters, a UUID column that only the partition has with its bytes in reverse, the last one's top bit flipped", Proof: "Iceberg specification, Column projection: the identity partition value; the value that it returns is in no row and no manifest",
		Alter: reversedUUID, Dialect: reversed, When: every(feature("column only in the partition"), func(m *Model, _ *Pred) bool { return hasKind(m.schema(), UUID) }),
	},
	{
		ID: "duckdb-before-1970", Seed: 19, Reader: "duckdb", Version: "1.5.5", Wrong: "prunes rows before 1970 under year, month, day and hour partitions", Proof: "Iceberg specification, Partition Transforms: months from 1970-01-01, negative before; month of 1875-01-12 is -1140, as the manifest says; repaired after 1.5.5 by github.com/duckdb/duckdb-iceberg/pull/1361",
		Fewer: beforeEpoch, When: partitionLeaf(func(_ *Model, _ *Pred, s SpecField) bool { return timeTransform(s) }),
	},
	{
		ID: "duckdb-case", Seed: 20, Reader: "duckdb", Version: "1.5.5", Wrong: "has no columns whose names differ in case only: it renames one, or reads one as the other", Proof: "Iceberg names are case-sensitive; DuckDB's are not",
		Error: regexp.MustCompile(`^columns \[|Can't change source type|failed to cast column|(Cannot|not) compare values|Binder|Conversion|INTERNAL Error`),
		When:  func(m *Model, _ *Pred) bool { return slices.ContainsFunc(m.table().Schemas, caseTwins) },
	},
}

func timeTransform(f SpecField) bool {
	return slices.Contains([]string{"year", "month", "day", "hour"}, f.Transform)
}

// beforeEpoch is true of a row before 1970 in a column that the predicate tests and that the row's own file is partitioned by in time.
func beforeEpoch(_ *Model, p *Pred, r Row) bool {
	return slices.ContainsFunc(r.File.Spec.Fields, func(f SpecField) bool {
		v, ok := dig(r.Values, f.Path).(int64)
		return ok && v < 0 && timeTransform(f) && tests(p, f.source().ID)
	})
}

func tests(p *Pred, id int) (found bool) {
	if p != nil {
		p.leaves(func(l *Pred) { found = found || l.Col.field().ID == id })
	}
	return found
}

func reversedUUID(r Row, t *Type) map[int]any {
	out := maps.Clone(r.Values)
	for _, f := range t.Fields {
		if v, ok := out[f.ID].(string); ok && f.Type.Kind == UUID && onlyPartition(r, f.ID) {
			out[f.ID] = reverse(v)
		}
	}
	return out
}

// onlyPartition is true of a column whose value the row's file leaves to its partition.
func onlyPartition(r Row, id int) bool { return !holds(r.File.Stored, id) && r.File.Spec.identity(id) }

// reverse is a UUID as DuckDB's Iceberg reader takes it from a partition tuple.
func reverse(uuid string) string {
	b := []byte(uuid)
	slices.Reverse(b)
	b[15] ^= 0x80
	return string(b)
}

// nanRow is true of a row with NaN in a column that the predicate tests.
func nanRow(_ *Model, p *Pred, r Row) (found bool) {
	p.leaves(func(l *Pred) {
		v, ok := dig(r.Values, l.Col.Path).(float64)
		found = found || ok && math.IsNaN(v)
	})
	return found
}

func scaleZero(_ *Model, f SpecField) bool {
	return f.source().Type.Kind == Decimal && f.source().Type.S == 0
}

func droppedSource(m *Model, f SpecField) bool { return !holds(m.schema(), f.source().ID) }

// caseTwins is true of a struct with two fields, at any one place, whose names differ in case only.
func caseTwins(t *Type) bool {
	seen := map[string]bool{}
	for _, f := range t.Fields {
		if k := strings.ToLower(f.Name); seen[k] || caseTwins(f.Type) {
			return true
		} else {
			seen[k] = true
		}
	}
	return false
}
