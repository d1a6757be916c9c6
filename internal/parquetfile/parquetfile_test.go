package parquetfile

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/source/resolve"
)

type whole []byte

func (w whole) Slice(off, n int64) ([]byte, error) { return w[off : off+n], nil }

// What is written is read back equal by our own reader, ids included.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	id := func(n int, f arrow.Field) arrow.Field { return expr.WithFieldID(f, n) }
	opt := func(name string, typ arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: typ, Nullable: true}
	}
	inner := arrow.StructOf(id(11, opt("x", arrow.PrimitiveTypes.Int32)), id(12, opt("l", arrow.ListOfField(id(13, opt("element", arrow.BinaryTypes.String))))))
	schema := arrow.NewSchema([]arrow.Field{
		id(1, arrow.Field{Name: "z", Type: arrow.PrimitiveTypes.Int64}), id(2, opt("a", arrow.BinaryTypes.String)),
		id(3, opt("d", &arrow.Decimal128Type{Precision: 30, Scale: 2})), id(4, opt("e", &arrow.Decimal128Type{Precision: 9, Scale: 2})),
		id(5, opt("ts", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"})), id(6, opt("b", arrow.FixedWidthTypes.Boolean)),
		id(10, opt("ls", arrow.ListOfField(id(14, opt("element", inner))))),
		id(20, opt("m", arrow.MapOfFields(id(21, arrow.Field{Name: "key", Type: arrow.BinaryTypes.String}), id(22, opt("value", arrow.PrimitiveTypes.Int64))))),
		id(30, opt("f", &arrow.FixedSizeBinaryType{ByteWidth: 2})), id(31, opt("day", arrow.FixedWidthTypes.Date32)), id(32, opt("t", arrow.FixedWidthTypes.Time64us)),
	}, nil)
	rows := `[{"z":1,"a":"x","d":"-12.34","e":"-0.05","ts":"2024-01-02T03:04:05.000006Z","b":true,"ls":[{"x":1,"l":["p",null]},null,{"x":null,"l":[]},{"x":2,"l":null}],"m":[{"key":"k","value":1},{"key":"l","value":null}],"f":"AQI=","day":"1969-12-31","t":"01:02:03"},
		{"z":2,"a":null,"d":null,"e":null,"ts":null,"b":null,"ls":null,"m":null,"f":null,"day":null,"t":null},
		{"z":3,"a":"","d":"123456789012345678901234567.89","e":"1.00","ts":"1960-01-01T00:00:00Z","b":false,"ls":[],"m":[],"f":"//8=","day":"2024-02-29","t":"00:00:00"}]`
	rec, _, err := array.RecordFromJSON(arrowmem.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {GroupRows: 1}, {Plain: true, V1: true, PageBytes: 16}} {
		b, err := Write(o, rec)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
		if err != nil {
			t.Fatal(err)
		}
		cols, err := resolve.Columns(f, resolve.Input{Want: schema, FirstRowID: -1})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Bind(cols, nil, parquet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for rg := range f.RowGroups() {
			units, err := r.Open(rg, parquet.RowSelection{})
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range units {
				for _, c := range u.Columns(parquet.PartRest) {
					if err := u.Decode(t.Context(), c, whole(b)); err != nil {
						t.Fatal(err)
					}
				}
				for {
					part, err := u.Next(0)
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					for i := range part.NumRows() {
						row := part.NewSlice(i, i+1)
						text, err := row.MarshalJSON()
						if err != nil {
							t.Fatal(err)
						}
						got = append(got, string(text))
					}
				}
				u.Close()
			}
		}
		for i := range rec.NumRows() {
			want, err := rec.NewSlice(i, i+1).MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if int(i) >= len(got) || got[i] != string(want) {
				t.Fatalf("%+v: row %d is %v, want %s", o, i, got, want)
			}
		}
	}
}
