package expr

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// BindOptions: exact name first, then a unique fold match unless CaseSensitive. Zone reads literals without a zone against
// columns with one, and the reverse (nil = UTC).
type BindOptions struct {
	CaseSensitive bool
	Zone          *time.Location
}

// Bind resolves names to field ids and literals to column types, folds what is constant, and pushes NOT to the leaves.
// Errors are *BindError. The result is TRUE for exactly the rows for which e is TRUE; see "Bound trees" in the package comment.
// Binding a bound tree again (against the same or a wider schema) gives the same tree.
func Bind(e Expr, s *arrow.Schema, o BindOptions) (Expr, error) {
	b := binder{schema: s, o: o}
	return b.bind(e, false)
}

// ResolveColumn finds one column by the rules of Bind; a column that has an ID is found by it.
func ResolveColumn(c Column, s *arrow.Schema, o BindOptions) (Column, arrow.Field, error) {
	b := binder{schema: s, o: o}
	return b.column(c)
}

type binder struct {
	schema *arrow.Schema
	o      BindOptions
}

func (b *binder) bind(e Expr, neg bool) (Expr, error) {
	switch x := e.(type) {
	case Bool:
		return Bool(bool(x) != neg), nil
	case Unknown:
		return x, nil
	case Not:
		return b.bind(x.X, !neg)
	case And:
		return b.bindList(x, neg, !neg)
	case Or:
		return b.bindList(x, neg, neg)
	case CompareColumns:
		return b.compareColumns(x, neg)
	case nil:
		return nil, &BindError{Column: "?", Msg: "the filter is nil"}
	}
	col, _ := leafColumn(e)
	col, f, err := b.column(col)
	if err != nil {
		return nil, err
	}
	out, err := b.leaf(e, col, f, neg)
	if err != nil {
		return nil, &BindError{Column: col.String(), Msg: err.Error()}
	}
	return out, nil
}

// bindList binds the arguments and joins them. Unknown is neutral in an Or and decides an And: a bound tree is asked for TRUE
// only.
func (b *binder) bindList(args []Expr, neg, conj bool) (Expr, error) {
	out := make([]Expr, 0, len(args))
	unknown := false
	for _, a := range args {
		x, err := b.bind(a, neg)
		if err != nil {
			return nil, err
		}
		if (x == Unknown{}) {
			unknown = true
			continue
		}
		out = append(out, x)
	}
	if conj {
		e := Conj(out...)
		if unknown && e != Bool(false) {
			return Unknown{}, nil
		}
		return e, nil
	}
	e := Disj(out...)
	if unknown && e == Bool(false) {
		return Unknown{}, nil
	}
	return e, nil
}

func (b *binder) leaf(e Expr, col Column, f arrow.Field, neg bool) (Expr, error) {
	if kindOf(col.Type) == kindNull { // every value is NULL
		if x, ok := e.(IsNull); ok {
			return Bool(x.Negated == neg), nil
		}
		return Unknown{}, nil
	}
	switch x := e.(type) {
	case IsNull:
		return IsNull{col, x.Negated != neg}, nil
	case IsNaN:
		return bindIsNaN(col, f, x.Negated != neg)
	case Compare:
		op := x.Op
		if neg {
			op = op.Negate()
		}
		return b.compare(col, f, op, x.Lit)
	case In:
		return b.in(col, f, x.Lits, x.Negated != neg)
	case StartsWith:
		if k := kindOf(col.Type); k != kindString && k != kindBytes {
			return nil, fmt.Errorf("a %s has no prefix", TypeName(f))
		}
		if x.Prefix == "" {
			return orNotNull(col, x.Negated == neg), nil
		}
		return StartsWith{col, x.Prefix, x.Negated != neg}, nil
	case Like:
		return bindLike(col, f, x.Pattern, x.Negated != neg)
	case Match:
		if k := kindOf(col.Type); k != kindString && k != kindBytes {
			return nil, fmt.Errorf("%s needs text, not a %s", x.Kind, TypeName(f))
		}
		return Match{x.Kind, col, x.Text, x.Matcher, x.Negated != neg}, nil
	}
	return nil, fmt.Errorf("unknown predicate %T", e)
}

// orNotNull is a predicate that is all (or, not all, no) of the values that are not NULL.
func orNotNull(col Column, all bool) Expr {
	if all {
		return IsNull{col, true}
	}
	return Bool(false)
}

func bindIsNaN(col Column, f arrow.Field, neg bool) (Expr, error) {
	switch k := kindOf(col.Type); {
	case k == kindFloat:
		return IsNaN{col, neg}, nil
	case k.numeric():
		return orNotNull(col, neg), nil
	}
	return nil, fmt.Errorf("a %s is never NaN", TypeName(f))
}

func bindLike(col Column, f arrow.Field, pattern string, neg bool) (Expr, error) {
	if kindOf(col.Type) != kindString {
		return nil, fmt.Errorf("LIKE needs text, not a %s", TypeName(f))
	}
	l, err := CompileLike(pattern)
	if err != nil {
		return nil, err
	}
	switch text, shape := l.literal(); shape {
	case likeExact:
		op := EQ
		if neg {
			op = NE
		}
		return Compare{op, col, Literal{col.Type, text}}, nil
	case likeAny:
		return orNotNull(col, !neg), nil
	case likePrefix:
		return StartsWith{col, text, neg}, nil
	}
	return Like{col, pattern, neg}, nil
}

// compare says "column op lit" in the column's own type; see locate.
func (b *binder) compare(col Column, f arrow.Field, op Op, lit Literal) (Expr, error) {
	if lit.IsNull() {
		return Unknown{}, nil
	}
	below, floor, exact, err := locate(f, lit, b.o.Zone)
	if err != nil {
		return nil, err
	}
	if below {
		return orNotNull(col, op == NE || op == GT || op == GE), nil
	}
	if !exact {
		switch op {
		case EQ, NE:
			return orNotNull(col, op == NE), nil
		case LT:
			op = LE
		case GE:
			op = GT
		}
	}
	return atEdge(col, op, floor), nil
}

// atEdge folds comparisons with the least and the greatest value of the type.
func atEdge(col Column, op Op, lit Literal) Expr {
	least, most := atBounds(lit)
	if v, ok := lit.Value.(float64); ok && v != v { // NaN is the greatest, and has its own predicate
		switch op {
		case EQ, GE:
			return IsNaN{col, false}
		case NE, LT:
			return IsNaN{col, true}
		}
	}
	switch {
	case most && op == GT, least && op == LT:
		return Bool(false)
	case most && op == LE, least && op == GE:
		return orNotNull(col, true)
	case most && op == GE, least && op == LE:
		op = EQ
	}
	if v, ok := lit.Value.(bool); ok { // two values: everything is an equality
		return Compare{EQ, col, Literal{lit.Type, v == (op == EQ)}}
	}
	return Compare{op, col, lit}
}

// atBounds reports whether lit is the least or the greatest value of its type.
func atBounds(lit Literal) (least, most bool) {
	switch v := lit.Value.(type) {
	case bool:
		return !v, v
	case string:
		return v == "", false
	case []byte:
		fixed := kindOf(lit.Type) == kindFixed
		is := func(x byte) bool { return !slices.ContainsFunc(v, func(b byte) bool { return b != x }) }
		return len(v) == 0 || fixed && is(0), fixed && is(0xff)
	case float64:
		return false, v != v
	}
	lo, hi := bounds(lit.Type)
	n := number(lit)
	n.Quo(n, quantum(lit.Type))
	return n.Num().Cmp(lo) == 0, n.Num().Cmp(hi) == 0
}

func (b *binder) in(col Column, f arrow.Field, lits []Literal, neg bool) (Expr, error) {
	kept := make([]Literal, 0, len(lits))
	null, nan := false, false
	for _, l := range lits {
		if l.IsNull() {
			null = true
			continue
		}
		below, floor, exact, err := locate(f, l, b.o.Zone)
		if err != nil {
			return nil, err
		}
		v, isFloat := floor.Value.(float64)
		switch {
		case below || !exact:
		case isFloat && v != v:
			nan = true
		default:
			kept = append(kept, floor)
		}
	}
	if null && neg { // unknown for every value that is not in the list
		return Unknown{}, nil
	}
	slices.SortFunc(kept, Literal.Compare)
	kept = slices.CompactFunc(kept, func(a, b Literal) bool { return a.Compare(b) == 0 })
	var list Expr
	op := EQ
	if neg {
		op = NE
	}
	switch {
	case len(lits) == 0: // TRUE even for NULL
		return Bool(neg), nil
	case len(kept) == 0:
		list = orNotNull(col, neg)
	case len(kept) == 1:
		list = atEdge(col, op, kept[0])
	case kindOf(col.Type) == kindBool: // both
		list = orNotNull(col, !neg)
	default:
		list = In{col, kept, neg}
	}
	switch {
	case nan && len(kept) == 0:
		return IsNaN{col, neg}, nil
	case nan && neg:
		return Conj(list, IsNaN{col, true}), nil
	case nan:
		return Disj(list, IsNaN{col, false}), nil
	case null && len(kept) == 0:
		return Unknown{}, nil
	}
	return list, nil
}

func (b *binder) compareColumns(x CompareColumns, neg bool) (Expr, error) {
	left, lf, err := b.column(x.Left)
	if err != nil {
		return nil, err
	}
	right, rf, err := b.column(x.Right)
	if err != nil {
		return nil, err
	}
	op := x.Op
	if neg {
		op = op.Negate()
	}
	switch kl, kr := kindOf(left.Type), kindOf(right.Type); {
	case kl == kindNull || kr == kindNull:
		return Unknown{}, nil
	case !comparable2(left.Type, right.Type):
		return nil, &BindError{Column: left.String(), Msg: fmt.Sprintf("a %s cannot be compared with %s, a %s", TypeName(lf), right, TypeName(rf))}
	case left.ID == right.ID:
		return orNotNull(left, op.Holds(0)), nil
	}
	return CompareColumns{op, left, right}, nil
}

// comparable2 reports whether values of two types have one order: numbers, texts, bytes, times of day, and dates and
// timestamps; a timestamp with a zone only with its like.
func comparable2(a, b arrow.DataType) bool {
	ka, kb := kindOf(a), kindOf(b)
	switch {
	case ka == kindOther || kb == kindOther:
		return false
	case ka.numeric():
		return kb.numeric()
	case ka.bytes():
		return kb.bytes()
	case ka == kindDate || ka == kindTimestamp:
		return (kb == kindDate || kb == kindTimestamp) && hasZone(a) == hasZone(b)
	}
	return ka == kb
}

// column resolves a name, or the id of a column that was bound before.
func (b *binder) column(c Column) (Column, arrow.Field, error) {
	var path []arrow.Field
	if c.ID != 0 {
		if path = findID(b.schema.Fields(), c.ID); path == nil {
			return c, arrow.Field{}, &BindError{Column: c.String(), Msg: fmt.Sprintf("the schema has no field %d", c.ID)}
		}
	} else {
		var err error
		if path, err = b.resolve(c); err != nil {
			return c, arrow.Field{}, err
		}
	}
	f := path[len(path)-1]
	id, ok := FieldID(f)
	if !ok || id == 0 {
		return c, f, &BindError{Column: c.String(), Msg: "the schema gives it no field id"}
	}
	out := Column{ID: id, Type: ValueType(f.Type)}
	for _, p := range path {
		out.Path = append(out.Path, p.Name)
	}
	return out, f, nil
}

// findID returns the fields from the root to the one with the id, through structs.
func findID(fields []arrow.Field, id int) []arrow.Field {
	for _, f := range fields {
		if n, ok := FieldID(f); ok && n == id {
			return []arrow.Field{f}
		}
		if st, ok := f.Type.(*arrow.StructType); ok {
			if below := findID(st.Fields(), id); below != nil {
				return append([]arrow.Field{f}, below...)
			}
		}
	}
	return nil
}

func (b *binder) resolve(c Column) ([]arrow.Field, error) {
	if len(c.Path) == 0 {
		return nil, &BindError{Column: "?", Msg: "a column without a name"}
	}
	fields := b.schema.Fields()
	var path []arrow.Field
	for i, name := range c.Path {
		f, err := b.pick(fields, c, i, name)
		if err != nil {
			return nil, err
		}
		path = append(path, f)
		if i == len(c.Path)-1 {
			break
		}
		st, ok := f.Type.(*arrow.StructType)
		if !ok {
			msg := fmt.Sprintf("%s is a %s, not a struct", Column{Path: c.Path[:i+1]}, TypeName(f))
			return nil, &BindError{Column: c.String(), Msg: msg}
		}
		fields = st.Fields()
	}
	return path, nil
}

// pick finds name among fields, level i of c: the exact one, else the only one that differs in case.
func (b *binder) pick(fields []arrow.Field, c Column, i int, name string) (arrow.Field, error) {
	var exact, fold []arrow.Field
	for _, f := range fields {
		switch {
		case f.Name == name:
			exact = append(exact, f)
		case !b.o.CaseSensitive && strings.EqualFold(f.Name, name):
			fold = append(fold, f)
		}
	}
	found := exact
	if len(found) == 0 {
		found = fold
	}
	spell := func(n string) string { return Column{Path: append(slices.Clone(c.Path[:i]), n)}.String() }
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		e := &BindError{Column: c.String(), Msg: "no such column"}
		names := make([]string, len(fields))
		for n, f := range fields {
			names[n] = f.Name
		}
		if dotted := strings.Join(c.Path[i:], "."); dotted != name && slices.Contains(names, dotted) {
			e.Near = []string{spell(dotted)}
			return arrow.Field{}, e
		}
		for _, n := range Nearest(name, names) {
			e.Near = append(e.Near, spell(n))
		}
		return arrow.Field{}, e
	}
	e := &BindError{Column: c.String(), Msg: "the name is ambiguous"}
	for _, f := range found {
		e.Candidates = append(e.Candidates, spell(f.Name))
	}
	return arrow.Field{}, e
}

// TypeName is a field's type as people say it.
func TypeName(f arrow.Field) string {
	if IsUUID(f) {
		return "uuid"
	}
	switch t := ValueType(f.Type).(type) {
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return fmt.Sprintf("timestamptz[%s]", t.Unit)
		}
		return fmt.Sprintf("timestamp[%s]", t.Unit)
	case arrow.DecimalType:
		return fmt.Sprintf("decimal(%d,%d)", t.GetPrecision(), t.GetScale())
	case *arrow.Date32Type, *arrow.Date64Type:
		return "date"
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return "string"
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return "binary"
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("fixed(%d)", t.ByteWidth)
	case *arrow.StructType, *arrow.ListType, *arrow.MapType, *arrow.LargeListType, *arrow.FixedSizeListType:
		return t.Name()
	default:
		return t.String()
	}
}
