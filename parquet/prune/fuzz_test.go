package prune

import (
	"encoding/binary"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/parquettest/bounded"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// A filter of any bytes never takes more memory than they do; one that was made of a value never denies it.
func FuzzBloom(f *testing.F) {
	f.Add(bloomOf(1, [][]byte{{1}}), []byte{1}, uint8(1))
	f.Add(bloomOf(3, [][]byte{{1}, {2}}), []byte("value"), uint8(3))
	f.Fuzz(func(t *testing.T, b, value []byte, blocks uint8) {
		bounded.Run(t, uint64(8*len(b)+1<<20), func() {
			if n, err := BloomSize(b); err == nil && n <= 0 {
				t.Fatalf("a filter of %d bytes", n)
			}
			if x, err := NewBloom(b); err == nil {
				x.MayContain(xxhash.Sum64(value))
				x.MayContain(^uint64(0))
			}
			n := max(int(blocks), 1)
			x, err := NewBloom(bloomOf(n, [][]byte{value}))
			if err != nil {
				t.Fatal(err)
			}
			if !x.MayContain(xxhash.Sum64(value)) {
				t.Fatalf("%x is denied by the filter of it, %d blocks", value, n)
			}
		})
	})
}

// A page index of any bytes is refused or usable: every page gets a verdict, memory follows the bytes.
func FuzzPageIndex(f *testing.F) {
	places := []byte{0x19, 0x2c, 0x16, 0x08, 0x15, 0x14, 0x16, 0x00, 0x00, 0x16, 0x1c, 0x15, 0x14, 0x16, 0x14, 0x00, 0x00}
	four := func(v uint32) string { return string(binary.LittleEndian.AppendUint32(nil, v)) }
	bounds := []byte("\x19\x22\x02\x02\x19\x28\x04" + four(1) + "\x04" + four(20) + "\x19\x28\x04" + four(9) + "\x04" + four(30) + "\x15\x02\x19\x26\x00\x00\x00")
	f.Add(places, bounds, uint8(thrift.Int32))
	f.Fuzz(func(t *testing.T, places, bounds []byte, physical uint8) {
		e := thrift.SchemaElement{Name: "c", HasType: true, Type: thrift.Type(physical % 8), TypeLength: 3, Converted: thrift.NoConverted, Repetition: thrift.Optional}
		tree, err := schema.New([]thrift.SchemaElement{{Name: "r", NumChildren: 1, Type: thrift.NoType, Converted: thrift.NoConverted}, e})
		if err != nil {
			t.Fatal(err)
		}
		c := Column{Node: tree.Leaves[0], Type: tree.Leaves[0].Arrow(), Order: thrift.OrderType}
		bounded.Run(t, uint64(400*(len(places)+len(bounds))+1<<20), func() {
			offsets, err := thrift.ParseOffsetIndex(places)
			if err != nil || CheckOffsets(offsets, 4, 1<<40, 1<<40) != nil {
				return
			}
			index, err := thrift.ParseColumnIndex(bounds)
			if err != nil {
				return
			}
			p, err := NewPages(c, offsets, index, 1<<40)
			if err != nil {
				return
			}
			if got := p.leaf(expr.IsNull{Col: expr.Column{ID: 1, Type: c.Type}}); len(got) != len(offsets.Pages) {
				t.Fatalf("%d verdicts for %d pages", len(got), len(offsets.Pages))
			}
		})
	})
}
