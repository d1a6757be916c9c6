package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
	"github.com/lakescan/lakescan/query/render"
)

// fileInfo is what describe prints of a Parquet file as json; documented in docs/json.md.
type fileInfo struct {
	File      string      `json:"file"`
	Size      int64       `json:"size"`
	CreatedBy string      `json:"created_by"`
	Version   int32       `json:"version"`
	Rows      int64       `json:"rows"`
	RowGroups int         `json:"row_groups"`
	Columns   []leafInfo  `json:"columns"`
	Chunks    []chunkInfo `json:"chunks"`
}

type leafInfo struct {
	ID       *int   `json:"id,omitempty"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Physical string `json:"physical"`
	Nullable bool   `json:"nullable"`
}

type chunkInfo struct {
	RowGroup     int      `json:"row_group"`
	Rows         int64    `json:"rows"`
	Column       string   `json:"column"`
	Codec        string   `json:"codec"`
	Encodings    []string `json:"encodings"`
	Values       int64    `json:"values"`
	Compressed   int64    `json:"compressed"`
	Uncompressed int64    `json:"uncompressed"`
	Nulls        *int64   `json:"nulls,omitempty"`
	Min          string   `json:"min,omitempty"` // a bound, written as a literal
	Max          string   `json:"max,omitempty"`
	PageIndex    bool     `json:"page_index"`
	Bloom        bool     `json:"bloom"`
	Dictionary   bool     `json:"dictionary"` // every data page is dictionary encoded
}

func (s *session) describeFile(ctx context.Context, cmd *cobra.Command, path string) error {
	f, info, err := s.client.DescribeFile(ctx, path)
	if err != nil {
		return err
	}
	d := describeFooter(info, f)
	if s.cfg.Text(config.KeyOutput) == "json" {
		return s.printText(cmd, string(mustJSON(d))+"\n")
	}
	if o := s.cfg.Text(config.KeyOutput); o == "auto" || o == "table" {
		text := d.text() + d.chunkTable(s)
		if strings.ContainsAny(path, "*?[") || strings.HasSuffix(path, "/") {
			text = "first of    " + render.Visible(path) + "\n" + text
		}
		return s.printText(cmd, text)
	}
	return s.withRows(cmd, d.addChunks, chunkColumns...)
}

var chunkColumns = columnList{
	col("group", typeLong), col("rows", typeLong), col("column", typeText), col("codec", typeText), col("encodings", typeText), col("values", typeLong),
	col("nulls", typeLong), col("compressed", typeLong), col("uncompressed", typeLong), col("min", typeText), col("max", typeText),
	col("page_index", typeFlag), col("bloom", typeFlag), col("dictionary", typeFlag),
}

func (d fileInfo) addChunks(w *rowWriter) error {
	for _, c := range d.Chunks {
		var nulls any
		if c.Nulls != nil {
			nulls = *c.Nulls
		}
		err := w.add(c.RowGroup, c.Rows, c.Column, c.Codec, strings.Join(c.Encodings, " "), c.Values, nulls, c.Compressed, c.Uncompressed,
			textOrNull(c.Min), textOrNull(c.Max), c.PageIndex, c.Bloom, c.Dictionary)
		if err != nil {
			return err
		}
	}
	return nil
}

// chunkTable is the box below the text of a file.
func (d fileInfo) chunkTable(s *session) string {
	var b bytes.Buffer
	o := render.Options{MaxRows: s.cfg.Int(config.KeyMaxRows), Color: s.color(s.outTTY)}
	if s.outTTY {
		o.Width = s.width()
	}
	out := &output{a: s.app, format: render.Table, o: o, to: &b}
	w, err := newRowWriter(out, chunkColumns...)
	if err == nil {
		if err = d.addChunks(w); err == nil {
			err = w.close()
		}
	}
	if err != nil { // a table in memory does not fail
		return ""
	}
	return b.String()
}

func describeFooter(info object.Info, f *parquet.Footer) fileInfo {
	m := f.Meta()
	d := fileInfo{
		File: info.Location.Recorded, Size: info.Size, CreatedBy: m.CreatedBy, Version: m.Version, Rows: f.NumRows(), RowGroups: f.RowGroups(),
		Columns: []leafInfo{}, Chunks: []chunkInfo{},
	}
	leaves := f.Tree().Leaves
	for _, n := range leaves {
		c := leafInfo{Name: n.String(), Type: expr.TypeName(n.Field()), Physical: n.Physical.String(), Nullable: n.Nullable()}
		if n.HasID {
			c.ID = &n.ID
		}
		d.Columns = append(d.Columns, c)
	}
	for rg := range f.RowGroups() {
		for i, n := range leaves {
			d.Chunks = append(d.Chunks, describeChunk(f, rg, i, n))
		}
	}
	return d
}

func describeChunk(f *parquet.Footer, rg, leaf int, n *schema.Node) chunkInfo {
	c := f.Chunk(rg, leaf)
	out := chunkInfo{
		RowGroup: rg, Rows: f.Rows(rg), Column: n.String(), Codec: c.Codec.String(), Encodings: []string{}, Values: c.NumValues, Compressed: c.CompressedSize,
		Uncompressed: c.UncompressedSize, PageIndex: c.ColumnIndexLength > 0 && c.OffsetIndexLength > 0, Bloom: c.BloomOffset > 0, Dictionary: c.DictionaryOnly,
	}
	for bit := range 15 {
		if c.Encodings>>bit&1 != 0 {
			out.Encodings = append(out.Encodings, thrift.Encoding(bit).String())
		}
	}
	st, ok := f.Statistics(rg, leaf)
	if !ok {
		return out
	}
	if st.NullCount >= 0 {
		out.Nulls = &st.NullCount
	}
	lo, hi := st.MinValue, st.MaxValue
	if lo == nil && hi == nil {
		lo, hi = st.Min, st.Max
	}
	out.Min, out.Max = boundText(n, lo), boundText(n, hi)
	return out
}

// boundText writes a bound as a literal; "" if there is none or it cannot be one.
func boundText(n *schema.Node, b []byte) string {
	if b == nil {
		return ""
	}
	t := n.Arrow()
	l := expr.Literal{Type: t}
	switch n.Physical {
	case thrift.Boolean:
		if len(b) == 1 {
			l.Value = b[0] != 0
		}
	case thrift.Int32, thrift.Int64:
		l.Value = intBound(t, b)
	case thrift.Float:
		if len(b) == 4 {
			l.Value = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case thrift.Double:
		if len(b) == 8 {
			l.Value = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	case thrift.ByteArray, thrift.FixedLenByteArray:
		l.Value = bytesBound(t, b)
	}
	if l.Value == nil {
		return ""
	}
	const most = 64
	text := render.Visible(l.String())
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return text
}

func intBound(t arrow.DataType, b []byte) any {
	var v int64
	switch len(b) {
	case 4:
		v = int64(int32(binary.LittleEndian.Uint32(b)))
	case 8:
		v = int64(binary.LittleEndian.Uint64(b))
	default:
		return nil
	}
	switch {
	case arrow.IsUnsignedInteger(t.ID()):
		if len(b) == 4 {
			return uint64(uint32(v))
		}
		return uint64(v)
	case arrow.IsDecimal(t.ID()):
		return big.NewInt(v)
	}
	return v
}

func bytesBound(t arrow.DataType, b []byte) any {
	switch {
	case arrow.IsDecimal(t.ID()):
		v := new(big.Int).SetBytes(b)
		if len(b) > 0 && b[0]&0x80 != 0 {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return v
	case t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING:
		return string(b)
	case t.ID() == arrow.FLOAT16 && len(b) == 2:
		return expr.Half(binary.LittleEndian.Uint16(b))
	}
	return b
}

func (d fileInfo) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "file        %s   %s\n", render.Visible(d.File), config.HumanSize(d.Size))
	fmt.Fprintf(&b, "written by  %s   format %d\n", render.Visible(d.CreatedBy), d.Version)
	fmt.Fprintf(&b, "rows        %s in %s\n", render.Thousands(d.Rows), plural(int64(d.RowGroups), "row group"))
	b.WriteString("schema\n")
	width := 0
	for _, c := range d.Columns {
		width = max(width, len(c.Name))
	}
	for _, c := range d.Columns {
		id, required := "-", ""
		if c.ID != nil {
			id = fmt.Sprint(*c.ID)
		}
		if !c.Nullable {
			required = "  required"
		}
		b.WriteString(render.Visible(fmt.Sprintf("%6s  %-*s  %s (%s)%s", id, width, c.Name, c.Type, c.Physical, required)) + "\n")
	}
	return b.String()
}
