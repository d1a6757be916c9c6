package build

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/parquettest/bounded"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// A dictionary and indices of any bytes, as strings, numbers and decimals: an error of a class or all the rows, each of them an
// entry; memory follows the bytes and the rows.
func FuzzDictionary(f *testing.F) {
	f.Add(plainStrings("a", "lake", ""), uint8(3), indices(2, 0, 1, 2, 1, 0, 0, 2, 1), uint8(8), uint8(0))
	f.Add([]byte{1, 0, 0, 0, 2, 0, 0, 0}, uint8(2), indices(1, 0, 1, 1), uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, entries []byte, n uint8, values []byte, rows, kind uint8) {
		var p *Plan
		var err error
		switch kind % 4 {
		case 0:
			p, err = NewPlan(leaf(t, thrift.ByteArray, 0, thrift.Logical{Kind: thrift.LogicalString}, false), arrow.BinaryTypes.String)
		case 1:
			p, err = NewPlan(leaf(t, thrift.Int32, 0, thrift.Logical{}, false), arrow.PrimitiveTypes.Int64)
		case 2:
			p, err = NewPlan(leaf(t, thrift.ByteArray, 0, thrift.Logical{Kind: thrift.LogicalDecimal, Precision: 20, Scale: 2}, false), &arrow.Decimal128Type{Precision: 20, Scale: 2})
		default:
			p, err = NewPlan(leaf(t, thrift.FixedLenByteArray, 3, thrift.Logical{}, false), &arrow.FixedSizeBinaryType{ByteWidth: 3})
		}
		if err != nil {
			t.Fatal(err)
		}
		mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
		bounded.Run(t, uint64(300*len(entries)+64*int(rows)+2<<20), func() {
			c := New(p, thrift.Uncompressed, &listed{pages: []page.Page{dictionaryPage(int(n), entries), dataPage(int(rows), thrift.RLEDictionary, values)}}, Options{Allocator: mem, MaxPage: 1 << 20})
			defer c.Close()
			c.Begin(int(rows))
			done, err := c.Append(t.Context(), int(rows))
			switch {
			case err == nil && done == int(rows):
				c.Finish().Release()
			case err == nil:
				t.Fatalf("%d of %d rows", done, rows)
			case !errors.Is(err, ErrCorrupt) && !errors.Is(err, encoding.ErrCorrupt) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrUnsupported):
				t.Fatalf("no class: %v", err)
			}
		})
		mem.AssertSize(t, 0)
	})
}

// stringPlans are the three layouts of byte strings.
func stringPlans(t testing.TB, optional bool) map[string]*Plan {
	node := leaf(t, thrift.ByteArray, 0, thrift.Logical{Kind: thrift.LogicalString}, optional)
	plans := map[string]*Plan{"offsets": nil, "views": nil, "dictionary": nil}
	for name, out := range map[string]arrow.DataType{
		"offsets": arrow.BinaryTypes.String, "views": arrow.BinaryTypes.StringView,
		"dictionary": &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
	} {
		p, err := NewPlan(node, out)
		if err != nil {
			t.Fatal(err)
		}
		plans[name] = p
	}
	return plans
}

// plainly decodes n byte strings of an encoding one after another, as the format defines it; ok is false if b does not hold them.
func plainly(e thrift.Encoding, b []byte, n int) (out []string, ok bool) {
	numbers := func(b []byte) (v []int32, rest []byte, ok bool) {
		var d encoding.Delta
		if d.Init(b) != nil || d.Left() < n {
			return nil, nil, false
		}
		rest, err := d.End()
		if err != nil {
			return nil, nil, false
		}
		v = make([]int32, n)
		return v, rest, d.Int32(v) == nil
	}
	var prefix, suffix []int32
	switch e {
	case thrift.DeltaByteArray:
		if prefix, b, ok = numbers(b); !ok {
			return nil, false
		}
		fallthrough
	case thrift.DeltaLengthByteArray:
		if suffix, b, ok = numbers(b); !ok {
			return nil, false
		}
	}
	last := ""
	for i := range n {
		k := 0
		switch {
		case suffix != nil:
			k = int(suffix[i])
		case len(b) < 4:
			return nil, false
		default:
			k = int(le.Uint32(b))
			b = b[4:]
		}
		if k < 0 || k > len(b) {
			return nil, false
		}
		v := string(b[:k])
		b = b[k:]
		if prefix != nil {
			if prefix[i] < 0 || int(prefix[i]) > len(last) {
				return nil, false
			}
			v = last[:prefix[i]] + v
		}
		out, last = append(out, v), v
	}
	return out, true
}

// Byte strings of any bytes: PLAIN, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY, as offsets, views and a dictionary, at once and in
// pieces: what the definition says, or an error of a class; memory follows the bytes.
func FuzzByteArrays(f *testing.F) {
	f.Add(plainStrings("a", "lake", "", "a string of more than twelve bytes"), uint8(0), uint8(4), uint8(0))
	f.Add([]byte("\x80\x01\x04\x03\x02\x00\x00\x00\x00\x00abc"), uint8(1), uint8(3), uint8(1))
	f.Add([]byte("\x80\x01\x04\x02\x00\x02\x00\x00\x00\x00\x80\x01\x04\x02\x02\x00\x00\x00\x00\x00ab"), uint8(2), uint8(2), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, kind, rows, step uint8) {
		e := []thrift.Encoding{thrift.Plain, thrift.DeltaLengthByteArray, thrift.DeltaByteArray}[kind%3]
		want, ok := plainly(e, b, int(rows))
		size := 0
		for _, v := range want {
			size += len(v)
		}
		if rows == 0 || size > 1<<16 {
			return
		}
		for name, p := range stringPlans(t, false) {
			bounded.Run(t, uint64(100*len(b)+64*size+2048*int(rows)+4<<20), func() {
				got, err := readAll(t, p, []page.Page{dataPage(int(rows), e, b)}, int(rows), int(step), Options{MaxPage: 1 << 20})
				switch {
				case err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, encoding.ErrCorrupt) && !errors.Is(err, ErrTooLarge):
					t.Fatalf("%s: no class: %v", name, err)
				case (err == nil) != ok:
					t.Fatalf("%s: %v; by the definition %v", name, err, ok)
				case ok && got != strings.Join(want, " "):
					t.Fatalf("%s: %q, want %q", name, got, want)
				}
			})
		}
	})
}

// A dictionary, indices, then plain pages: the three layouts agree, on values and on whether there are any.
func FuzzStringLayouts(f *testing.F) {
	f.Add(plainStrings("a", "lake", "a string of more than twelve bytes"), uint8(3), indices(2, 0, 1, 2, 1, 0, 0, 2, 1), uint8(8), plainStrings("x", "another string of many bytes"), uint8(2), uint8(3))
	f.Add(plainStrings("a", "b"), uint8(2), []byte{2, 0, 0, 0, 0x05, 0x15, 1, 0x06, 1}, uint8(5), plainStrings(), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, entries []byte, n uint8, values []byte, rows uint8, plain []byte, more, step uint8) {
		for _, optional := range []bool{false, true} {
			pages := []page.Page{dictionaryPage(int(n), entries), dataPage(int(rows), thrift.RLEDictionary, values), dataPage(int(more), thrift.Plain, plain), dataPage(int(rows), thrift.RLEDictionary, values)}
			type answer struct {
				text string
				ok   bool
			}
			var first *answer
			for name, p := range stringPlans(t, optional) {
				text, err := readAll(t, p, pages, 2*int(rows)+int(more), int(step), Options{MaxPage: 1 << 20})
				if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, encoding.ErrCorrupt) && !errors.Is(err, page.ErrCorrupt) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrUnsupported) {
					t.Fatalf("%s: no class: %v", name, err)
				}
				got := answer{text, err == nil}
				if first == nil {
					first = &got
				} else if *first != got {
					t.Fatalf("%s: %+v (%v), another layout %+v", name, got, err, *first)
				}
			}
		}
	})
}

// Booleans of any bytes, RLE with its length before, and PLAIN: all the rows in pieces of any size, or an error, at once or in pieces.
func FuzzBooleans(f *testing.F) {
	f.Add([]byte{4, 0, 0, 0, 0x10, 1, 0x03, 0b10101010}, true, uint8(14), uint8(3))
	f.Add([]byte{0xf0, 0x0f}, false, uint8(16), uint8(5))
	f.Fuzz(func(t *testing.T, b []byte, runs bool, rows, step uint8) {
		p, err := NewPlan(leaf(t, thrift.Boolean, 0, thrift.Logical{}, false), arrow.FixedWidthTypes.Boolean)
		if err != nil {
			t.Fatal(err)
		}
		e := thrift.Plain
		if runs {
			e = thrift.RLE
		}
		bounded.Run(t, uint64(10*len(b)+2048*int(rows)+2<<20), func() {
			pages := []page.Page{dataPage(int(rows), e, b)}
			whole, err := readAll(t, p, pages, int(rows), 0, Options{})
			parts, err2 := readAll(t, p, pages, int(rows), int(step), Options{})
			if (err == nil) != (err2 == nil) || whole != parts {
				t.Fatalf("%q, %v; in pieces %q, %v", whole, err, parts, err2)
			}
			if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, encoding.ErrCorrupt) {
				t.Fatalf("no class: %v", err)
			}
			if want, ok := booleans(b, runs, int(rows)); (err == nil) != ok || ok && whole != want {
				t.Fatalf("%q, %v; by the definition %q, %v", whole, err, want, ok)
			}
		})
	})
}

// booleans decodes n booleans as the format defines them; a run of true may also be a byte of ones, as parquet-go writes it.
func booleans(b []byte, runs bool, n int) (string, bool) {
	var out []string
	if !runs {
		for i := range n {
			if i/8 >= len(b) {
				return "", false
			}
			out = append(out, fmt.Sprint(b[i/8]>>(i%8)&1 != 0))
		}
		return strings.Join(out, " "), true
	}
	if n == 0 {
		return "", true
	}
	if len(b) < 4 || int64(le.Uint32(b)) > int64(len(b)-4) {
		return "", false
	}
	b = b[4:][:le.Uint32(b)]
	for len(out) < n {
		header, k := binary.Uvarint(b)
		if k <= 0 || header>>1 == 0 || len(b) == k {
			return "", false
		}
		b = b[k:]
		if header&1 == 0 {
			if b[0] > 1 && b[0] != 0xff {
				return "", false
			}
			for range min(header>>1, uint64(n-len(out))) {
				out = append(out, fmt.Sprint(b[0] != 0))
			}
			b = b[1:]
			continue
		}
		groups := min(header>>1, uint64(len(b)))
		for i := range int(groups) * 8 {
			if len(out) < n {
				out = append(out, fmt.Sprint(b[i/8]>>(i%8)&1 != 0))
			}
		}
		b = b[groups:]
	}
	return strings.Join(out, " "), true
}
