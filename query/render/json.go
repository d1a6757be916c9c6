package render

import (
	"io"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// objects writes json and ndjson.
type objects struct {
	checked
	w     io.Writer
	o     Options
	lines bool
	keys  [][]byte // "name":
	buf   []byte
	rows  int64
}

func (e *objects) Begin(s *arrow.Schema) error {
	for _, n := range uniqueNames(s) {
		e.keys = append(e.keys, append(appendJSONString(nil, n), ':'))
	}
	return e.begin(s)
}

func (e *objects) Write(rec arrow.RecordBatch) error {
	if err := e.check(rec); err != nil {
		return err
	}
	var fault, err error
	cols := bindAll(style{json: true, strings: e.o.NumbersAsStrings, fault: &fault}, e.schema, rec)
	buf := e.buf[:0]
	for i := range int(rec.NumRows()) {
		if !e.lines {
			buf = append(buf, separator(e.rows)...)
		}
		buf = append(buf, '{')
		for c, col := range cols {
			if c > 0 {
				buf = append(buf, ',')
			}
			buf = append(buf, e.keys[c]...)
			buf = col.json(buf, i)
		}
		if fault != nil {
			return fault
		}
		buf = append(buf, '}')
		if e.lines {
			buf = append(buf, '\n')
		}
		e.rows++
		if buf, err = spill(e.w, buf); err != nil {
			return err
		}
	}
	e.buf = buf
	return flush(e.w, buf)
}

// flushBytes bounds what one batch of wide rows may pile up.
const flushBytes = 1 << 20

// spill writes what has piled up once it is much.
func spill(w io.Writer, buf []byte) ([]byte, error) {
	if len(buf) < flushBytes {
		return buf, nil
	}
	return buf[:0], flush(w, buf)
}

func flush(w io.Writer, buf []byte) error {
	if len(buf) == 0 {
		return nil
	}
	_, err := w.Write(buf)
	return err
}

func separator(row int64) string {
	if row == 0 {
		return "[\n"
	}
	return ",\n"
}

func (e *objects) Close() error {
	if e.lines {
		return nil
	}
	end := "\n]\n"
	if e.rows == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(e.w, end)
	return err
}

// column is one bound column of a batch.
type column struct {
	a    arrow.Array
	cell cell
}

func bindAll(s style, schema *arrow.Schema, rec arrow.RecordBatch) []column {
	out := make([]column, rec.NumCols())
	for c := range out {
		out[c] = column{rec.Column(c), s.bind(schema.Field(c), rec.Column(c))}
	}
	return out
}

func (c column) json(dst []byte, i int) []byte {
	if isNull(c.a, i) {
		return append(dst, "null"...)
	}
	return c.cell(dst, i)
}

// bindJSON is for nested arrays; nil if a is none.
func (s style) bindJSON(a arrow.Array) cell {
	switch a := a.(type) {
	case *array.Map:
		return s.bindMap(a)
	case array.ListLike:
		elem := s.child(a.DataType().(arrow.ListLikeType).ElemField(), a.ListValues())
		return func(dst []byte, i int) []byte {
			from, to := a.ValueOffsets(i)
			dst = append(dst, '[')
			for k := from; k < to; k++ {
				if k > from {
					dst = append(dst, ',')
				}
				dst = elem.json(dst, int(k))
			}
			return append(dst, ']')
		}
	case *array.Struct:
		t := a.DataType().(*arrow.StructType)
		names := uniqueNames(arrow.NewSchema(t.Fields(), nil))
		keys, kids := make([][]byte, len(names)), make([]column, len(names))
		for k, n := range names {
			keys[k] = append(appendJSONString(nil, n), ':')
			kids[k] = s.child(t.Field(k), a.Field(k))
		}
		return func(dst []byte, i int) []byte {
			dst = append(dst, '{')
			for k, kid := range kids {
				if k > 0 {
					dst = append(dst, ',')
				}
				dst = kid.json(append(dst, keys[k]...), i)
			}
			return append(dst, '}')
		}
	case *array.Null:
		return func(dst []byte, _ int) []byte { return append(dst, "null"...) }
	}
	return nil
}

func (s style) child(f arrow.Field, a arrow.Array) column { return column{a, s.bind(f, a)} }

func (s style) bindMap(a *array.Map) cell {
	t := a.DataType().(*arrow.MapType)
	keys, items := s.child(t.KeyField(), a.Keys()), s.child(t.ItemField(), a.Items())
	_, object := a.Keys().(array.StringLike)
	before, between, after := `{"key":`, `,"value":`, `}`
	if object {
		before, between, after = ``, `:`, ``
	}
	return func(dst []byte, i int) []byte {
		from, to := a.ValueOffsets(i)
		open, end := byte('['), byte(']')
		if object {
			open, end = '{', '}'
		}
		dst = append(dst, open)
		for k := int(from); k < int(to); k++ {
			if k > int(from) {
				dst = append(dst, ',')
			}
			dst = keys.json(append(dst, before...), k)
			dst = items.json(append(dst, between...), k)
			dst = append(dst, after...)
		}
		return append(dst, end)
	}
}

// appendJSONString quotes s; bytes that are not UTF-8 become U+FFFD, since JSON cannot hold them. What would drive a terminal is
// escaped.
func appendJSONString(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + n
			case hidden(r):
				dst = appendHex(append(append(dst, s[start:i]...), '\\', 'u'), uint32(r), 4)
				start = i + n
			}
			i += n
			continue
		}
		if b >= 0x20 && b != '"' && b != '\\' && b != 0x7f {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[b>>4], digits[b&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
