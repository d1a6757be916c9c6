package parquettest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Nested values: []any is a list, or a struct in the order of its fields; []Pair is a map; nil is null.

// Pair is an entry of a map.
type Pair struct{ Key, Value any }

// Leaf is what a file holds of one leaf column: an entry's levels each, and the values that are present.
type Leaf struct {
	Rep, Def []uint8
	Values   []any
}

// Shred turns rows into the columns of a file, as Dremel does (Melnik et al., section 4.2): each leaf gets an entry with the
// level at which it repeats and the level to which its path is defined. columns holds the rows of each top-level field.
func Shred(t *schema.Tree, columns [][]any) []Leaf {
	leaves := make([]Leaf, len(t.Leaves))
	for i, n := range t.Root.Children {
		for _, v := range columns[i] {
			shred(leaves, n, v, 0, 0)
		}
	}
	return leaves
}

func shred(leaves []Leaf, n *schema.Node, v any, rep, def int) {
	if v == nil || n.Kind == schema.List && len(v.([]any)) == 0 || n.Kind == schema.Map && len(v.([]Pair)) == 0 {
		if v != nil && n.Repetition == thrift.Optional {
			def++
		}
		for i := n.Leaf; i < n.Leaf+n.Leaves; i++ {
			leaves[i].Rep = append(leaves[i].Rep, uint8(rep))
			leaves[i].Def = append(leaves[i].Def, uint8(def))
		}
		return
	}
	if n.Repetition == thrift.Optional {
		def++
	}
	again := func(i int) int { // the level of the i-th entry
		if i == 0 {
			return rep
		}
		return n.Repeated().Rep
	}
	switch n.Kind {
	case schema.List:
		for i, e := range v.([]any) {
			shred(leaves, n.Element(), e, again(i), def+1)
		}
	case schema.Map:
		for i, p := range v.([]Pair) {
			shred(leaves, n.Key(), p.Key, again(i), def+1)
			shred(leaves, n.Value(), p.Value, again(i), def+1)
		}
	case schema.Struct, schema.Variant:
		for i, c := range n.Children {
			shred(leaves, c, v.([]any)[i], rep, def)
		}
	default:
		l := &leaves[n.Leaf]
		l.Rep, l.Def, l.Values = append(l.Rep, uint8(rep)), append(l.Def, uint8(def)), append(l.Values, v)
	}
}

// Text is the canonical text of a value (the corpus's README, "Canonical rows") for types without a logical one, strings
// and integers of any width.
func Text(n *schema.Node, v any) string {
	if v == nil {
		return "null"
	}
	var parts []string
	switch n.Kind {
	case schema.List:
		for _, e := range v.([]any) {
			parts = append(parts, Text(n.Element(), e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case schema.Map:
		for _, p := range v.([]Pair) {
			parts = append(parts, "["+Text(n.Key(), p.Key)+","+Text(n.Value(), p.Value)+"]")
		}
		return "[" + strings.Join(parts, ",") + "]"
	case schema.Struct:
		for i, c := range n.Children {
			parts = append(parts, strconv.Quote(c.Name)+":"+Text(c, v.([]any)[i]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return leafText(n, v)
}

func leafText(n *schema.Node, v any) string {
	unsigned := n.Logical.Kind == thrift.LogicalInt && !n.Logical.Signed
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int32:
		if unsigned {
			return strconv.FormatUint(uint64(uint32(v)), 10)
		}
		return strconv.Itoa(int(v))
	case int64:
		if unsigned {
			return strconv.FormatUint(uint64(v), 10)
		}
		return strconv.FormatInt(v, 10)
	case float32:
		return floatText(float64(v), 8)
	case float64:
		return floatText(v, 16)
	case []byte:
		if n.Logical.Kind == thrift.LogicalString {
			return strconv.Quote(string(v)) // of plain ASCII only
		}
		return fmt.Sprintf(`"0x%x"`, v)
	}
	panic(fmt.Sprintf("parquettest: no text for a %T", v))
}

func floatText(v float64, digits int) string {
	switch {
	case v != v:
		return `"NaN"`
	case math.IsInf(v, 1):
		return `"Infinity"`
	case math.IsInf(v, -1):
		return `"-Infinity"`
	}
	return strconv.FormatFloat(v, 'e', digits, 64)
}

// Rows are the canonical rows of a table.
func Rows(t *schema.Tree, columns [][]any) []string {
	var out []string
	for i := range columns[0] {
		var cells []string
		for c, n := range t.Root.Children {
			cells = append(cells, Text(n, columns[c][i]))
		}
		out = append(out, "["+strings.Join(cells, ",")+"]")
	}
	return out
}
