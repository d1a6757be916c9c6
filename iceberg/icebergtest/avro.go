package icebergtest

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Avro is an object container file to be encoded.
type Avro struct {
	Schema  string            // JSON
	Header  map[string]string // beside avro.schema and avro.codec
	Deflate bool
	Records []map[string]any // by field name; nil or absent = null of an optional
	// BlockSize is the number of records of a block; 0 = all in one.
	BlockSize int
	// Negative block counts, with sizes, of arrays and maps: legal, and seldom written.
	Negative bool
}

// Bytes encodes. Values: bool, int, int64, float64, string, []byte, []any, map[string]any (records and maps); a union takes nil
// or the value of its other branch.
func (a Avro) Bytes() ([]byte, error) {
	var schema any
	if err := json.Unmarshal([]byte(a.Schema), &schema); err != nil {
		return nil, fmt.Errorf("icebergtest: Avro schema: %w", err)
	}
	e := &avroEncoder{named: map[string]any{}, negative: a.Negative}
	header := maps.Clone(a.Header)
	if header == nil {
		header = map[string]string{}
	}
	header["avro.schema"] = a.Schema
	header["avro.codec"] = map[bool]string{true: "deflate", false: "null"}[a.Deflate]
	out := &avroEncoder{buf: []byte("Obj\x01")}
	out.long(int64(len(header)))
	for _, k := range slices.Sorted(maps.Keys(header)) {
		out.bytes([]byte(k))
		out.bytes([]byte(header[k]))
	}
	out.long(0)
	sync := []byte("icebergtest-sync")
	out.buf = append(out.buf, sync...)
	size := a.BlockSize
	if size == 0 {
		size = max(1, len(a.Records))
	}
	for block := range slices.Chunk(a.Records, size) {
		e.buf = nil
		for i, r := range block {
			if err := e.value(schema, map[string]any(r)); err != nil {
				return nil, fmt.Errorf("icebergtest: Avro record %d: %w", i, err)
			}
		}
		body := e.buf
		if a.Deflate {
			var z bytes.Buffer
			w, err := flate.NewWriter(&z, flate.DefaultCompression)
			if err != nil {
				return nil, err
			}
			if _, err := w.Write(body); err != nil {
				return nil, err
			}
			if err := w.Close(); err != nil {
				return nil, err
			}
			body = z.Bytes()
		}
		out.long(int64(len(block)))
		out.bytes(body)
		out.buf = append(out.buf, sync...)
	}
	return out.buf, nil
}

type avroEncoder struct {
	buf      []byte
	named    map[string]any
	negative bool
}

func (e *avroEncoder) long(v int64) { e.buf = binary.AppendVarint(e.buf, v) }

func (e *avroEncoder) bytes(b []byte) {
	e.long(int64(len(b)))
	e.buf = append(e.buf, b...)
}

func (e *avroEncoder) value(schema, v any) error {
	switch s := schema.(type) {
	case string:
		if named, ok := e.named[s]; ok {
			return e.value(named, v)
		}
		return e.primitive(s, v)
	case []any:
		return e.union(s, v)
	case map[string]any:
		return e.complex(s, v)
	}
	return fmt.Errorf("schema %v", schema)
}

func (e *avroEncoder) union(branches []any, v any) error {
	for i, b := range branches {
		if (b == "null") == (v == nil) {
			e.long(int64(i))
			return e.value(b, v)
		}
	}
	return fmt.Errorf("no branch for %v", v)
}

func (e *avroEncoder) primitive(kind string, v any) error {
	switch kind {
	case "null":
		return nil
	case "boolean":
		b, ok := v.(bool)
		if !ok {
			return mistyped(kind, v)
		}
		if b {
			e.buf = append(e.buf, 1)
		} else {
			e.buf = append(e.buf, 0)
		}
		return nil
	case "int", "long":
		switch n := v.(type) {
		case int:
			e.long(int64(n))
		case int64:
			e.long(n)
		default:
			return mistyped(kind, v)
		}
		return nil
	case "float", "double":
		f, ok := v.(float64)
		if !ok {
			return mistyped(kind, v)
		}
		if kind == "float" {
			e.buf = binary.LittleEndian.AppendUint32(e.buf, math.Float32bits(float32(f)))
		} else {
			e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(f))
		}
		return nil
	case "string", "bytes":
		switch b := v.(type) {
		case string:
			e.bytes([]byte(b))
		case []byte:
			e.bytes(b)
		default:
			return mistyped(kind, v)
		}
		return nil
	}
	return fmt.Errorf("unknown type %q", kind)
}

func mistyped(kind string, v any) error { return fmt.Errorf("%T for %s", v, kind) }

func (e *avroEncoder) complex(s map[string]any, v any) error {
	kind, _ := s["type"].(string)
	if name, ok := s["name"].(string); ok {
		e.named[name] = s
	}
	switch kind {
	case "record":
		r, ok := v.(map[string]any)
		if !ok {
			return mistyped(kind, v)
		}
		fields, _ := s["fields"].([]any)
		for _, f := range fields {
			f, _ := f.(map[string]any)
			name, _ := f["name"].(string)
			if err := e.value(f["type"], r[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	case "array":
		items, ok := v.([]any)
		if !ok {
			return mistyped(kind, v)
		}
		return e.blocks(len(items), func(i int) error { return e.value(s["items"], items[i]) })
	case "map":
		m, ok := v.(map[string]any)
		if !ok {
			return mistyped(kind, v)
		}
		keys := slices.Sorted(maps.Keys(m))
		return e.blocks(len(keys), func(i int) error {
			e.bytes([]byte(keys[i]))
			return e.value(s["values"], m[keys[i]])
		})
	case "fixed":
		b, ok := v.([]byte)
		if n, _ := s["size"].(float64); !ok || len(b) != int(n) {
			return mistyped(kind, v)
		}
		e.buf = append(e.buf, b...)
		return nil
	}
	return e.value(s["type"], v) // a primitive with a logical type
}

// blocks writes n items as one block, or as two of negative count.
func (e *avroEncoder) blocks(n int, item func(int) error) error {
	part := func(from, to int) error {
		if from == to {
			return nil
		}
		if !e.negative {
			e.long(int64(to - from))
		}
		at := len(e.buf)
		for i := from; i < to; i++ {
			if err := item(i); err != nil {
				return err
			}
		}
		if e.negative {
			body := slices.Clone(e.buf[at:])
			e.buf = e.buf[:at]
			e.long(int64(from - to))
			e.bytes(body)
		}
		return nil
	}
	half := n
	if e.negative {
		half = n / 2
	}
	if err := part(0, half); err != nil {
		return err
	}
	if err := part(half, n); err != nil {
		return err
	}
	e.long(0)
	return nil
}
