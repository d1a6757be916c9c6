package manifest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/transform"
)

// AppendValue appends the binary single-value form of a value, as bounds are written (Iceberg specification, appendix D).
func AppendValue(dst []byte, t arrow.DataType, v any) ([]byte, error) {
	switch x := v.(type) {
	case bool:
		if x {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case int64:
		if id := t.ID(); id == arrow.INT32 || id == arrow.DATE32 {
			return binary.LittleEndian.AppendUint32(dst, uint32(x)), nil
		}
		return binary.LittleEndian.AppendUint64(dst, uint64(x)), nil
	case float64:
		if t.ID() == arrow.FLOAT32 {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(x))), nil
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x)), nil
	case *big.Int:
		return append(dst, transform.TwosComplement(x)...), nil
	case string:
		return append(dst, x...), nil
	case []byte:
		return append(dst, x...), nil
	}
	return dst, fmt.Errorf("manifest: no single-value form of %v (%s)", v, t)
}

// Summarizer gathers the summary of one partition field. The zero value is ready but for its type.
type Summarizer struct {
	Type         arrow.DataType
	null, nan    bool
	lower, upper expr.Literal
}

// Add takes the field's value in one more file.
func (s *Summarizer) Add(v any) {
	l := expr.Literal{Type: s.Type, Value: v}
	switch f, isFloat := v.(float64); {
	case v == nil:
		s.null = true
		return
	case isFloat && f != f:
		s.nan = true
		return
	}
	if s.lower.Value == nil || l.Compare(s.lower) < 0 {
		s.lower = l
	}
	if s.upper.Value == nil || l.Compare(s.upper) > 0 {
		s.upper = l
	}
}

// Summary of what was added.
func (s *Summarizer) Summary() (Summary, error) {
	out := Summary{ContainsNull: s.null, ContainsNaN: No}
	if s.nan {
		out.ContainsNaN = Yes
	}
	if s.lower.Value == nil {
		return out, nil
	}
	var err error
	if out.Lower, err = AppendValue([]byte{}, s.Type, s.lower.Value); err != nil {
		return out, err
	}
	out.Upper, err = AppendValue([]byte{}, s.Type, s.upper.Value)
	return out, err
}
