package build

import (
	"sync"

	"github.com/lakescan/lakescan/parquet/codec"
)

// Account is told how many bytes of scratch memory a column holds. Nil = not counted.
type Account interface{ Add(delta int64) }

// scratch is the working memory of one column: the page that is open, the dictionary, and pieces for decoding.
type scratch struct {
	page           []byte // uncompressed page that outlives a call
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

// callState is apart from scratch: it lives for one call only, so that the next column finds its page in the processor's cache.
type callState struct {
	codec codec.Decoder
	page  []byte // uncompressed page that ends within the call
}

var calls = sync.Pool{New: func() any { return new(callState) }}

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

// lasting gives n bytes and the slack beyond that outlive a call: from opt.Pages, kept in own, or else from scratch memory, kept in
// pooled. Many columns hold such memory at a time, too much of it for sync.Pool to keep from one row group to the next.
func (c *Column) lasting(own, pooled *[]byte, n int) []byte {
	if c.opt.Pages == nil {
		*pooled = growBytes(*pooled, n)
		return *pooled
	}
	if cap(*own) < n+slack {
		c.free(own)
		*own = c.opt.Pages.Allocate(n + slack)
	}
	return (*own)[:n]
}

func (c *Column) free(own *[]byte) {
	if *own != nil {
		c.opt.Pages.Free(*own)
		*own = nil
	}
}

// slack is how much capacity buffers have beyond their contents: the widest move of a kernel.
const slack = 64
