package build

import (
	"sync"

	"github.com/lakescan/lakescan/parquet/codec"
)

// Account is told how many bytes of scratch memory a column holds. Nil = not counted.
type Account interface{ Add(delta int64) }

// scratch is the working memory of one column: the page that is open, the dictionary, and pieces for decoding.
type scratch struct {
	page           []byte // uncompressed page
	kept           []byte // page as stored, if it outlives the bytes at hand
	dict           []byte // uncompressed dictionary page
	conv           []byte // dictionary entries in the array's width
	tmp            []byte // values of one step before conversion
	bits           []byte // booleans of one step
	slots          []byte // a bit for each place of a step, in nested columns
	offs           []uint32
	idx            []uint32
	ends           []int32
	prefix, suffix []int32
	prev           []byte // last value of DELTA_BYTE_ARRAY
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// codecs are apart from scratch: their state lives for one call only.
var codecs = sync.Pool{New: func() any { return new(codec.Decoder) }}

func (s *scratch) size() int64 {
	return int64(cap(s.page) + cap(s.kept) + cap(s.dict) + cap(s.conv) + cap(s.tmp) + cap(s.bits) + cap(s.slots) + cap(s.prev) + 4*(cap(s.offs)+cap(s.idx)+cap(s.ends)+cap(s.prefix)+cap(s.suffix)))
}

// maxPooled is the scratch size beyond which memory goes back to the collector rather than to the pool.
const maxPooled = 32 << 20

func grow[T any](b []T, n int) []T {
	if cap(b) < n {
		b = make([]T, n, n+n/4)
	}
	return b[:n]
}

// growBytes keeps the slack that kernels and codecs like beyond n.
func growBytes(b []byte, n int) []byte {
	if cap(b) < n+slack {
		b = make([]byte, n, n+n/4+slack)
	}
	return b[:n]
}

// slack is how much capacity buffers have beyond their contents: the widest move of a kernel.
const slack = 64
