package resolve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet"
)

// schema reads a compact text: fields parted by commas, each "id name type"; "-" = no id, "!" after a type = required.
// Types: arrow names below, {fields} a struct, [field] a list, <key, value> a map.
func schema(t testing.TB, text string) *arrow.Schema {
	t.Helper()
	p := &schemaParser{t: t, in: text}
	f := p.fields("")
	if p.in = strings.TrimSpace(p.in); p.in != "" {
		t.Fatalf("schema text: rest %q", p.in)
	}
	return arrow.NewSchema(f, nil)
}

type schemaParser struct {
	t  testing.TB
	in string
}

var leafTypes = map[string]arrow.DataType{
	"bool": arrow.FixedWidthTypes.Boolean, "int8": arrow.PrimitiveTypes.Int8, "int32": arrow.PrimitiveTypes.Int32,
	"int64": arrow.PrimitiveTypes.Int64, "uint32": arrow.PrimitiveTypes.Uint32, "uint64": arrow.PrimitiveTypes.Uint64,
	"float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64, "string": arrow.BinaryTypes.String,
	"binary": arrow.BinaryTypes.Binary, "date": arrow.FixedWidthTypes.Date32, "ts": &arrow.TimestampType{Unit: arrow.Microsecond},
	"ts_ms": &arrow.TimestampType{Unit: arrow.Millisecond}, "tsz": arrow.FixedWidthTypes.Timestamp_us,
	"ts_ns": &arrow.TimestampType{Unit: arrow.Nanosecond}, "time": arrow.FixedWidthTypes.Time64us, "time_ms": arrow.FixedWidthTypes.Time32ms,
	"dec9_2": &arrow.Decimal128Type{Precision: 9, Scale: 2}, "dec18_2": &arrow.Decimal128Type{Precision: 18, Scale: 2},
	"dec18_3": &arrow.Decimal128Type{Precision: 18, Scale: 3}, "fixed4": &arrow.FixedSizeBinaryType{ByteWidth: 4},
	"fixed16": &arrow.FixedSizeBinaryType{ByteWidth: 16}, "null": arrow.Null,
}

func (p *schemaParser) fields(end string) []arrow.Field {
	var out []arrow.Field
	for {
		p.in = strings.TrimSpace(p.in)
		if rest, ok := strings.CutPrefix(p.in, end); p.in == "" || end != "" && ok {
			p.in = rest
			return out
		}
		out = append(out, p.field())
		p.in = strings.TrimPrefix(strings.TrimSpace(p.in), ",")
	}
}

func (p *schemaParser) word() string {
	p.in = strings.TrimSpace(p.in)
	i := strings.IndexAny(p.in, " ,!{}[]<>")
	if i < 0 {
		i = len(p.in)
	}
	w := p.in[:i]
	p.in = strings.TrimSpace(p.in[i:])
	return w
}

func (p *schemaParser) field() arrow.Field {
	id, f := p.word(), arrow.Field{Nullable: true}
	f.Name = p.word()
	switch {
	case strings.HasPrefix(p.in, "{"):
		p.in = p.in[1:]
		f.Type = arrow.StructOf(p.fields("}")...)
	case strings.HasPrefix(p.in, "["):
		p.in = p.in[1:]
		f.Type = arrow.ListOfField(p.fields("]")[0])
	case strings.HasPrefix(p.in, "<"):
		p.in = p.in[1:]
		kv := p.fields(">")
		kv[0].Nullable = false
		f.Type = arrow.MapOfFields(kv[0], kv[1])
	default:
		w := p.word()
		if f.Type = leafTypes[w]; f.Type == nil {
			p.t.Fatalf("schema text: no type %q", w)
		}
	}
	if strings.HasPrefix(p.in, "!") {
		p.in, f.Nullable = p.in[1:], false
	}
	if id != "-" {
		n, err := strconv.Atoi(id)
		if err != nil {
			p.t.Fatal(err)
		}
		f = expr.WithFieldID(f, n)
	}
	return f
}

// show renders a plan: one line a column, children indented.
func show(p *Plan) string {
	var b strings.Builder
	for i, c := range p.Columns {
		showColumn(&b, c, 0)
		for _, f := range p.Fills {
			if f.Column == i {
				fmt.Fprintf(&b, "  fill %d position=%v\n", f.Base, f.Position)
			}
		}
	}
	return b.String()
}

func showColumn(b *strings.Builder, c parquet.Column, depth int) {
	fmt.Fprintf(b, "%s%s: ", strings.Repeat("  ", depth), c.Output.Name)
	switch {
	case c.Position:
		b.WriteString("position")
	case c.Path != nil:
		b.WriteString("read " + strings.Join(c.Path, "/"))
	case c.Const == nil || c.Const.Value == nil:
		b.WriteString("null")
	default:
		fmt.Fprintf(b, "const %v", c.Const.Value)
	}
	b.WriteByte('\n')
	for _, k := range c.Children {
		showColumn(b, k, depth+1)
	}
}

func lines(s string) string {
	if s = strings.Trim(s, "\n"); s == "" {
		return ""
	}
	l := strings.Split(strings.TrimSpace(s), "\n")
	indent := 0
	if len(l) > 1 {
		first := strings.Split(s, "\n")[0]
		indent = len(first) - len(strings.TrimLeft(first, "\t"))
	}
	for i := range l {
		l[i] = strings.TrimPrefix(l[i], strings.Repeat("\t", indent))
	}
	return strings.Join(slices.DeleteFunc(l, func(s string) bool { return s == "" }), "\n") + "\n"
}
