package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lakescan/lakescan/internal/canon"
)

// name of a column's type.
func (c column) name() string { return canon.TypeName(c.typ) }

var (
	unit  = regexp.MustCompile(`(time|timestamp|timestamptz)\[\w+\]`)
	fixed = regexp.MustCompile(`fixed\[\d+\]`)
	nanos = regexp.MustCompile(`(\d\d:\d\d:\d\d\.\d{6})\d{3}`)
	clock = regexp.MustCompile(`(-?\d{4,}-\d\d-\d\dT)?\d\d:\d\d:\d\d\.\d{9}`)
)

// sameType compares types by their canonical names. The unit of a time is a reader's choice (the text of a value has nine digits
// whatever the unit); DuckDB has no type for some of Parquet's and takes the next.
func sameType(own, theirs column, reader string) bool {
	a, b := unit.ReplaceAllString(own.name(), "$1"), unit.ReplaceAllString(theirs.name(), "$1")
	if reader == "duckdb" {
		a = fixed.ReplaceAllString(a, "binary")
		a = strings.NewReplacer("float16", "float32", "null", "int32", "uuid", "string").Replace(a)
	}
	return a == b
}

// sameValues are cells in the form that both readers can give.
func sameValues(own, theirs column, reader string) (a, b []string) {
	a, b = own.cells, theirs.cells
	switch {
	case reader == "pyarrow" && strings.Contains(own.name(), "timestamp[us]") && strings.Contains(theirs.name(), "timestamp[ns]"):
		// INT96: lakescan's are microseconds, so that years beyond 2262 can be read.
		b = slices.Clone(b)
		for i := range min(len(a), len(b)) {
			b[i] = cutLike(a[i], b[i])
		}
	case reader == "duckdb" && own.name() == "float16": // exact in its float32, which has more digits in text
		b = mapped(b, func(s string) string {
			if v, err := strconv.ParseFloat(s, 64); err == nil {
				return strconv.FormatFloat(v, 'e', 4, 64)
			}
			return s
		})
	}
	return a, b
}

// cutLike cuts the clocks of b to microseconds where those of a have no more.
func cutLike(a, b string) string {
	like, n := nanos.FindAllString(a, -1), 0
	return nanos.ReplaceAllStringFunc(b, func(s string) string {
		if n < len(like) && strings.HasSuffix(like[n], "000") {
			s = s[:len(s)-3] + "000"
		}
		n++
		return s
	})
}

func mapped(s []string, f func(string) string) []string {
	s = slices.Clone(s)
	for i := range s {
		s[i] = f(s[i])
	}
	return s
}

// refusals are what readers cannot read, by a part of their error.
var refusals = []struct{ reader, part, reason string }{
	{"duckdb", "BYTE_STREAM_SPLIT encoding is only supported for FLOAT or DOUBLE data", "BYTE_STREAM_SPLIT of integers and fixed-length values, which the format allows"},
	{"pyarrow", "has length smaller than expected for struct array", "lists in structs, at times, in a file that it wrote itself"},
	{"duckdb", "Payload value bigger than allowed", "runs of true in RLE booleans as parquet-go writes them, a byte of ones"},
}

func knownRefusal(reader, why string) string {
	for _, k := range refusals {
		if k.reader == reader && strings.Contains(why, k.part) {
			return k.reason
		}
	}
	return ""
}

// knownType names the reason why another reader has a type of its own for a column, so that values cannot be compared.
func knownType(reader string, own, theirs column) string {
	if reader == "pyarrow" && strings.ReplaceAll(unit.ReplaceAllString(own.name(), "$1"), "string", "binary") == strings.ReplaceAll(unit.ReplaceAllString(theirs.name(), "$1"), "string", "binary") {
		return "ENUM is binary, not a string (LogicalTypes.md: it is interpreted as a string encoded by UTF-8)"
	}
	return ""
}

// knownDifference names the fault of another reader that makes a column differ; "" if none is known.
func knownDifference(reader string, own, theirs column) string {
	if reader == "duckdb" && strings.Contains(own.name(), "[ns]") && slices.EqualFunc(own.cells, theirs.cells, nearly) {
		return "nanoseconds of times and of timestamps with a zone are cut or rounded to microseconds"
	}
	return ""
}

// nearly: the same text, but for clocks that differ by less than a microsecond.
func nearly(a, b string) bool {
	if clock.ReplaceAllString(a, "") != clock.ReplaceAllString(b, "") {
		return false
	}
	x, y := clock.FindAllString(a, -1), clock.FindAllString(b, -1)
	return slices.EqualFunc(x, y, func(x, y string) bool {
		layout := "2006-01-02T15:04:05"
		if !strings.Contains(x, "T") {
			layout = "15:04:05"
		}
		s, err := time.Parse(layout, x)
		t, err2 := time.Parse(layout, y)
		return err == nil && err2 == nil && s.Sub(t).Abs() < time.Microsecond
	})
}
