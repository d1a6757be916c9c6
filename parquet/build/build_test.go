package build

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/snappy"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
	"github.com/parquet-go/parquet-go/encoding/delta"
)

// listed gives pages made by hand. Their bytes are spoiled after each call of the column, as recycled buffers are.
type listed struct{ pages []page.Page }

func (l *listed) Next(p *page.Page) error {
	if len(l.pages) == 0 {
		return io.EOF
	}
	*p = l.pages[0]
	l.pages = l.pages[1:]
	return nil
}

func (l *listed) SeekRow(int64) (int64, bool) { return 0, false }

func (l *listed) PageEnd() (int64, bool) { return 0, false }

func leaf(t testing.TB, physical thrift.Type, length int32, logical thrift.Logical, optional bool) *schema.Node {
	t.Helper()
	e := thrift.SchemaElement{Name: "c", Type: physical, HasType: true, TypeLength: length, Logical: logical, Converted: thrift.NoConverted}
	if optional {
		e.Repetition = thrift.Optional
	}
	tree, err := schema.New([]thrift.SchemaElement{{Name: "root", NumChildren: 1, Type: thrift.NoType, Converted: thrift.NoConverted}, e})
	if err != nil {
		t.Fatal(err)
	}
	return tree.Leaves[0]
}

// levels of width 1 as one packed run, with the length of version 1.
func levels(valid []bool) []byte {
	b := binary.AppendUvarint(nil, uint64((len(valid)+7)/8)<<1|1)
	b = append(b, make([]byte, (len(valid)+7)/8)...)
	at := len(b) - (len(valid)+7)/8
	for i, v := range valid {
		if v {
			b[at+i/8] |= 1 << (i % 8)
		}
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// dataPage is an uncompressed page of version 1.
func dataPage(rows int, enc thrift.Encoding, parts ...[]byte) page.Page {
	body := bytes.Join(parts, nil)
	return page.Page{PageHeader: thrift.PageHeader{
		Type: thrift.DataPage, NumValues: int32(rows), Encoding: enc, DefinitionEncoding: thrift.RLE,
		RepetitionEncoding: thrift.RLE, UncompressedSize: int32(len(body)), CompressedSize: int32(len(body)),
	}, Body: body}
}

func dictionaryPage(n int, body []byte) page.Page {
	return page.Page{PageHeader: thrift.PageHeader{
		Type: thrift.DictionaryPage, NumValues: int32(n), Encoding: thrift.Plain,
		UncompressedSize: int32(len(body)), CompressedSize: int32(len(body)),
	}, Body: body}
}

func plainStrings(values ...string) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
		b = append(b, v...)
	}
	return b
}

// indices of width bits as one packed run.
func indices(width int, idx ...uint32) []byte {
	groups := (len(idx) + 7) / 8
	b := binary.AppendUvarint([]byte{byte(width)}, uint64(groups)<<1|1)
	at := len(b)
	b = append(b, make([]byte, groups*width)...)
	for i, v := range idx {
		for bit := range width {
			if v>>bit&1 != 0 {
				p := i*width + bit
				b[at+p/8] |= 1 << (p % 8)
			}
		}
	}
	return b
}

func text(a arrow.Array) string {
	out := make([]string, a.Len())
	for i := range out {
		out[i] = valueText(a, i)
	}
	return strings.Join(out, " ")
}

func valueText(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return a.ValueStr(i)
	}
	switch a := a.(type) {
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.Decimal64:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal64Type).Scale)
	case *array.Timestamp:
		u := a.DataType().(*arrow.TimestampType).Unit
		return a.Value(i).ToTime(u).Format("2006-01-02 15:04:05." + strings.Repeat("0", map[arrow.TimeUnit]int{arrow.Millisecond: 3, arrow.Microsecond: 6, arrow.Nanosecond: 9}[u]))
	}
	return a.ValueStr(i)
}

// readAll reads rows in steps (0 = at once) and joins the arrays as text; the pages' bytes are spoiled between the steps.
func readAll(t testing.TB, p *Plan, pages []page.Page, rows, step int, o Options) (string, error) {
	t.Helper()
	return readCoded(t, thrift.Uncompressed, false, p, pages, rows, step, o)
}

// readCoded is readAll with compressed pages. What columns share between calls is spoiled too, as another column does it. With recycle set
// pages that outlive a call get their memory from the allocator.
func readCoded(t testing.TB, codec thrift.Codec, recycle bool, p *Plan, pages []page.Page, rows, step int, o Options) (string, error) {
	t.Helper()
	mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
	o.Allocator = mem
	if recycle {
		o.Pages = poisoned{mem, 0xdb}
	}
	defer mem.AssertSize(t, 0)
	l := &listed{}
	for _, pg := range pages {
		pg.Body = bytes.Clone(pg.Body)
		l.pages = append(l.pages, pg)
	}
	given := append([]page.Page(nil), l.pages...)
	c := New(p, codec, l, o)
	defer c.Close()
	var out []string
	for done := 0; done < rows; {
		n := rows - done
		if step > 0 {
			n = min(n, step)
		}
		c.Begin(n)
		k, err := c.Append(context.Background(), n)
		if err != nil {
			return "", err
		}
		if k == 0 {
			t.Fatal("no progress")
		}
		call := calls.Get().(*callState)
		for i := range call.page[:cap(call.page)] {
			call.page[:cap(call.page)][i] = 0xdb
		}
		calls.Put(call)
		a := c.Finish()
		if a.Len() != k {
			t.Fatalf("array of %d rows instead of %d", a.Len(), k)
		}
		nulls := 0
		for i := range k {
			if a.IsNull(i) {
				nulls++
			}
		}
		if nulls != a.NullN() {
			t.Fatalf("%d nulls, the array says %d", nulls, a.NullN())
		}
		out = append(out, text(a))
		a.Release()
		done += k
		if k < n {
			continue
		}
		for _, pg := range given[:len(given)-len(l.pages)] { // read by now
			for i := range pg.Body {
				pg.Body[i] = 0xdb
			}
		}
	}
	return strings.Join(out, " "), nil
}

// compressed gives the pages with Snappy.
func compressed(pages []page.Page) []page.Page {
	var out []page.Page
	for _, p := range pages {
		p.Body = snappy.Encode(nil, p.Body)
		p.CompressedSize = int32(len(p.Body))
		out = append(out, p)
	}
	return out
}

func stringPlan(t testing.TB, optional bool) *Plan {
	p, err := NewPlan(leaf(t, thrift.ByteArray, 0, thrift.Logical{Kind: thrift.LogicalString}, optional), arrow.BinaryTypes.String)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestL50_DictionaryEdges: mixed dictionary and plain pages in any order, the dictionary needed only late, zero-bit indices,
// pages of nulls.
func TestL50_DictionaryEdges(t *testing.T) {
	t.Parallel()
	dict := dictionaryPage(3, plainStrings("aa", "", "a string that is longer than a block of thirty-two bytes"))
	const long = "a string that is longer than a block of thirty-two bytes"
	for _, c := range []struct {
		name  string
		pages []page.Page
		rows  int
		want  string
	}{
		{"dictionary, plain, dictionary", []page.Page{
			dict, dataPage(2, thrift.RLEDictionary, indices(2, 2, 0)),
			dataPage(2, thrift.Plain, plainStrings("x", "yy")), dataPage(2, thrift.PlainDictionary, indices(2, 0, 0)),
		}, 6, long + " aa x yy aa aa"},
		{"plain first, the dictionary long kept", []page.Page{
			dict, dataPage(2, thrift.Plain, plainStrings("x", "yy")),
			dataPage(2, thrift.Plain, plainStrings("z", "")), dataPage(1, thrift.RLEDictionary, indices(2, 0)),
		}, 5, "x yy z  aa"},
		{"zero bits", []page.Page{dict, dataPage(9, thrift.RLEDictionary, []byte{0})}, 9, strings.TrimSpace(strings.Repeat("aa ", 9))},
		{"pages without rows", []page.Page{dict, dataPage(0, thrift.RLEDictionary), dataPage(1, thrift.RLEDictionary, indices(1, 0)), dataPage(0, thrift.Plain)}, 1, "aa"},
	} {
		for _, step := range []int{0, 1, 3} {
			got, err := readAll(t, stringPlan(t, false), c.pages, c.rows, step, Options{})
			if err != nil || got != c.want {
				t.Errorf("%s, steps of %d: %q, %v; want %q", c.name, step, got, err, c.want)
			}
		}
	}
	nulls := []page.Page{
		dict, dataPage(3, thrift.RLEDictionary, levels([]bool{false, false, false})),
		dataPage(3, thrift.RLEDictionary, levels([]bool{false, true, false}), indices(2, 2)), dataPage(2, thrift.RLEDictionary, levels([]bool{false, false}), []byte{2}),
	}
	for _, step := range []int{0, 1, 3} {
		got, err := readAll(t, stringPlan(t, true), nulls, 8, step, Options{})
		if want := "(null) (null) (null) (null) " + long + " (null) (null) (null)"; err != nil || got != want {
			t.Errorf("nulls, steps of %d: %q, %v", step, got, err)
		}
	}
}

func TestCorruptPages(t *testing.T) {
	t.Parallel()
	dict := dictionaryPage(3, plainStrings("a", "b", "c"))
	prefixes := func(prefix ...int32) []byte { // DELTA_BYTE_ARRAY with suffix "s" each
		suffix := make([]int32, len(prefix))
		for i := range suffix {
			suffix[i] = 1
		}
		b, _ := (&delta.BinaryPackedEncoding{}).EncodeInt32(nil, prefix)
		b2, _ := (&delta.BinaryPackedEncoding{}).EncodeInt32(nil, suffix)
		return append(append(b, b2...), bytes.Repeat([]byte("s"), len(prefix))...)
	}
	lengths := func(n ...int32) []byte {
		b, _ := (&delta.BinaryPackedEncoding{}).EncodeInt32(nil, n)
		return append(b, "0123456789"...)
	}
	for name, pages := range map[string][]page.Page{
		"index beyond the dictionary":         {dict, dataPage(2, thrift.RLEDictionary, indices(2, 1, 3))},
		"run of an index beyond":              {dict, dataPage(2, thrift.RLEDictionary, []byte{2, 4, 3})},
		"no dictionary":                       {dataPage(2, thrift.RLEDictionary, indices(2, 1, 2))},
		"two dictionaries":                    {dict, dict, dataPage(2, thrift.RLEDictionary, indices(2, 1, 2))},
		"bit width above 32":                  {dict, dataPage(2, thrift.RLEDictionary, []byte{33, 1, 2, 3})},
		"dictionary longer than its page":     {dictionaryPage(4, plainStrings("a", "b", "c")), dataPage(2, thrift.RLEDictionary, indices(2, 1, 2))},
		"dictionary of far too many entries":  {dictionaryPage(1<<30, plainStrings("a", "b", "c")), dataPage(2, thrift.RLEDictionary, indices(2, 1, 2))},
		"dictionary entry beyond the page":    {dictionaryPage(1, []byte{9, 0, 0, 0, 'a'}), dataPage(2, thrift.RLEDictionary, indices(1, 0, 0))},
		"dictionary in a delta encoding":      {func() page.Page { d := dict; d.Encoding = thrift.DeltaByteArray; return d }(), dataPage(2, thrift.RLEDictionary, indices(2, 1, 2))},
		"string beyond the page":              {dataPage(2, thrift.Plain, plainStrings("a"), []byte{200, 0, 0, 0, 'x'})},
		"negative length":                     {dataPage(2, thrift.Plain, plainStrings("a"), []byte{255, 255, 255, 255, 'x'})},
		"values missing":                      {dataPage(2, thrift.Plain, plainStrings("a"))},
		"prefix before the first value":       {dataPage(2, thrift.DeltaByteArray, prefixes(0, 1)), dataPage(2, thrift.DeltaByteArray, prefixes(2, 0))},
		"prefix longer than the value before": {dataPage(2, thrift.DeltaByteArray, prefixes(0, 2))},
		"negative prefix":                     {dataPage(2, thrift.DeltaByteArray, prefixes(0, -1))},
		"lengths beyond the page":             {dataPage(2, thrift.DeltaLengthByteArray, lengths(5, 6))},
		"negative length in delta":            {dataPage(2, thrift.DeltaLengthByteArray, lengths(5, -1))},
		"integers' encoding for strings":      {dataPage(2, thrift.DeltaBinaryPacked, lengths(5, 1))},
		"the chunk ends early":                {dataPage(1, thrift.Plain, plainStrings("a"))},
		"unknown level encoding": {func() page.Page {
			p := dataPage(2, thrift.Plain, levels([]bool{true, true}), plainStrings("a", "b"))
			p.DefinitionEncoding = 7
			return p
		}()},
	} {
		for _, step := range []int{0, 1} {
			optional := name == "unknown level encoding"
			rows := 2
			if strings.HasPrefix(name, "prefix before") {
				rows = 4
			}
			if got, err := readAll(t, stringPlan(t, optional), pages, rows, step, Options{}); !isCorrupt(err) {
				t.Errorf("%s, steps of %d: %q, %v", name, step, got, err)
			}
		}
	}
	if _, err := readAll(t, stringPlan(t, false), []page.Page{dataPage(1, 10, []byte("x"))}, 1, 0, Options{}); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "ALP") {
		t.Errorf("unknown encoding: %v", err)
	}
	big := dataPage(2, thrift.Plain, plainStrings("a", "b"))
	big.UncompressedSize = 1 << 30
	var large *TooLargeError
	if _, err := readAll(t, stringPlan(t, false), []page.Page{big}, 2, 0, Options{MaxPage: 1 << 20}); !errors.As(err, &large) || large.Need != 1<<30 {
		t.Errorf("page above the limit: %v", err)
	}
}

func isCorrupt(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, page.ErrCorrupt) || errors.Is(err, encoding.ErrCorrupt)
}

// TestArraysEndBeforeTooManyBytes: long strings end an array early, at any row, in every encoding, with nulls.
func TestArraysEndBeforeTooManyBytes(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(4, 4))
	const rows = 3000
	words := []string{"", "x", strings.Repeat("long", 10), strings.Repeat("longer", 40)}
	values := make([]string, rows)
	valid := make([]bool, rows)
	var present []string
	var idx []uint32
	var want []string
	for i := range values {
		k := rnd.IntN(len(words))
		values[i], valid[i] = words[k], rnd.IntN(3) > 0
		if valid[i] {
			present, idx = append(present, words[k]), append(idx, uint32(k))
			want = append(want, words[k])
		} else {
			want = append(want, "(null)")
		}
	}
	var data []byte
	offsets := []uint32{0}
	for _, v := range present {
		data = append(data, v...)
		offsets = append(offsets, uint32(len(data)))
	}
	deltaLength, _ := (&delta.LengthByteArrayEncoding{}).EncodeByteArray(nil, data, offsets)
	deltaBytes, _ := (&delta.ByteArrayEncoding{}).EncodeByteArray(nil, data, offsets)
	dict := dictionaryPage(len(words), plainStrings(words...))
	for name, pages := range map[string][]page.Page{
		"plain":             {dataPage(rows, thrift.Plain, levels(valid), plainStrings(present...))},
		"dictionary":        {dict, dataPage(rows, thrift.RLEDictionary, levels(valid), indices(2, idx...))},
		"delta length":      {dataPage(rows, thrift.DeltaLengthByteArray, levels(valid), deltaLength)},
		"delta byte arrays": {dataPage(rows, thrift.DeltaByteArray, levels(valid), deltaBytes)},
	} {
		for _, soft := range []int64{1, 300, 1000, 5000, 1 << 20} {
			for _, step := range []int{0, 100} {
				got, err := readAll(t, stringPlan(t, true), pages, rows, step, Options{SoftBytes: soft})
				if err != nil || got != strings.Join(want, " ") {
					t.Errorf("%s, %d bytes, steps of %d: %v, values equal: %v", name, soft, step, err, got == strings.Join(want, " "))
				}
				for _, recycle := range []bool{false, true} {
					got, err := readCoded(t, thrift.Snappy, recycle, stringPlan(t, true), compressed(pages), rows, step, Options{SoftBytes: soft})
					if err != nil || got != strings.Join(want, " ") {
						t.Errorf("%s compressed, recycled %v, %d bytes, steps of %d: %v, values equal: %v", name, recycle, soft, step, err, got == strings.Join(want, " "))
					}
				}
			}
		}
	}
}

// poisoned fills what it hands out, so that bytes nobody wrote show.
type poisoned struct {
	arrowmem.Allocator
	with byte
}

func (p poisoned) Allocate(n int) []byte {
	b := p.Allocator.Allocate(n)
	for i := range b {
		b[i] = p.with
	}
	return b
}

func (p poisoned) Reallocate(n int, b []byte) []byte {
	out := p.Allocate(n)
	copy(out, b)
	return out
}

// TestQ9_NoForeignBytes: buffers are the same whatever memory held before: null slots, padding and slack included.
func TestQ9_NoForeignBytes(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(4, 5))
	for _, c := range []struct {
		name  string
		node  *schema.Node
		out   arrow.DataType
		width int
	}{
		{"int32", leaf(t, thrift.Int32, 0, thrift.Logical{}, true), arrow.PrimitiveTypes.Int32, 4},
		{"int64", leaf(t, thrift.Int64, 0, thrift.Logical{}, true), arrow.PrimitiveTypes.Int64, 8},
		{"promoted", leaf(t, thrift.Int32, 0, thrift.Logical{}, true), arrow.PrimitiveTypes.Int64, 4},
		{"decimal", leaf(t, thrift.Int64, 0, thrift.Logical{Kind: thrift.LogicalDecimal, Precision: 18}, true), &arrow.Decimal128Type{Precision: 20}, 8},
		{"fixed 3", leaf(t, thrift.FixedLenByteArray, 3, thrift.Logical{}, true), &arrow.FixedSizeBinaryType{ByteWidth: 3}, 3},
		{"bool", leaf(t, thrift.Boolean, 0, thrift.Logical{}, true), arrow.FixedWidthTypes.Boolean, 0},
		{"string", leaf(t, thrift.ByteArray, 0, thrift.Logical{Kind: thrift.LogicalString}, true), arrow.BinaryTypes.String, -1},
	} {
		for _, rows := range []int{1, 7, 64, 65, 1000} {
			for _, density := range []int{0, 1, 10, 20} {
				valid := make([]bool, rows)
				n := 0
				for i := range valid {
					if valid[i] = rnd.IntN(20) < density; valid[i] {
						n++
					}
				}
				var body []byte
				switch {
				case c.width > 0:
					body = bytes.Repeat([]byte{1, 2, 3}, n*c.width)[:n*c.width]
				case c.width == 0:
					body = bytes.Repeat([]byte{0x5b}, (n+7)/8)
				default:
					for i := range n {
						body = append(body, plainStrings(strings.Repeat("v", i%5))...)
					}
				}
				plan, err := NewPlan(c.node, c.out)
				if err != nil {
					t.Fatal(err)
				}
				var dumps [2]string
				for i, with := range []byte{0x00, 0xa5} {
					dumps[i] = dumpBuffers(t, plan, []page.Page{dataPage(rows, thrift.Plain, levels(valid), body)}, rows, poisoned{arrowmem.NewGoAllocator(), with})
				}
				if dumps[0] != dumps[1] {
					t.Errorf("%s, %d rows, %d of 20 valid:\n%s\n%s", c.name, rows, density, dumps[0], dumps[1])
				}
			}
		}
	}
}

func dumpBuffers(t *testing.T, plan *Plan, pages []page.Page, rows int, mem arrowmem.Allocator) string {
	c := New(plan, thrift.Uncompressed, &listed{pages}, Options{Allocator: mem})
	defer c.Close()
	c.Begin(rows + 3)
	if _, err := c.Append(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	a := c.Finish()
	defer a.Release()
	var out strings.Builder
	for _, b := range a.Data().Buffers() {
		if b == nil {
			out.WriteString("nil ")
			continue
		}
		buf := b.Buf()
		fmt.Fprintf(&out, "%d:%x ", b.Len(), buf[:min(len(buf), (b.Len()+63)&^63)])
	}
	return out.String()
}

// TestOldLevels: BIT_PACKED definition levels, most significant bit first.
func TestOldLevels(t *testing.T) {
	t.Parallel()
	p := dataPage(10, thrift.Plain, []byte{0b10110000, 0b01000000}, plainStrings("a", "b", "c", "d"))
	p.DefinitionEncoding = thrift.BitPacked
	for _, step := range []int{0, 1, 3} {
		got, err := readAll(t, stringPlan(t, true), []page.Page{p}, 10, step, Options{})
		if want := "a (null) b c (null) (null) (null) (null) (null) d"; err != nil || got != want {
			t.Errorf("steps of %d: %q, %v", step, got, err)
		}
	}
}
