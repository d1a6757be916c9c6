package walk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

func fixed(name string, width int32) thrift.SchemaElement {
	return thrift.SchemaElement{Name: name, Type: thrift.FixedLenByteArray, TypeLength: width, Repetition: thrift.Optional}
}

// Streams of bytes are as long as the page's values, not its entries: nulls in one page must not shift the next. The same values
// in PLAIN are the answer, whole and by selections that begin and end in any page.
func TestL48_ByteStreamSplitWithNullsOverManyPages(t *testing.T) {
	t.Parallel()
	const rows = 2000
	elements := parquettest.Elements(fixed("c4", 4), fixed("c16", 16), fixed("c1", 1), fixed("c17", 17),
		thrift.SchemaElement{Name: "f", Type: thrift.Float, Repetition: thrift.Optional}, thrift.SchemaElement{Name: "d", Type: thrift.Double, Repetition: thrift.Optional},
		thrift.SchemaElement{Name: "i", Type: thrift.Int32, Repetition: thrift.Optional}, thrift.SchemaElement{Name: "l", Type: thrift.Int64, Repetition: thrift.Optional})
	r := rand.New(rand.NewPCG(48, 0))
	columns := make([][]any, 8)
	for c, width := range []int{4, 16, 1, 17} {
		for i := range rows {
			b := make([]byte, width)
			for k := range b {
				b[k] = byte(r.Uint32())
			}
			columns[c] = append(columns[c], b)
			if i%7 == 0 {
				columns[c][i] = nil
			}
		}
	}
	for i := range rows {
		for c, v := range []any{float32(i) / 3, float64(i) / 7, int32(i) << 13, int64(i) << 41} {
			if i%7 == 0 {
				v = nil
			}
			columns[4+c] = append(columns[4+c], v)
		}
	}
	tree := parquettest.Tree(elements)
	want := parquettest.Rows(tree, columns)
	file := func(e thrift.Encoding, version int, index bool, pageRows int) File {
		o := parquettest.Layout{PageRows: pageRows, Version: version, Index: index, Codec: thrift.Snappy, Encoding: func(*schema.Node) thrift.Encoding { return e }}
		return parquettest.Table(elements, columns, o).Bytes()
	}
	for _, pageRows := range []int{60, 64, 256} { // 1 KiB of the widest, 1 KiB of the narrow ones
		for _, version := range []int{1, 2} {
			for _, index := range []bool{false, true} {
				split, plain := file(thrift.ByteStreamSplit, version, index, pageRows), file(thrift.Plain, version, index, pageRows)
				for _, sel := range []rowsel.Selection{{}, rowsel.FromRanges(61, 75), rowsel.FromRanges(255, 1025), rowsel.FromPositions([]int64{0, 6, 7, 8, 63, 64, 1999})} {
					q := Request{Index: index, Options: parquet.Options{BatchRows: 100}, Select: func(int, int64) rowsel.Selection { return sel }}
					what := fmt.Sprintf("v%d, pages of %d rows, index %v, selection %v", version, pageRows, index, sel)
					var kept []string
					for i := range int64(rows) {
						if sel.Contains(i) {
							kept = append(kept, want[i])
						}
					}
					for name, f := range map[string]File{"split": split, "plain": plain} {
						got, err := Read(t.Context(), f, q)
						if err != nil {
							t.Fatalf("%s, %s: %v", name, what, err)
						}
						sameRows(t, name+", "+what, kept, got.Rows())
					}
				}
			}
		}
	}
}

// One file per codec; a file whose columns each have another; v2 pages that say they are not compressed in a compressed chunk; and
// codecs that no build reads, named in the error.
func TestL54_EveryCodecAndMixed(t *testing.T) {
	t.Parallel()
	const rows = 500
	var elements []thrift.SchemaElement
	var columns [][]any
	for i := range parquettest.Codecs {
		elements = append(elements, thrift.SchemaElement{Name: fmt.Sprintf("c%d", i), Type: thrift.ByteArray, Repetition: thrift.Optional})
		var column []any
		for k := range rows {
			column = append(column, []byte(fmt.Sprintf("value %d of %d", k%40, i)))
			if k%11 == i {
				column[k] = nil
			}
		}
		columns = append(columns, column)
	}
	elements = parquettest.Elements(elements...)
	want := parquettest.Rows(parquettest.Tree(elements), columns)
	check := func(what string, f *parquettest.File) {
		t.Helper()
		got, err := Read(t.Context(), f.Bytes(), Request{})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		sameRows(t, what, want, got.Rows())
	}
	for _, version := range []int{1, 2} {
		for _, dictionary := range []bool{false, true} {
			make := func(codec thrift.Codec) *parquettest.File {
				o := parquettest.Layout{PageRows: 70, GroupRows: 300, Version: version, Codec: codec}
				if dictionary {
					o.Encoding = func(*schema.Node) thrift.Encoding { return thrift.RLEDictionary }
				}
				return parquettest.Table(elements, columns, o)
			}
			for _, codec := range parquettest.Codecs {
				what := fmt.Sprintf("%v, v%d, dictionary %v", codec, version, dictionary)
				check(what, make(codec))
				plain := make(codec)
				for g := range plain.Groups {
					for c := range plain.Groups[g].Chunks {
						for p := range plain.Groups[g].Chunks[c].Pages {
							plain.Groups[g].Chunks[c].Pages[p].Plain = version == 2 && p%2 == 0
						}
					}
				}
				check(what+", some pages not compressed", plain)
			}
			mixed := make(thrift.Uncompressed)
			for g := range mixed.Groups {
				for c := range mixed.Groups[g].Chunks {
					mixed.Groups[g].Chunks[c].Codec = parquettest.Codecs[(c+g)%len(parquettest.Codecs)]
				}
			}
			check(fmt.Sprintf("mixed, v%d, dictionary %v", version, dictionary), mixed)
		}
	}
	for codec, name := range map[thrift.Codec]string{thrift.LZO: "LZO", 99: "99"} {
		f := parquettest.Table(elements, columns, parquettest.Layout{})
		f.Groups[0].Chunks[3].Change = func(m *thrift.Chunk) { m.Codec = codec }
		_, err := Read(t.Context(), f.Bytes(), Request{})
		if e, ok := errors.AsType[*parquet.UnsupportedError](err); !ok || e.Column != "c3" || !strings.Contains(e.Ability, name) {
			t.Errorf("codec %v: %v", codec, err)
		}
	}
}
