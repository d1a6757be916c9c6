package render

import (
	"bytes"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
)

// dialect is how delimited text marks fields.
type dialect struct {
	head, sep, tail string
	null            func(o Options) string
	field           func(dst, value []byte) []byte
}

var (
	// csv follows RFC 4180, with line feeds alone, as Unix tools write and all readers take.
	csv = dialect{sep: ",", null: func(Options) string { return "" }, field: csvField}
	tsv = dialect{sep: "\t", null: func(Options) string { return `\N` }, field: tsvField}

	markdown = dialect{head: "| ", sep: " | ", tail: " |", null: func(o Options) string { return o.Null }, field: markdownField}
)

// delimited writes csv, tsv and markdown.
type delimited struct {
	checked
	dialect
	w   io.Writer
	o   Options
	buf []byte
	val []byte
}

func (e *delimited) Begin(s *arrow.Schema) error {
	buf := append(e.buf, e.head...)
	for i, f := range s.Fields() {
		if i > 0 {
			buf = append(buf, e.sep...)
		}
		buf = e.field(buf, []byte(f.Name))
	}
	buf = append(append(buf, e.tail...), '\n')
	if e.head != "" {
		buf = append(buf, '|')
		for _, f := range s.Fields() {
			if isNumber(f.Type) {
				buf = append(buf, " ---: |"...)
			} else {
				buf = append(buf, " --- |"...)
			}
		}
		buf = append(buf, '\n')
	}
	if err := flush(e.w, buf); err != nil {
		return err
	}
	return e.begin(s)
}

func (e *delimited) Write(rec arrow.RecordBatch) error {
	if err := e.check(rec); err != nil {
		return err
	}
	var fault, err error
	cols := bindAll(style{zone: e.o.Zone, fault: &fault}, e.schema, rec)
	null := e.null(e.o)
	buf := e.buf[:0]
	for i := range int(rec.NumRows()) {
		buf = append(buf, e.head...)
		for c, col := range cols {
			if c > 0 {
				buf = append(buf, e.sep...)
			}
			if isNull(col.a, i) {
				buf = append(buf, null...)
				continue
			}
			e.val = col.cell(e.val[:0], i)
			buf = e.field(buf, e.val)
		}
		if fault != nil {
			return fault
		}
		buf = append(append(buf, e.tail...), '\n')
		if buf, err = spill(e.w, buf); err != nil {
			return err
		}
	}
	e.buf = buf
	return flush(e.w, buf)
}

func (e *delimited) Close() error { return nil }

func csvField(dst, v []byte) []byte {
	plain := len(v) > 0
	for _, b := range v {
		plain = plain && b != ',' && b != '"' && b != '\n' && b != '\r'
	}
	if plain {
		return append(dst, v...)
	}
	dst = append(dst, '"')
	for {
		q := bytes.IndexByte(v, '"')
		if q < 0 {
			return append(append(dst, v...), '"')
		}
		dst = append(append(dst, v[:q+1]...), '"')
		v = v[q+1:]
	}
}

func tsvField(dst, v []byte) []byte {
	for _, b := range v {
		switch b {
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\\':
			dst = append(dst, '\\', '\\')
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

func markdownField(dst, v []byte) []byte {
	start := len(dst)
	dst = appendVisible(dst, v)
	if bytes.IndexByte(dst[start:], '|') < 0 {
		return dst
	}
	return append(dst[:start], bytes.ReplaceAll(dst[start:], []byte("|"), []byte(`\|`))...)
}
