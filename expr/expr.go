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

var opText = [...]string{EQ: "=", NE: "<>", LT: "<", LE: "<=", GT: ">", GE: ">="}

func (o Op) String() string {
	if int(o) < len(opText) {
		return opText[o]
	}
	return "?"
}

// Negate returns the comparison that holds exactly when o does not (NULL aside).
func (o Op) Negate() Op { return [...]Op{EQ: NE, NE: EQ, LT: GE, LE: GT, GT: LE, GE: LT}[o] }

// Flip returns the comparison with its sides exchanged: a o b is b o.Flip() a.
func (o Op) Flip() Op { return [...]Op{EQ: EQ, NE: NE, LT: GT, LE: GE, GT: LT, GE: LE}[o] }

// Holds reports whether "a o b" is true, given c = the sign of a compared with b.
func (o Op) Holds(c int) bool {
	switch o {
	case EQ:
		return c == 0
	case NE:
		return c != 0
	case LT:
		return c < 0
	case LE:
		return c <= 0
	case GT:
		return c > 0
	default:
		return c >= 0
	}
}

// Column names a field. Path is what was written, one entry a struct level; ID and Type are filled by Bind (ID 0 = not
// bound), which also gives Path the spelling of the schema.
type Column struct {
	Path []string
	ID   int
	Type arrow.DataType
}

// Literal is a typed value; nil Value = NULL. The Go type of Value follows Type:
//
//	bool                              bool
//	every signed integer, date32 (days), date64 (ms), time, timestamp (in the unit of Type)   int64
//	unsigned integers                 uint64
//	float16, float32, float64         float64
//	decimal32 … decimal256            *big.Int, unscaled
//	utf8 (large, view)                string
//	binary (large, view), fixed_size_binary (uuid = 16 big-endian bytes)                      []byte
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
	// Compare is column op literal. Bind leaves no NULL literal (it becomes Unknown) and no NaN (it becomes IsNaN) here.
	Compare struct {
		Op  Op
		Col Column
		Lit Literal
	}
	// CompareColumns is column op column. Bind demands comparable types, not equal ones.
	CompareColumns struct {
		Op          Op
		Left, Right Column
	}
	// In holds two or more non-null literals of the column's type, sorted and distinct, after Bind.
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
	// StartsWith compares bytes; the column is a string or binary.
	StartsWith struct {
		Col     Column
		Prefix  string
		Negated bool
	}
	// Like takes % (any text), _ (one character) and the escape \; Bind turns 'abc%' into StartsWith.
	Like struct {
		Col     Column
		Pattern string
		Negated bool
	}
	// Match is a text predicate. Parse leaves Matcher nil; analyze.Bind fills it. Kind is one of MatchKinds.
	Match struct {
		Kind    string
		Col     Column
		Text    string
		Matcher Matcher
		Negated bool
	}
)

// Matcher is implemented by index/analyze; it decides on one value. Safe for concurrent use.
type Matcher interface {
	Match(value []byte) bool
	Config() string // canonical analyzer text
}

// Kinds of Match, as their functions are written. match_any is read as match.
const (
	KindMatch             = "match"
	KindMatchAll          = "match_all"
	KindMatchPhrase       = "match_phrase"
	KindMatchPhrasePrefix = "match_phrase_prefix"
	KindMatchPrefix       = "match_prefix"
	KindMatchRegexp       = "match_regexp"
)

// MatchKinds lists the text predicates.
var MatchKinds = []string{KindMatch, KindMatchAll, KindMatchPhrase, KindMatchPhrasePrefix, KindMatchPrefix, KindMatchRegexp}

// Verdict of a pruning evaluator.
type Verdict uint8

// Verdicts; Some is the answer to every doubt.
const (
	Some Verdict = iota // nothing is known
	None                // proved: no row of the unit is selected
	All                 // proved: every row of the unit is selected
)

func (v Verdict) String() string { return [...]string{Some: "some", None: "none", All: "all"}[v] }

func (Bool) isExpr()           {}
func (Unknown) isExpr()        {}
func (And) isExpr()            {}
func (Or) isExpr()             {}
func (Not) isExpr()            {}
func (Compare) isExpr()        {}
func (CompareColumns) isExpr() {}
func (In) isExpr()             {}
func (IsNull) isExpr()         {}
func (IsNaN) isExpr()          {}
func (StartsWith) isExpr()     {}
func (Like) isExpr()           {}
func (Match) isExpr()          {}
