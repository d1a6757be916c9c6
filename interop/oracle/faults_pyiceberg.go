package main

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

func kindLeaf(kinds ...Kind) func(*Model, *Pred) bool {
	return leaf(func(_ *Model, l *Pred) bool { return slices.Contains(kinds, l.Col.field().Type.Kind) })
}

var pyicebergFaults = []Fault{
	{
		ID: "pyiceberg-equality-deletes", Seed: 6, Reader: "pyiceberg", Version: "0.12.0", Wrong: "reads no table with equality deletes", Proof: "github.com/apache/iceberg/issues/6568",
		Error: regexp.MustCompile(`does not yet support equality deletes`), When: feature("equality deletes"),
	},
	{
		ID: "pyiceberg-equality-pruned", Seed: 204, Reader: "pyiceberg", Version: "0.12.0", Wrong: "returns rows that equality deletes took, instead of its error, under a filter that rules the delete file out by bounds", Proof: "Iceberg specification, Equality Delete Files; the rows are gone without the filter's help in every other reader",
		More: func(m *Model, _ *Pred, _ Row) bool {
			return m.Features["position deletes"]+m.Features["deletion vectors"] == 0
		}, When: every(feature("equality deletes"), filtered),
	},
	{
		ID: "pyiceberg-nanosecond-literal", Seed: 1, Reader: "pyiceberg", Version: "0.12.0", Wrong: "has no literal of a nanosecond timestamp", Proof: "Iceberg specification, Primitive types (v3)",
		Error: regexp.MustCompile(`Cannot convert LongLiteral into timestamp(tz)?_ns`), When: kindLeaf(TimestampNs, TimestamptzNs),
	},
	{
		ID: "pyiceberg-nan-literal", Seed: 4, Reader: "pyiceberg", Version: "0.12.0", Wrong: "has no NaN literal", Proof: "its message",
		Error: regexp.MustCompile(`Cannot create expression literal from NaN`), When: leaf(nanLiteral),
	},
	{
		ID: "pyiceberg-dots", Seed: 2, Reader: "pyiceberg", Version: "0.12.0", Wrong: "takes a dot in a name, or in the name a file has for the column, for a step into a struct when it filters", Proof: "a name is free text; columns are found by id (Iceberg specification, Schemas); its io/pyarrow.py splits the full name at dots",
		Error: regexp.MustCompile(`No match for FieldRef`),
		When: leaf(func(m *Model, l *Pred) bool {
			return slices.ContainsFunc(m.pastNames(l.Col), func(n string) bool { return strings.Contains(n, ".") })
		}),
	},
	{
		ID: "pyiceberg-snapshot-names", Seed: 6, Reader: "pyiceberg", Version: "0.12.0", Wrong: "looks for the columns of a filter in the current schema when it reads a past snapshot, and fails or finds others", Proof: "it reads the rows of that snapshot under that snapshot's schema, whose names the filter has",
		Error: regexp.MustCompile(`Could not find field with name|Cannot convert \w+Literal into`), When: leaf(func(m *Model, l *Pred) bool { return m.Snapshot != 0 && renamed(m, l.Col) }),
	},
	{
		ID: "pyiceberg-null-partition", Seed: 19, Reader: "pyiceberg", Version: "0.12.0", Wrong: "compares a NULL of a partition tuple with a literal", Proof: "github.com/apache/iceberg-python/issues/3498",
		Error: regexp.MustCompile(`not supported between instances of '(NoneType' and '.*|.*' and 'NoneType)'`), When: partitionLeaf(func(_ *Model, _ *Pred, s SpecField) bool { return s.Transform != "void" }),
	},
	{
		ID: "pyiceberg-uuid", Seed: 10, Reader: "pyiceberg", Version: "0.12.0 with pyarrow 26", Wrong: "cannot compare a UUID", Proof: "github.com/apache/iceberg-python/issues/2372",
		Error: regexp.MustCompile(`has no kernel matching input types \(extension<arrow.uuid>`), When: kindLeaf(UUID),
	},
	{
		ID: "pyiceberg-uuid-nested", Seed: 20, Reader: "pyiceberg", Version: "0.12.0 with pyarrow 26", Wrong: "cannot filter the rows of a table that has a UUID within a struct, list or map", Proof: "its message: no kernel takes rows of a nested extension type; github.com/apache/iceberg-python/issues/2372",
		Error: regexp.MustCompile(`^ArrowNotImplementedError: extension$`), When: every(filtered, func(m *Model, _ *Pred) bool { return nestedUUID(m.schema()) }),
	},
	{
		ID: "pyiceberg-uuid-nested-deletes", Seed: 20030, Reader: "pyiceberg", Version: "0.12.0 with pyarrow 26", Wrong: "cannot take deleted rows out of a table that has a UUID within a struct, list or map", Proof: "its message, as for a filter: no kernel takes rows of a nested extension type; github.com/apache/iceberg-python/issues/2372",
		Error: regexp.MustCompile(`^ArrowNotImplementedError: extension$`), When: func(m *Model, _ *Pred) bool {
			return m.Features["position deletes"]+m.Features["deletion vectors"] > 0 && nestedUUID(m.schema())
		},
	},
	{
		ID: "pyiceberg-uuid-partition-error", Seed: 88, Reader: "pyiceberg", Version: "0.12.0", Wrong: "cannot order a UUID of a partition tuple or default (a UUID) and a literal (bytes)", Proof: "github.com/apache/iceberg/issues/8248",
		Error: regexp.MustCompile(`not supported between instances of 'UUID' and 'bytes'`), When: kindLeaf(UUID),
	},
	{
		ID: "pyiceberg-default-type-error", Seed: 53, Reader: "pyiceberg", Version: "0.12.0", Wrong: "cannot order the default of a temporal column (a date, time or datetime) and a literal (a number)", Proof: "Iceberg specification, Default values",
		Error: regexp.MustCompile(`not supported between instances of '(datetime\.)?(date|time|datetime)(\.\w+)?' and 'int'`),
		When: leaf(func(_ *Model, l *Pred) bool {
			return l.Col.field().Default != nil && slices.Contains(temporal, l.Col.field().Type.Kind)
		}),
	},
	{
		ID: "pyiceberg-default-temporal", Seed: 20158, Reader: "pyiceberg", Version: "0.12.0", Wrong: "the default of a temporal column that the file lacks (a date, time or datetime) is unequal to every literal (a number), so that = and IN lose its rows", Proof: "Iceberg specification, Default values: the missing column reads as its initial-default; an order of the same two is its TypeError",
		Dialect: temporalDefault, When: leaf(func(_ *Model, l *Pred) bool {
			return l.Col.field().Default != nil && slices.Contains(temporal, l.Col.field().Type.Kind)
		}),
	},
	{
		ID: "pyiceberg-nanosecond-bounds", Seed: 61, Reader: "pyiceberg", Version: "0.12.0", Wrong: "reads no bound, default or partition of a nanosecond timestamp", Proof: "Iceberg specification, appendix D",
		Error: regexp.MustCompile(`type timestamp(tz)?_ns not supported|timestamp-nanos|timestamp(tz)?_ns|TimestampNano|TimestamptzNano`),
		When:  func(m *Model, _ *Pred) bool { return m.table().Features["nanoseconds"] > 0 },
	},
	{
		ID: "pyiceberg-decimal-scale", Seed: 134, Reader: "pyiceberg", Version: "0.12.0", Wrong: "wants the scale of a decimal in an Avro schema, which may be left out for 0", Proof: "Avro specification, Decimal: scale, optional, default 0",
		Error: regexp.MustCompile(`KeyError: 'scale'`), When: partition(scaleZero),
	},
	{
		ID: "pyiceberg-nested-filter", Seed: 16, Reader: "pyiceberg", Version: "0.12.0", Wrong: "cannot filter by IS NULL of a list, a map, or a struct that holds one", Proof: "its message",
		Error: regexp.MustCompile(`Cannot explicitly project List or Map types`),
		When:  leaf(func(_ *Model, l *Pred) bool { return !l.Col.field().Type.primitive() }),
	},
	{
		ID: "pyiceberg-date-promotion", Seed: 84, Reader: "pyiceberg", Version: "0.12.0", Wrong: "cannot read a date column promoted to timestamp", Proof: "Iceberg specification, Schema Evolution (v3): date to timestamp",
		Error: regexp.MustCompile(`'pyarrow.lib.DataType' object has no attribute 'tz'`), When: feature("date to timestamp"),
	},
	{
		ID: "pyiceberg-date-promotion-bounds", Seed: 128, Reader: "pyiceberg", Version: "0.12.0", Wrong: "cannot read the four-byte bounds of a date column promoted to timestamp", Proof: "Iceberg specification, Schema Evolution: bounds of promoted columns are of the old type",
		Error: regexp.MustCompile(`unpack requires a buffer of 8 bytes`), When: every(feature("date to timestamp"), kindLeaf(Timestamp)),
	},
	{
		ID: "pyiceberg-far-dates", Seed: 232, Reader: "pyiceberg", Version: "0.12.0", Wrong: "cannot make a strict projection of the first or last day of datetime", Proof: "its message: it computes in datetime.date, whose years are 1 to 9999",
		Error: regexp.MustCompile(`OverflowError: date value out of range`), When: partitionLeaf(func(_ *Model, _ *Pred, s SpecField) bool { return timeTransform(s) }),
	},
	{
		ID: "pyiceberg-decimal-set", Seed: 108, Reader: "pyiceberg", Version: "0.12.0", Wrong: "cannot use IN with decimals for which the first literal has fewer digits than the column", Proof: "its message",
		Error: regexp.MustCompile(`Decimal type with precision \d+ does not fit into precision inferred from first array element`),
		When: leaf(func(_ *Model, l *Pred) bool {
			return l.Col.field().Type.Kind == Decimal && strings.HasSuffix(l.Op, "in")
		}),
	},
	{
		ID: "pyiceberg-nan", Seed: 15, Reader: "pyiceberg", Version: "0.12.0", Wrong: "a comparison with NaN follows IEEE 754", Proof: "DuckDB, Spark and lakescan hold NaN for equal to NaN and above all",
		Dialect: nanIEEE, When: kindLeaf(Float, Double),
	},
	{
		ID: "pyiceberg-nan-pruned", Seed: 32, Reader: "pyiceberg", Version: "0.12.0 with pyarrow 26", Wrong: "prunes rows with NaN that its own filter holds for true, NOT (x <= 1) or isnan(x): bounds know no NaN", Proof: "github.com/apache/arrow/issues/28074; Parquet format, Statistics: NaN is not in min and max",
		Fewer: nanRow, When: kindLeaf(Float, Double),
	},
	{
		ID: "pyiceberg-signed-zero", Seed: 219, Reader: "pyiceberg", Version: "0.12.0 with pyarrow 26", Wrong: "0.0 IN (-0.0) is false", Proof: "0.0 = -0.0 is true, here too; pyarrow's isin compares hashes",
		Dialect: signedZero, When: leaf(func(_ *Model, l *Pred) bool { return l.Col.field().Type.floating() && strings.HasSuffix(l.Op, "in") }),
	},
	{
		ID: "pyiceberg-float-literal", Seed: 361, Reader: "pyiceberg", Version: "0.12.0", Wrong: "rounds a literal to a float for files that have a column, now double, as float: 98.41695404052734 is IN (98.41695404052736) there", Proof: "Iceberg specification, Schema Evolution: the column is double, and the literal one; files with doubles give the other answer",
		Dialect: floatLiteral, When: every(feature("promote"), kindLeaf(Double)),
	},
	{
		ID: "pyiceberg-null-not-in", Seed: 1, Reader: "pyiceberg", Version: "0.12.0", Wrong: "NULL NOT IN (…) is true", Proof: "SQL: unknown; its io/pyarrow.py inverts isin, which is false for NULL",
		Dialect: nullNotIn, When: leaf(func(_ *Model, l *Pred) bool { return strings.HasSuffix(l.Op, "in") }),
	},
	{
		ID: "pyiceberg-not-absent", Seed: 7, Reader: "pyiceberg", Version: "0.12.0", Wrong: "a test of a column that the file lacks is decided for the file before NOT is applied, so that NULL is not unknown: NOT (x >= 1) keeps its rows", Proof: "SQL: NOT unknown is unknown; the same rows, rewritten to a file that has the column, are not returned",
		Dialect: absentTwo, When: filtered,
	},
	{
		ID: "pyiceberg-uuid-partition", Seed: 196, Reader: "pyiceberg", Version: "0.12.0", Wrong: "a UUID of a partition tuple (a UUID) is unequal to every literal (bytes)", Proof: "github.com/apache/iceberg/issues/8248",
		Dialect: uuidPartition, When: partitionLeaf(func(_ *Model, _ *Pred, s SpecField) bool { return s.source().Type.Kind == UUID }),
	},
	{
		ID: "pyiceberg-not-far", Seed: 276, Reader: "pyiceberg", Version: "0.12.0", Wrong: "a literal beyond an int is decided before NOT for files that have the column, now long, as int: NOT (NULL = 9223372036854775806) keeps the row", Proof: "SQL: NOT unknown is unknown; a file with a long does not return it",
		Dialect: farLiteral, When: every(feature("promote"), leaf(func(_ *Model, l *Pred) bool { return l.beyondInt() })),
	},
	{
		ID: "pyiceberg-nested-default", Seed: 29, Reader: "pyiceberg", Version: "0.12.0", Wrong: "the default of a field counts in filters where the struct that holds it is NULL", Proof: "its own rows have NULL there; Iceberg specification, Default values: the default of a field of a struct that is there",
		Dialect: nestedDefault, When: leaf(func(_ *Model, l *Pred) bool { return len(l.Col.Path) > 1 && l.Col.field().Default != nil }),
	},
	{
		ID: "pyiceberg-truncate-wrap", Seed: 197, Reader: "pyiceberg", Version: "0.12.0", Wrong: "prunes a partition whose truncated value was wrapped at the end of its type", Proof: "Iceberg specification, Truncate Transform Details: v - (((v % W) + W) % W) in the arithmetic of the type, which Java and iceberg-go wrap",
		Fewer: truncateWrapped, When: partitionLeaf(func(_ *Model, _ *Pred, s SpecField) bool { return strings.HasPrefix(s.Transform, "truncate") }),
	},
	{
		ID: "pyiceberg-null-lists", Seed: 41, Reader: "pyiceberg", Version: "0.12.0", Wrong: "a NULL list of structs, lists or maps is read as an empty one", Proof: "the file has a null there: definition level 0",
		Alter: emptied(false), When: func(m *Model, _ *Pred) bool { return hasKind(m.schema(), List) },
	},
	{
		ID: "pyiceberg-null-maps", Seed: 16, Reader: "pyiceberg", Version: "0.12.0", Wrong: "a NULL map of structs, lists or maps is read as an empty one", Proof: "the file has a null there: definition level 0",
		Alter: emptied(true), When: func(m *Model, _ *Pred) bool { return hasKind(m.schema(), Map) },
	},
}

// truncateWrapped is true of a row within a truncation's width of the least value of its type, in a column that the predicate tests.
func truncateWrapped(_ *Model, p *Pred, r Row) bool {
	return slices.ContainsFunc(r.File.Spec.Fields, func(f SpecField) bool {
		v, ok := dig(r.Values, f.Path).(int64)
		lo := map[Kind]int64{Int: math.MinInt32, Long: math.MinInt64}[f.source().Type.Kind]
		return ok && strings.HasPrefix(f.Transform, "truncate") && v < lo+100 && tests(p, f.source().ID)
	})
}

// renamed is true of a column that the table's current schema has not, or not under the same names.
func renamed(m *Model, c Column) bool {
	return !slices.ContainsFunc(columns(m.table().schema(), nil), func(now Column) bool { return now.field().ID == c.field().ID && slices.Equal(now.names(), c.names()) })
}

func nestedUUID(t *Type) bool {
	return slices.ContainsFunc(t.Fields, func(f *Field) bool { return hasKind(f.Type, UUID) })
}

// emptied gives a value with the null lists of nested elements, and the null maps if maps is set, at any depth, as empty ones.
func emptied(maps bool) func(Row, *Type) map[int]any {
	var empty func(v any, t *Type) any
	empty = func(v any, t *Type) any {
		switch x := v.(type) {
		case nil:
			switch {
			case t.Kind == List && !t.Fields[0].Type.primitive():
				return []any{}
			case t.Kind == Map && maps && !t.Fields[1].Type.primitive():
				return [][2]any{}
			}
		case map[int]any:
			out := map[int]any{}
			for _, f := range t.Fields {
				out[f.ID] = empty(x[f.ID], f.Type)
			}
			return out
		case []any:
			out := []any{}
			for _, e := range x {
				out = append(out, empty(e, t.Fields[0].Type))
			}
			return out
		case [][2]any:
			out := [][2]any{}
			for _, e := range x {
				out = append(out, [2]any{e[0], empty(e[1], t.Fields[1].Type)})
			}
			return out
		}
		return v
	}
	return func(r Row, t *Type) map[int]any { return empty(r.Values, t).(map[int]any) }
}
