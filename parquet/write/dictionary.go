package write

import (
	"encoding/binary"
	"hash/maphash"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
)

// seed is one for all: whether a column gets a dictionary must not change from run to run, and with hashes of 64 bits over a
// few thousand values it does not.
var seed = maphash.MakeSeed()

// repeats tells from the gathered rows if a dictionary pays: at most half of the values are new ones.
func (c *column) repeats() bool {
	if c.physical == parquet.Types.Boolean {
		return false
	}
	seen := make(map[uint64]struct{})
	n := 0
	c.each(func(a arrow.Array, i int) {
		n++
		seen[hashValue(a, i)] = struct{}{}
	})
	return n > 0 && 2*len(seen) <= n
}

func hashValue(a arrow.Array, i int) uint64 {
	var scratch [8]byte
	number := func(v uint64) uint64 {
		binary.LittleEndian.PutUint64(scratch[:], v)
		return maphash.Bytes(seed, scratch[:])
	}
	switch a := a.(type) {
	case *array.Int32:
		return number(uint64(a.Value(i)))
	case *array.Int64:
		return number(uint64(a.Value(i)))
	case *array.Float64:
		return number(math.Float64bits(a.Value(i)))
	case *array.Timestamp:
		return number(uint64(a.Value(i)))
	case *array.String:
		return maphash.String(seed, a.Value(i))
	case *array.Binary:
		return maphash.Bytes(seed, a.Value(i))
	case *array.FixedSizeBinary:
		return maphash.Bytes(seed, a.Value(i))
	}
	return maphash.String(seed, a.ValueStr(i))
}
