package build

import (
	"errors"
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
