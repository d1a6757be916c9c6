package encoding

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
)

// naiveHybrid reads a hybrid stream value by value, from the specification's grammar.
func naiveHybrid(b []byte, width, n int) ([]uint32, bool) {
	var out []uint32
	for len(out) < n {
		if width == 0 {
			out = append(out, 0)
			continue
		}
		h, k := binary.Uvarint(b)
		if k <= 0 || h>>1 == 0 {
			return nil, false
		}
		b = b[k:]
		if h&1 == 0 {
			w := (width + 7) / 8
			if len(b) < w {
				return nil, false
			}
			var v uint32
			for i := range w {
				v |= uint32(b[i]) << (8 * i)
			}
			if width < 32 && v>>width != 0 {
				return nil, false
			}
			b = b[w:]
			for i := uint64(0); i < h>>1 && len(out) < n; i++ {
				out = append(out, v)
			}
			continue
		}
		values := (h >> 1) * 8
		if have := uint64(len(b)) * 8 / uint64(width); values > have || h>>1 > uint64(len(b)) {
			values = have
			if values == 0 {
				return nil, false
			}
		}
		for i := uint64(0); i < values && len(out) < n; i++ {
			var v uint32
			for bit := range width {
				at := int(i)*width + bit
				v |= uint32(b[at/8]>>(at%8)&1) << bit
			}
			out = append(out, v)
		}
		b = b[min(uint64(len(b)), (h>>1)*uint64(width)):]
	}
	return out, true
}

// pieces cuts n into random parts.
func pieces(rnd *rand.Rand, n int) []int {
	var out []int
	for n > 0 {
		k := 1 + rnd.IntN(min(n, 3000))
		if rnd.IntN(3) == 0 {
			k = 1 + rnd.IntN(min(n, 10))
		}
		out = append(out, k)
		n -= k
	}
	return out
}

func TestHybrid_ReadsOtherWriter(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 1))
	for width := range 33 {
		values := make([]int32, 5000)
		for i := range values {
			if i > 0 && rnd.IntN(10) < 7 {
				values[i] = values[i-1]
			} else if width > 0 {
				values[i] = int32(rnd.Uint32() >> (32 - width))
			}
		}
		enc := rle.Encoding{BitWidth: width}
		b, err := enc.EncodeInt32(nil, values)
		if err != nil {
			t.Fatal(err)
		}
		var h Hybrid
		if err := h.Init(b, uint(width)); err != nil {
			t.Fatal(err)
		}
		got := make([]uint32, 0, len(values))
		for _, k := range pieces(rnd, len(values)) {
			if rnd.IntN(4) == 0 {
				if err := h.Skip(k); err != nil {
					t.Fatal(err)
				}
				for _, v := range values[len(got):][:k] {
					got = append(got, uint32(v))
				}
				continue
			}
			at := len(got)
			got = got[:at+k]
			if err := h.Uint32(got[at:]); err != nil {
				t.Fatalf("width %d: %v", width, err)
			}
		}
		for i, v := range values {
			if got[i] != uint32(v) {
				t.Fatalf("width %d: value %d is %d; want %d", width, i, got[i], v)
			}
		}
	}
}

func FuzzHybrid(f *testing.F) {
	f.Add([]byte{0x03, 0b11100100, 0b11100100, 8, 3}, uint8(2), uint16(20))
	f.Add([]byte{}, uint8(0), uint16(9))
	f.Fuzz(func(t *testing.T, b []byte, width uint8, n uint16) {
		var h Hybrid
		if err := h.Init(b, uint(width)); err != nil {
			if width <= 32 || !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		want, ok := naiveHybrid(b, int(width), int(n))
		got := make([]uint32, n)
		err := h.Uint32(got)
		if (err == nil) != ok {
			t.Fatalf("error %v, naive %v", err, ok)
		}
		if ok && !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if !ok {
			return
		}
		// The same in pieces, gathered and as levels.
		rnd := rand.New(rand.NewPCG(uint64(n), uint64(width)))
		_ = h.Init(b, uint(width))
		dict := make([]byte, 4*300)
		for i := range dict {
			dict[i] = byte(i * 7)
		}
		at := 0
		for _, k := range pieces(rnd, int(n)) {
			dst := make([]byte, 4*k)
			err := h.Gather(dst, dict, 4)
			if beyond := slices.Max(want[at:at+k]) >= 300; (err != nil) != beyond {
				t.Fatalf("index beyond the dictionary: %v, error %v", beyond, err)
			} else if beyond {
				return
			}
			for i, v := range want[at : at+k] {
				if !bytes.Equal(dst[4*i:4*i+4], dict[4*v:4*v+4]) {
					t.Fatalf("value %d", at+i)
				}
			}
			at += k
		}
	})
}

func FuzzBits(f *testing.F) {
	f.Add([]byte{0x03, 0b11100100, 20, 1, 0x05, 0xff, 0x0f}, uint16(60), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, n uint16, start uint8) {
		want, ok := naiveHybrid(b, 1, int(n))
		var r Bits
		r.Init(b)
		pos := int(start)
		dst := make([]byte, (pos+int(n))/64*8+16)
		SetBits(dst, 0, pos)
		ones, err := r.Append(dst, pos, int(n))
		if (err == nil) != ok {
			t.Fatalf("error %v, naive %v", err, ok)
		}
		if !ok {
			return
		}
		sum := 0
		for i, v := range want {
			sum += int(v)
			if p := pos + i; uint32(dst[p>>3]>>(p&7)&1) != v {
				t.Fatalf("bit %d", i)
			}
		}
		if ones != sum || CountBits(dst, pos, int(n)) != sum || CountBits(dst, 0, len(dst)*8) != sum+pos {
			t.Fatalf("%d ones, %d; want %d", ones, CountBits(dst, pos, int(n)), sum)
		}
		r.Init(b)
		half := int(n) / 3
		first, err1 := r.Skip(half)
		second, err2 := r.Append(make([]byte, int(n)/64*8+16), 0, int(n)-half)
		if err1 != nil || err2 != nil || first+second != sum {
			t.Fatalf("in two parts: %d and %d ones of %d; %v %v", first, second, sum, err1, err2)
		}
		clear(dst)
		CopyBits(dst, 5, bytes.Repeat([]byte{0xff}, len(dst)), 3, int(n))
		if CountBits(dst, 0, len(dst)*8) != int(n) || CountBits(dst, 5, int(n)) != int(n) {
			t.Fatal("CopyBits")
		}
		ClearBits(dst, 5, int(n))
		if CountBits(dst, 0, len(dst)*8) != 0 {
			t.Fatal("ClearBits")
		}
	})
}

// deltas are values whose differences take every width.
func deltas(rnd *rand.Rand, n, width int) []int64 {
	out := make([]int64, n)
	v := int64(rnd.Uint64())
	for i := range out {
		out[i] = v
		if width > 0 {
			v += int64(rnd.Uint64() >> (64 - width))
		}
		if rnd.IntN(50) == 0 {
			v = -v
		}
	}
	return out
}

func TestDelta_ReadsOtherWriter(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(2, 1))
	var enc delta.BinaryPackedEncoding
	for width := range 65 {
		for _, n := range []int{0, 1, 2, 32, 33, 128, 129, 5000} {
			values := deltas(rnd, n, width)
			b, err := enc.EncodeInt64(nil, values)
			if err != nil {
				t.Fatal(err)
			}
			tail := []byte("tail")
			b = append(b, tail...)
			var d Delta
			if err := d.Init(b); err != nil {
				t.Fatal(err)
			}
			if d.Left() != n {
				t.Fatalf("%d values left of %d", d.Left(), n)
			}
			if rest, err := d.End(); err != nil || !bytes.Equal(rest, tail) {
				t.Fatalf("width %d, %d values: rest %q, %v", width, n, rest, err)
			}
			got := make([]int64, 0, n)
			for _, k := range pieces(rnd, n) {
				at := len(got)
				got = append(got, values[at:at+k]...)
				if rnd.IntN(4) == 0 {
					err = d.Skip(k)
				} else {
					clear(got[at:])
					err = d.Int64(got[at:])
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, values) {
				t.Fatalf("width %d, %d values differ", width, n)
			}
			if err := d.Int64(make([]int64, 1)); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("beyond the end: %v", err)
			}
		}
	}
}

func TestDelta_Int32Wraps(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(2, 2))
	values := make([]int32, 3000)
	for i := range values {
		values[i] = int32(rnd.Uint32())
		if i%7 < 4 && i > 0 {
			values[i] = values[i-1] + 3
		}
	}
	values[10], values[11] = 1<<31-1, -1<<31
	b, err := (&delta.BinaryPackedEncoding{}).EncodeInt32(nil, values)
	if err != nil {
		t.Fatal(err)
	}
	wide := make([]int64, len(values)) // as a writer that does not wrap has them: differences of 33 bits
	for i, v := range values {
		wide[i] = int64(v)
	}
	b64, err := (&delta.BinaryPackedEncoding{}).EncodeInt64(nil, wide)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{b, b64} {
		var d Delta
		if err := d.Init(b); err != nil {
			t.Fatal(err)
		}
		got := make([]int32, len(values))
		at := 0
		for _, k := range pieces(rnd, len(values)) {
			if err := d.Int32(got[at : at+k]); err != nil {
				t.Fatal(err)
			}
			at += k
		}
		if !slices.Equal(got, values) {
			t.Fatal("values differ")
		}
	}
}

// naiveDelta reads a stream value by value.
func naiveDelta(b []byte) (out []int64, ok bool) {
	var head [3]uint64
	for i := range head {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			return nil, false
		}
		head[i], b = v, b[k:]
	}
	first, k := binary.Varint(b)
	if k <= 0 || head[0] == 0 || head[0] > maxDeltaBlock || head[1] == 0 || head[1] > head[0] || head[0]%head[1] != 0 || head[0]/head[1]%8 != 0 || head[2] > 1<<14 {
		return nil, false
	}
	b = b[k:]
	n, per := int(head[2]), int(head[0]/head[1])
	v := uint64(first)
	for len(out) < n {
		if len(out) == 0 {
			out = append(out, first)
			continue
		}
		least, k := binary.Varint(b)
		if k <= 0 || len(b)-k < int(head[1]) {
			return nil, false
		}
		widths := b[k : k+int(head[1])]
		b = b[k+int(head[1]):]
		for _, w := range widths {
			if len(out) == n {
				break
			}
			if w > 64 {
				return nil, false
			}
			take := min(per, n-len(out))
			if per*int(w)/8 > len(b) && (take*int(w)+7)/8 > len(b) {
				return nil, false
			}
			for i := range take {
				var d uint64
				for bit := range int(w) {
					at := i*int(w) + bit
					d |= uint64(b[at/8]>>(at%8)&1) << bit
				}
				v += d + uint64(least)
				out = append(out, int64(v))
			}
			b = b[min(len(b), per*int(w)/8):]
		}
	}
	return out, true
}

func FuzzDelta(f *testing.F) {
	for _, w := range []int{0, 3, 33, 64} {
		b, _ := (&delta.BinaryPackedEncoding{}).EncodeInt64(nil, deltas(rand.New(rand.NewPCG(1, 1)), 200, w))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Delta
		if err := d.Init(b); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if d.Left() > 1<<14 {
			_, _ = d.End()
			return
		}
		want, ok := naiveDelta(b)
		mark := d
		got := make([]int64, d.Left())
		err := d.Int64(got)
		if (err == nil) != ok {
			t.Fatalf("error %v, naive %v", err, ok)
		}
		if ok && !slices.Equal(got, want) {
			t.Fatal("values differ")
		}
		if !ok {
			return
		}
		low := make([]int32, len(got))
		at := 0
		for _, k := range pieces(rand.New(rand.NewPCG(3, 4)), len(got)) {
			if err := mark.Int32(low[at : at+k]); err != nil {
				t.Fatal(err)
			}
			at += k
		}
		for i := range low {
			if low[i] != int32(got[i]) {
				t.Fatalf("value %d", i)
			}
		}
	})
}

func TestSplit_ReadsOtherWriter(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 7, 8, 9, 1000} {
		f32, f64 := make([]float32, n), make([]float64, n)
		plain32, plain64 := []byte{}, []byte{}
		for i := range n {
			f32[i], f64[i] = rnd.Float32(), rnd.Float64()
			plain32, _ = binary.Append(plain32, binary.LittleEndian, f32[i])
			plain64, _ = binary.Append(plain64, binary.LittleEndian, f64[i])
		}
		var enc bytestreamsplit.Encoding
		b32, _ := enc.EncodeFloat(nil, f32)
		b64, _ := enc.EncodeDouble(nil, f64)
		for width, c := range map[int][2][]byte{4: {b32, plain32}, 8: {b64, plain64}} {
			var s Split
			if err := s.Init(c[0], width); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 0, n*width)
			for _, k := range pieces(rnd, n) {
				at := len(got)
				got = got[:at+k*width]
				if err := s.Next(got[at:]); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(got, c[1]) {
				t.Fatalf("width %d: %d values differ", width, n)
			}
			if s.Skip(1) == nil || s.Next(make([]byte, width)) == nil {
				t.Fatal("beyond the end")
			}
		}
	}
	var s Split
	if err := s.Init(make([]byte, 13), 4); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
}

// slacked copies b to the middle of a larger buffer with capacity for n bytes more.
func slacked(b []byte, n int) []byte {
	out := make([]byte, len(b), len(b)+n)
	copy(out, b)
	return out
}

// FuzzKernels compares every kernel with its safe twin, with and without room beyond their input (Q5).
func FuzzKernels(f *testing.F) {
	f.Add([]byte("some bytes that are long enough to fill a few blocks of sixteen, thirty-two or sixty-four bytes"), uint64(7))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		for _, width := range []int{1, 2, 4, 8, 12, 16} {
			kernelsOfWidth(t, rnd, data, width)
		}
		for _, slack := range []int{0, 16, 64, 200} {
			stringKernels(t, rnd, data, slack)
		}
		for _, w := range [][2]int{{4, 8}, {4, 16}, {8, 16}, {1, 4}, {8, 32}} {
			n := len(data) / w[0]
			a, b := make([]byte, n*w[1]), make([]byte, n*w[1])
			for _, signed := range []bool{true, false} {
				Widen(a, data, n, w[0], w[1], signed)
				widenSafe(b, data, n, w[0], w[1], signed)
				if !bytes.Equal(a, b) {
					t.Fatalf("Widen %v", w)
				}
			}
		}
	})
}

func kernelsOfWidth(t *testing.T, rnd *rand.Rand, data []byte, width int) {
	n := len(data) / width
	if n == 0 {
		return
	}
	dict := data[:n*width]
	idx := make([]uint32, rnd.IntN(300))
	for i := range idx {
		idx[i] = uint32(rnd.IntN(n))
		if rnd.IntN(5000) == 0 {
			idx[i] = uint32(n + rnd.IntN(9))
		}
	}
	a, b := make([]byte, len(idx)*width), make([]byte, len(idx)*width)
	okA, okB := gather(a, dict, idx, width), gatherSafe(b, dict, idx, width)
	if okA != okB || okA && !bytes.Equal(a, b) {
		t.Fatalf("gather, width %d", width)
	}
	fill(a, dict[:width])
	fillSafe(b, dict[:width])
	if !bytes.Equal(a, b) {
		t.Fatalf("fill, width %d", width)
	}
	a, b = make([]byte, n*width), make([]byte, n*width)
	join(a, data, n, n, width)
	joinSafe(b, data, n, n, width)
	if !bytes.Equal(a, b) {
		t.Fatalf("join, width %d", width)
	}
	// Spread: bits of data decide; slots without a value may differ, but hold a value of the column or zero.
	rows := rnd.IntN(400)
	pos := rnd.IntN(100)
	bitmap := make([]byte, (pos+rows)/8+9)
	density := rnd.IntN(20)
	for i := pos; i < pos+rows; i++ {
		if rnd.IntN(20) >= density || i/64%3 == 1 {
			bitmap[i>>3] |= 1 << (i & 7)
		}
	}
	valid := CountBits(bitmap, pos, rows)
	a = bytes.Repeat([]byte{0xa5}, rows*width)
	for i := range valid * width {
		a[i] = data[i%len(data)] &^ 0x80 // never the poison
	}
	b = slices.Clone(a)
	Spread(a, bitmap, pos, rows, valid, width)
	spreadSafe(b, bitmap, pos, rows, valid, width)
	for i := range rows {
		p := pos + i
		x, y := a[i*width:(i+1)*width], b[i*width:(i+1)*width]
		if bitmap[p>>3]>>(p&7)&1 != 0 && !bytes.Equal(x, y) {
			t.Fatalf("Spread, width %d: row %d of %d", width, i, rows)
		}
		if bytes.IndexByte(x, 0xa5) >= 0 || bytes.IndexByte(y, 0xa5) >= 0 {
			t.Fatalf("Spread, width %d: row %d keeps what was there before", width, i)
		}
	}
}

func stringKernels(t *testing.T, rnd *rand.Rand, data []byte, slack int) {
	// A PLAIN page and a dictionary of the same strings.
	var page []byte
	var starts []uint32
	longest, limit := 0, []int{10, 16, 17, 32, 33, 64, 100, 1000}[rnd.IntN(8)]
	for rest := data; len(rest) > 0; {
		k := min(len(rest), rnd.IntN(limit+1))
		starts = append(starts, uint32(len(page)))
		page = binary.LittleEndian.AppendUint32(page, uint32(k))
		page = append(page, rest[:k]...)
		rest = rest[k:]
		longest = max(longest, k)
		if k == 0 && rnd.IntN(4) == 0 {
			break
		}
	}
	n := len(starts)
	if n == 0 {
		return
	}
	src := slacked(page, slack)
	size := len(page) - 4*n
	a, b := make([]byte, size, size+slack), make([]byte, size)
	endsA, endsB := make([]int32, n), make([]int32, n)
	if rnd.IntN(4) == 0 { // one value too many
		endsA, endsB = make([]int32, n+1), make([]int32, n+1)
	}
	if rnd.IntN(4) == 0 { // a broken length
		at := starts[rnd.IntN(n)]
		binary.LittleEndian.PutUint32(src[at:], rnd.Uint32()>>rnd.IntN(32))
	}
	rA, wA, okA := Plain(a, endsA, 100, src)
	rB, wB, okB := plainSafe(b, endsB, 100, src)
	if okA != okB || okA && (rA != rB || wA != wB || !bytes.Equal(a[:wA], b[:wB]) || !slices.Equal(endsA, endsB)) {
		t.Fatalf("Plain: %d %d %v; %d %d %v", rA, wA, okA, rB, wB, okB)
	}
	e := Entries{Raw: slacked(page, slack), Starts: append(starts, uint32(len(page))), Gap: 4, MaxLen: longest}
	idx := make([]uint32, rnd.IntN(200))
	for i := range idx {
		idx[i] = uint32(rnd.IntN(n))
		if rnd.IntN(3000) == 0 {
			idx[i] += uint32(n)
		}
	}
	size = len(idx) * longest
	a, b = make([]byte, size, size+slack), make([]byte, size)
	endsA, endsB = make([]int32, len(idx)), make([]int32, len(idx))
	nA, okA := Strings(a, endsA, 7, &e, idx)
	nB, okB := stringsSafe(b, endsB, 7, &e, idx)
	if okA != okB || okA && (nA != nB || !bytes.Equal(a[:nA], b[:nB]) || !slices.Equal(endsA, endsB)) {
		t.Fatalf("Strings: %d %v; %d %v", nA, okA, nB, okB)
	}
}

func TestUnpack_WithoutRoom(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 3))
	for width := uint(0); width <= 64; width++ {
		for _, n := range []int{8, 64, 2048} {
			need := n * int(width) / 8
			src := make([]byte, need)
			for i := range src {
				src[i] = byte(rnd.Uint32())
			}
			roomy := slacked(src, 64)
			a, b := make([]uint64, n), make([]uint64, n)
			unpack64(a, src, width)
			unpack64(b, roomy, width)
			if !slices.Equal(a, b) {
				t.Fatalf("unpack64, width %d", width)
			}
			if width <= 32 {
				c, d := make([]uint32, n), make([]uint32, n)
				unpack32(c, src, width)
				unpack32(d, roomy, width)
				if !slices.Equal(c, d) {
					t.Fatalf("unpack32, width %d", width)
				}
				for i := range c {
					if uint64(c[i]) != a[i] {
						t.Fatalf("width %d: %d and %d", width, c[i], a[i])
					}
				}
			}
		}
	}
}

func TestSpreadEnds(t *testing.T) {
	t.Parallel()
	ends := []int32{13, 15, 99, 99, 99}
	SpreadEnds(ends, 10, []byte{0b01001000}, 2, 5, 2) // bits 2..6: 0 1 0 0 1
	if want := []int32{10, 13, 13, 13, 15}; !slices.Equal(ends, want) {
		t.Errorf("%v; want %v", ends, want)
	}
	if got := NextOne([]byte{0, 0b00010000, 0}, 3, 24); got != 12 {
		t.Errorf("NextOne %d", got)
	}
	if got := NextOne([]byte{0, 0b00010000, 0}, 13, 20); got != 20 {
		t.Errorf("NextOne %d", got)
	}
}
