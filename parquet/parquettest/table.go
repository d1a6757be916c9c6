package parquettest

import (
	"bytes"

	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Layout says how Table cuts and encodes. The zero value is one group of one PLAIN v1 page a column, uncompressed.
type Layout struct {
	GroupRows int // 0 = one group
	PageRows  int // 0 = one page a chunk
	// PageEntries cuts pages after that many entries instead, in the middle of a row too (version 1 without an index only).
	PageEntries int
	Version     int
	Codec       thrift.Codec
	// Encoding of a leaf; nil = PLAIN. A dictionary encoding makes the chunk's dictionary of all its values.
	Encoding func(leaf *schema.Node) thrift.Encoding
	// DictionaryPages is how many pages use the dictionary before the rest falls back to PLAIN; 0 = all.
	DictionaryPages int
	Runs            Runs
	OldLevels       bool
	EmptyBodies     bool // see Page.EmptyBody
	CRC             bool
	Index           bool
	Statistics      bool
	EncodingStats   bool
	BloomBlocks     int
	CreatedBy       string
}

// Always is the same encoding for every leaf.
func Always(e thrift.Encoding) func(*schema.Node) thrift.Encoding {
	return func(*schema.Node) thrift.Encoding { return e }
}

// Tree is the schema of elements (root first).
func Tree(elements []thrift.SchemaElement) *schema.Tree {
	t, err := schema.New(elements)
	must(err)
	return t
}

// Elements of a flat or nested table: the root is put in front, and what a literal leaves out is filled in.
func Elements(fields ...thrift.SchemaElement) []thrift.SchemaElement {
	out := []thrift.SchemaElement{{Name: "schema", Type: thrift.NoType, Converted: thrift.NoConverted}}
	skip := int32(0) // elements that belong to a group
	for _, f := range fields {
		if f.Converted == 0 {
			f.Converted = thrift.NoConverted
		}
		f.HasType = f.NumChildren == 0
		if !f.HasType {
			f.Type = thrift.NoType
		}
		if skip == 0 {
			out[0].NumChildren++
		} else {
			skip--
		}
		skip += f.NumChildren
		out = append(out, f)
	}
	return out
}

// Table makes a file of rows: columns holds the values of each top-level field.
func Table(elements []thrift.SchemaElement, columns [][]any, o Layout) *File {
	f := &File{Schema: elements, CreatedBy: o.CreatedBy}
	t := Tree(elements)
	rows := 0
	if len(columns) > 0 {
		rows = len(columns[0])
	}
	per := o.GroupRows
	if per <= 0 {
		per = max(rows, 1)
	}
	for at := 0; at < rows; at += per {
		n := min(per, rows-at)
		part := make([][]any, len(columns))
		for i := range columns {
			part[i] = columns[i][at : at+n]
		}
		g := Group{Rows: int64(n)}
		for i, l := range Shred(t, part) {
			g.Chunks = append(g.Chunks, o.chunk(t.Leaves[i], l))
		}
		f.Groups = append(f.Groups, g)
	}
	return f
}

func (o *Layout) chunk(n *schema.Node, l Leaf) Chunk {
	e := thrift.Plain
	if o.Encoding != nil {
		e = o.Encoding(n)
	}
	c := Chunk{Codec: o.Codec, Index: o.Index, BloomBlocks: o.BloomBlocks, EncodingStats: o.EncodingStats}
	if e.Dictionary() {
		c.Dictionary, c.OldDictionary = Distinct(l.Values), e == thrift.PlainDictionary
	}
	value := 0
	for from := 0; from < len(l.Def); {
		to := o.pageEnd(n, l, from)
		p := Page{Version: o.Version, Encoding: e, Runs: o.Runs, OldLevels: o.OldLevels, EmptyBody: o.EmptyBodies, CRC: o.CRC, Def: l.Def[from:to]}
		if o.DictionaryPages > 0 && len(c.Pages) >= o.DictionaryPages && e.Dictionary() {
			p.Encoding = thrift.Plain
		}
		if n.Rep > 0 {
			p.Rep = l.Rep[from:to]
		}
		first := value
		for _, d := range p.Def {
			if int(d) == n.Def {
				value++
			}
		}
		p.Values = l.Values[first:value]
		b := BoundsOf(n, p.Values)
		p.Min, p.Max, p.NaNs, p.Nulls = b.Min, b.Max, b.NaNs, int64(len(p.Def)-len(p.Values))
		c.Pages = append(c.Pages, p)
		from = to
	}
	if o.Statistics {
		b := BoundsOf(n, l.Values)
		c.Statistics = &thrift.Statistics{MinValue: b.Min, MaxValue: b.Max, NullCount: int64(len(l.Def) - len(l.Values)), DistinctCount: -1, NaNCount: -1}
		if b.Floats {
			c.Statistics.NaNCount = b.NaNs
		}
	}
	return c
}

// pageEnd is the first entry behind the page that begins at from.
func (o *Layout) pageEnd(n *schema.Node, l Leaf, from int) int {
	if o.PageEntries > 0 {
		return min(from+o.PageEntries, len(l.Def))
	}
	rows := 0
	for i := from; i < len(l.Def); i++ {
		if n.Rep == 0 || l.Rep[i] == 0 {
			if rows++; o.PageRows > 0 && rows > o.PageRows {
				return i
			}
		}
	}
	return len(l.Def)
}

// Distinct values in the order of their first use; never nil.
func Distinct(values []any) []any {
	seen, out := map[string]bool{}, []any{}
	for _, v := range values {
		if k := string(plain(nil, v)); !seen[k] {
			seen[k] = true
			out = append(out, v)
		}
	}
	return out
}

// Bounds of values as they are stored; nil if there are none.
type Bounds struct {
	Min, Max []byte
	NaNs     int64
	Floats   bool
}

// BoundsOf finds bounds in the order of the type (LogicalTypes.md, "Column orders"): numbers signed or not, bytes unsigned,
// NaN left out. Decimals in byte arrays have none here.
func BoundsOf(n *schema.Node, values []any) (b Bounds) {
	if n.Physical == thrift.Int96 || n.Logical.Kind == thrift.LogicalDecimal && n.Physical > thrift.Int64 {
		return b
	}
	unsigned := n.Logical.Kind == thrift.LogicalInt && !n.Logical.Signed
	var low, high any
	for _, v := range values {
		switch f := v.(type) {
		case float32:
			if b.Floats = true; f != f {
				b.NaNs++
				continue
			}
		case float64:
			if b.Floats = true; f != f {
				b.NaNs++
				continue
			}
		}
		if low == nil || less(v, low, unsigned) {
			low = v
		}
		if high == nil || less(high, v, unsigned) {
			high = v
		}
	}
	if low != nil {
		b.Min, b.Max = plain([]byte{}, low), plain([]byte{}, high)
		if b.Floats { // a zero stands for both
			b.Min, b.Max = signedZero(b.Min, true), signedZero(b.Max, false)
		}
	}
	return b
}

func signedZero(b []byte, negative bool) []byte {
	for i, x := range b {
		if x != 0 && !(i == len(b)-1 && x == 0x80) {
			return b
		}
	}
	b[len(b)-1] = 0
	if negative {
		b[len(b)-1] = 0x80
	}
	return b
}

func less(a, b any, unsigned bool) bool {
	switch a := a.(type) {
	case bool:
		return !a && b.(bool)
	case int32:
		if unsigned {
			return uint32(a) < uint32(b.(int32))
		}
		return a < b.(int32)
	case int64:
		if unsigned {
			return uint64(a) < uint64(b.(int64))
		}
		return a < b.(int64)
	case float32:
		return a < b.(float32)
	case float64:
		return a < b.(float64)
	case []byte:
		return bytes.Compare(a, b.([]byte)) < 0
	}
	panic("parquettest: no order")
}
