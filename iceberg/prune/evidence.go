package prune

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
)

// Evidence is what is proved of one column over a unit of rows. The zero value proves nothing.
type Evidence struct {
	Lower, Upper  expr.Literal // limits of all values that are neither NULL nor NaN; a nil Value is open
	NoNulls       bool
	AllNull       bool
	NoNaNs        bool // no NaN; of types without NaN always
	AllNaN        bool // every value is NaN, and none NULL
	AllNullOrNaNs bool
}

// hasNaN reports whether values of the type can be NaN.
func hasNaN(t arrow.DataType) bool {
	return t.ID() == arrow.FLOAT32 || t.ID() == arrow.FLOAT64
}

// FromMetric judges the counts and bounds of a file's column of type t; rows is the file's record count. A count that is
// absent is unknown, not 0 (case L29). Counts that contradict the record count prove nothing.
func FromMetric(t arrow.DataType, m manifest.Metric, rows int64) Evidence {
	e := Evidence{NoNaNs: !hasNaN(t)}
	e.bounds(t, m.Lower, m.Upper)
	if m.Values >= 0 && m.Values != rows || m.Nulls > rows || m.NaNs > rows {
		return e
	}
	e.NoNulls = m.Nulls == 0
	e.NoNaNs = e.NoNaNs || m.NaNs == 0
	if m.Values < 0 || m.Nulls < 0 {
		return e
	}
	e.AllNull = m.Nulls == m.Values
	if m.NaNs >= 0 && hasNaN(t) {
		e.AllNullOrNaNs = m.Nulls+m.NaNs == m.Values
		e.AllNaN = m.NaNs == m.Values
	}
	return e
}

// FromSummary judges the summary of a partition field with values of type t.
func FromSummary(t arrow.DataType, s manifest.Summary) Evidence {
	e := Evidence{NoNulls: !s.ContainsNull, NoNaNs: !hasNaN(t) || s.ContainsNaN == manifest.No}
	e.bounds(t, s.Lower, s.Upper)
	return e
}

// FromValue knows the one value that all rows of the unit have.
func FromValue(v expr.Literal) Evidence {
	if v.Value == nil {
		return Evidence{AllNull: true, NoNaNs: true, AllNullOrNaNs: true}
	}
	if f, ok := v.Value.(float64); ok && f != f {
		return Evidence{NoNulls: true, AllNaN: true, AllNullOrNaNs: true}
	}
	return Evidence{Lower: v, Upper: v, NoNulls: true, NoNaNs: true}
}

// bounds takes what can be used; bounds that cross are both dropped.
func (e *Evidence) bounds(t arrow.DataType, lower, upper []byte) {
	lo, okLo := Bound(t, lower)
	up, okUp := Bound(t, upper)
	if okLo && okUp && lo.Compare(up) > 0 {
		return
	}
	if okLo {
		e.Lower = lo
	}
	if okUp {
		e.Upper = up
	}
}

// below, above: every value that is neither NULL nor NaN is known to lie on that side of v, or on it.
func (e *Evidence) below(v expr.Literal) bool { return e.Upper.Value != nil && e.Upper.Compare(v) < 0 }

func (e *Evidence) notAbove(v expr.Literal) bool {
	return e.Upper.Value != nil && e.Upper.Compare(v) <= 0
}

func (e *Evidence) above(v expr.Literal) bool { return e.Lower.Value != nil && e.Lower.Compare(v) > 0 }

func (e *Evidence) notBelow(v expr.Literal) bool {
	return e.Lower.Value != nil && e.Lower.Compare(v) >= 0
}

// exactly: every value that is neither NULL nor NaN equals v.
func (e *Evidence) exactly(v expr.Literal) bool {
	return e.Lower.Value != nil && e.Upper.Value != nil && e.Lower.Compare(v) == 0 && e.Upper.Compare(v) == 0
}

// outside: no value that is neither NULL nor NaN equals v.
func (e *Evidence) outside(v expr.Literal) bool { return e.below(v) || e.above(v) }
