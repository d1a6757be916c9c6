package commit

import (
	"bytes"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/transform"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
)

var identity = transform.Parse("identity")

func TestCutBounds(t *testing.T) {
	t.Parallel()
	field := func(id int) (meta.Field, bool) {
		kinds := map[int]meta.Kind{1: meta.String, 2: meta.Binary, 3: meta.Long}
		k, ok := kinds[id]
		return meta.Field{ID: id, Type: meta.Type{Kind: k}}, ok
	}
	top := string(utf8.MaxRune)
	for _, c := range []struct {
		id           int
		in           string
		lower, upper string // "-" = none
	}{
		{1, "short", "short", "short"},
		{1, "exactly sixteen!", "exactly sixteen!", "exactly sixteen!"},
		{1, "more than sixteen", "more than sixtee", "more than sixtef"},
		{1, strings.Repeat("é", 20), strings.Repeat("é", 16), strings.Repeat("é", 15) + "ê"},
		{1, strings.Repeat("a", 15) + top + "z", strings.Repeat("a", 15) + top, strings.Repeat("a", 14) + "b"},
		{1, strings.Repeat(top, 17), strings.Repeat(top, 16), "-"},
		{1, strings.Repeat("a", 15) + "\ud7ff" + "z", strings.Repeat("a", 15) + "\ud7ff", strings.Repeat("a", 15) + "\ue000"},
		{1, "\xff\xfe", "-", "-"},
		{2, "\x00\x01", "\x00\x01", "\x00\x01"},
		{2, strings.Repeat("\xff", 20), strings.Repeat("\xff", 16), "-"},
		{2, strings.Repeat("a", 15) + "\xffz", strings.Repeat("a", 15) + "\xff", strings.Repeat("a", 14) + "b"},
		{3, "12345678", "12345678", "12345678"},
		{9, "unknown field", "-", "-"},
	} {
		lo, hi := cutBounds(map[int][]byte{c.id: []byte(c.in)}, map[int][]byte{c.id: []byte(c.in)}, field)
		show := func(m map[int][]byte) string {
			if b, ok := m[c.id]; ok {
				return string(b)
			}
			return "-"
		}
		if show(lo) != c.lower || show(hi) != c.upper {
			t.Errorf("%q: bounds %q, %q, want %q, %q", c.in, show(lo), show(hi), c.lower, c.upper)
		}
	}
}

func FuzzCutBounds(f *testing.F) {
	f.Add("text that is long enough to be cut", true)
	f.Add(strings.Repeat("\U0010ffff", 20), true)
	f.Fuzz(func(t *testing.T, s string, text bool) {
		kind := meta.Binary
		if text {
			kind = meta.String
		}
		lo, hi := cutBounds(map[int][]byte{1: []byte(s)}, map[int][]byte{1: []byte(s)}, func(int) (meta.Field, bool) { return meta.Field{Type: meta.Type{Kind: kind}}, true })
		if b, ok := lo[1]; ok && bytes.Compare(b, []byte(s)) > 0 {
			t.Errorf("lower bound %q above %q", b, s)
		}
		if b, ok := hi[1]; ok && bytes.Compare(b, []byte(s)) < 0 {
			t.Errorf("upper bound %q below %q", b, s)
		}
	})
}

func TestTwosComplement(t *testing.T) {
	t.Parallel()
	for _, v := range []int64{0, 1, -1, 127, 128, -128, -129, 255, 256, -256, 32767, -32768, -32769, 1 << 40, -(1 << 40)} {
		b := twosComplement(big.NewInt(v))
		if got := manifest.Decimal(b); got.Int64() != v {
			t.Errorf("%d: %x reads as %v", v, b, got)
		}
		if len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
			t.Errorf("%d: %x is not the shortest form", v, b)
		}
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    any
		typ  arrow.DataType
		want string
	}{
		{true, arrow.FixedWidthTypes.Boolean, "\x01"},
		{int64(-2), arrow.PrimitiveTypes.Int32, "\xfe\xff\xff\xff"},
		{int64(-2), arrow.PrimitiveTypes.Int64, "\xfe\xff\xff\xff\xff\xff\xff\xff"},
		{int64(1), arrow.FixedWidthTypes.Date32, "\x01\x00\x00\x00"},
		{1.0, arrow.PrimitiveTypes.Float32, "\x00\x00\x80\x3f"},
		{"x", arrow.BinaryTypes.String, "x"},
		{nil, arrow.BinaryTypes.String, ""},
	} {
		if got := Bound(expr.Literal{Type: c.typ, Value: c.v}); string(got) != c.want {
			t.Errorf("%v as %v: %x", c.v, c.typ, got)
		}
	}
}
