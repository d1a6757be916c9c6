package transform

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Kind of a transform.
type Kind uint8

// Kinds. Unknown is any text that this version does not know; it is kept, and used for nothing but equality of tuples.
const (
	Unknown Kind = iota
	Identity
	Bucket
	Truncate
	Year
	Month
	Day
	Hour
	Void
)

var names = [...]string{Identity: "identity", Bucket: "bucket", Truncate: "truncate", Year: "year", Month: "month", Day: "day", Hour: "hour", Void: "void"}

// Transform is one transform with its parameter: N buckets, or the width N of truncate.
type Transform struct {
	Kind Kind
	N    int32
	text string // of Unknown
}

// Parse reads the text form of the specification, for example "bucket[16]". It knows no error: text that it cannot read is
// Unknown.
func Parse(text string) Transform {
	name, rest, param := strings.Cut(strings.ToLower(text), "[")
	for k, known := range names {
		if known != name || known == "" {
			continue
		}
		kind := Kind(k)
		if wants := kind == Bucket || kind == Truncate; wants != param {
			break
		}
		if !param {
			return Transform{Kind: kind}
		}
		digits, closed := strings.CutSuffix(rest, "]")
		if n, err := strconv.ParseInt(digits, 10, 32); closed && err == nil && n > 0 {
			return Transform{Kind: kind, N: int32(n)}
		}
		break
	}
	return Transform{text: text}
}

// String is the text form of the specification.
func (t Transform) String() string {
	switch t.Kind {
	case Unknown:
		return t.text
	case Bucket, Truncate:
		return names[t.Kind] + "[" + strconv.Itoa(int(t.N)) + "]"
	}
	return names[t.Kind]
}

// Result is the type of the partition values that the transform makes of a source of type src; nil for Unknown.
func (t Transform) Result(src arrow.DataType) arrow.DataType {
	switch t.Kind {
	case Identity, Truncate, Void:
		return src
	case Bucket, Year, Month, Hour:
		return arrow.PrimitiveTypes.Int32
	case Day:
		return arrow.FixedWidthTypes.Date32
	}
	return nil
}
