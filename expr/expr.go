// Package expr is the predicate tree shared by planning, pruning and row filters. It is pure.
//
// The type language between packages is an *arrow.Schema whose fields carry PARQUET:field_id in their metadata.
package expr

import "github.com/apache/arrow-go/v18/arrow"

// Expr is a predicate: TRUE, FALSE or unknown for a row. A tree is immutable and may be shared by goroutines.
// Its text form round-trips: Parse(e.String()) equals e.
//
// The implementations are Bool, Unknown, And, Or, Not, Compare, CompareColumns, In, IsNull, IsNaN, StartsWith, Like and
// Match. A bound tree (the result of Bind) holds no Not: negation lies in the leaves.
type Expr interface {
	String() string
	isExpr()
}

// Op is a comparison.
type Op uint8

// Comparisons. NaN equals NaN and is above every number, -0.0 = 0.0, strings and bytes compare as unsigned bytes.
const (
	EQ Op = iota
	NE
	LT
	LE
	GT
	GE
)

// Column names a field. Path is what was written, one entry a struct level; ID and Type are filled by Bind (ID 0 = not bound).
type Column struct {
	Path []string
	ID   int
	Type arrow.DataType
}

// Literal is a typed value; nil Value = NULL. After Bind the Go type of Value follows Type:
//
//	bool                              bool
//	every signed integer, date32 (days), time, timestamp (in the unit of Type)   int64
//	unsigned integers                 uint64
//	float16, float32, float64         float64
//	decimal128, decimal256            *big.Int, unscaled
//	utf8                              string
//	binary, fixed_size_binary (uuid = 16 big-endian bytes)                       []byte
type Literal struct {
	Type  arrow.DataType
	Value any
}

type (
	// Bool is a constant.
	Bool bool
	// Unknown is SQL's NULL as a predicate: it selects nothing, and neither does its negation.
	Unknown struct{}
	// And has two or more arguments.
	And []Expr
	// Or has two or more arguments.
	Or []Expr
	// Not is absent from a bound tree.
	Not struct{ X Expr }
	// Compare is column op literal. Bind leaves no NULL literal here (it becomes Unknown) and widens, never narrows.
	Compare struct {
		Op  Op
		Col Column
		Lit Literal
	}
	// CompareColumns is column op column.
	CompareColumns struct {
		Op          Op
		Left, Right Column
	}
	// In holds non-null literals of one type, sorted and distinct after Bind. x NOT IN (…, NULL) is folded by Bind.
	In struct {
		Col     Column
		Lits    []Literal
		Negated bool
	}
	// IsNull is never unknown.
	IsNull struct {
		Col     Column
		Negated bool
	}
	// IsNaN is unknown for NULL.
	IsNaN struct {
		Col     Column
		Negated bool
	}
	// StartsWith compares bytes.
	StartsWith struct {
		Col     Column
		Prefix  string
		Negated bool
	}
	// Like takes % and _ and no escape but backslash; Bind turns 'abc%' into StartsWith.
	Like struct {
		Col     Column
		Pattern string
		Negated bool
	}
	// Match is a text predicate. Parse leaves Matcher nil; analyze.Bind fills it.
	Match struct {
		Kind    string
		Col     Column
		Text    string
		Matcher Matcher
		Negated bool
	}
)

// Matcher is implemented by index/analyze; it decides on one value.
type Matcher interface {
	Match(value []byte) bool
	Config() string // canonical analyzer text
}

// Verdict of a pruning evaluator.
type Verdict uint8

// Verdicts; Some is the answer to every doubt.
const (
	Some Verdict = iota // nothing is known
	None                // proved: no row of the unit is selected
	All                 // proved: every row of the unit is selected
)

// Parse reads the grammar of docs/cli.md, "Filters".
func Parse(text string) (Expr, error) { panic("expr: Parse") }

// MustParse panics on a bad text; for constants in programs.
func MustParse(text string) Expr { panic("expr: MustParse") }

// BindOptions: exact name first, then a unique fold match unless CaseSensitive. Zone reads literals without a zone (nil = UTC).
type BindOptions struct {
	CaseSensitive bool
}

// Bind resolves names to field ids and literals to column types, folds what is constant, and pushes NOT to the leaves.
// Binding a bound tree again (against the same or a wider schema) gives the same tree.
func Bind(e Expr, s *arrow.Schema, o BindOptions) (Expr, error) { panic("expr: Bind") }

// Columns appends the distinct field ids that a bound tree reads, in order of first use.
func Columns(e Expr) []Column { panic("expr: Columns") }
