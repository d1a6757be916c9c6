package deletes

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/lakescan/lakescan/parquet/rowsel"
)

// The portable Roaring format (RoaringFormatSpec), and its 64-bit form: a count, then pairs of a 32-bit key and a bitmap.
const (
	cookieNoRuns    = 12346
	cookieRuns      = 12347
	offsetsFrom     = 4 // containers; fewer have no offset header when there are runs
	arrayMax        = 4096
	bitmapBytes     = 8192
	containerRows   = 1 << 16
	maxContainers   = 1 << 16
	maxHighKey      = math.MaxInt32 // a position stays below 2^63
	rangeBytes      = 16            // of a range in a selection
	rowsPerWord     = 64
	bitmapPreferred = 64 // a bitmap is smaller when runs > span/64
)

// roaring is a checked 64-bit bitmap over the bytes that it was parsed from.
type roaring struct {
	containers  []container
	cardinality int64
	runs        int64 // maximal runs, at most: runs that meet at a container's border count as two
	first, last int64 // meaningful if cardinality > 0
}

// container holds the rows [base, base+65536). Exactly one of the three is set; all are little-endian.
type container struct {
	base                int64
	array, runs, bitmap []byte
}

// parseRoaring checks the structure and counts; it allocates one container per eight bytes of input at most.
func parseRoaring(b []byte) (*roaring, error) {
	if len(b) < 8 {
		return nil, corrupt("bitmap of %d bytes", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	b = b[8:]
	if n > uint64(len(b))/8 {
		return nil, corrupt("%d bitmaps in %d bytes", n, len(b))
	}
	r := &roaring{}
	previous := int64(-1)
	for range n {
		if len(b) < 4 {
			return nil, corrupt("bitmap key cut short")
		}
		key := int64(binary.LittleEndian.Uint32(b))
		if key <= previous || key > maxHighKey {
			return nil, corrupt("bitmap key %d after %d", key, previous)
		}
		previous = key
		rest, err := r.parse32(b[4:], key<<32)
		if err != nil {
			return nil, err
		}
		b = rest
	}
	if len(b) != 0 {
		return nil, corrupt("%d bytes after the bitmap", len(b))
	}
	return r, nil
}

// parse32 reads one 32-bit bitmap whose rows begin at base.
func (r *roaring) parse32(b []byte, base int64) (rest []byte, err error) {
	if len(b) < 4 {
		return nil, corrupt("bitmap header cut short")
	}
	cookie := binary.LittleEndian.Uint32(b)
	b = b[4:]
	var n int
	var runFlags []byte
	switch {
	case cookie&0xffff == cookieRuns:
		n = int(cookie>>16) + 1
		if len(b) < (n+7)/8 {
			return nil, corrupt("run flags cut short")
		}
		runFlags, b = b[:(n+7)/8], b[(n+7)/8:]
	case cookie == cookieNoRuns:
		if len(b) < 4 {
			return nil, corrupt("container count cut short")
		}
		count := binary.LittleEndian.Uint32(b)
		if count > maxContainers {
			return nil, corrupt("%d containers", count)
		}
		n, b = int(count), b[4:]
	default:
		return nil, corrupt("bitmap cookie %#x", cookie)
	}
	if len(b) < 4*n {
		return nil, corrupt("container headers cut short")
	}
	headers := b[:4*n]
	b = b[4*n:]
	if runFlags == nil || n >= offsetsFrom {
		if len(b) < 4*n { // the offsets repeat what the sizes say
			return nil, corrupt("container offsets cut short")
		}
		b = b[4*n:]
	}
	previous := -1
	for i := range n {
		key := int(binary.LittleEndian.Uint16(headers[4*i:]))
		if key <= previous {
			return nil, corrupt("container key %d after %d", key, previous)
		}
		previous = key
		c := container{base: base + int64(key)*containerRows}
		isRun := runFlags != nil && runFlags[i/8]>>(i%8)&1 == 1
		if b, err = r.addContainer(c, b, int(binary.LittleEndian.Uint16(headers[4*i+2:]))+1, isRun); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// addContainer takes one container off b.
func (r *roaring) addContainer(c container, b []byte, cardinality int, isRun bool) (rest []byte, err error) {
	size := bitmapBytes
	switch {
	case isRun:
		if len(b) < 2 {
			return nil, corrupt("run count cut short")
		}
		size = 4 * int(binary.LittleEndian.Uint16(b))
		b = b[2:]
	case cardinality <= arrayMax:
		size = 2 * cardinality
	}
	if len(b) < size {
		return nil, corrupt("container of %d bytes in %d", size, len(b))
	}
	data := b[:size]
	var runs, first, last int
	switch {
	case isRun:
		c.runs = data
		runs, first, last, err = checkRuns(data, cardinality)
	case cardinality <= arrayMax:
		c.array = data
		runs, first, last, err = checkArray(data)
	default:
		c.bitmap = data
		runs, first, last, err = checkBitmap(data, cardinality)
	}
	if err != nil {
		return nil, err
	}
	if r.cardinality == 0 {
		r.first = c.base + int64(first)
	}
	r.last = c.base + int64(last)
	r.cardinality += int64(cardinality)
	r.runs += int64(runs)
	r.containers = append(r.containers, c)
	return b[size:], nil
}

func checkRuns(data []byte, cardinality int) (runs, first, last int, err error) {
	total, end := 0, -1
	for i := 0; i < len(data); i += 4 {
		start, more := int(binary.LittleEndian.Uint16(data[i:])), int(binary.LittleEndian.Uint16(data[i+2:]))
		if start <= end || start+more >= containerRows {
			return 0, 0, 0, corrupt("run [%d, +%d] after %d", start, more+1, end)
		}
		end = start + more
		total += more + 1
	}
	if total != cardinality {
		return 0, 0, 0, corrupt("runs of %d rows in a container of %d", total, cardinality)
	}
	return len(data) / 4, int(binary.LittleEndian.Uint16(data)), end, nil
}

func checkArray(data []byte) (runs, first, last int, err error) {
	previous := -2
	for i := 0; i < len(data); i += 2 {
		v := int(binary.LittleEndian.Uint16(data[i:]))
		if v <= previous {
			return 0, 0, 0, corrupt("position %d after %d", v, previous)
		}
		if v != previous+1 {
			runs++
		}
		previous = v
	}
	return runs, int(binary.LittleEndian.Uint16(data)), previous, nil
}

func checkBitmap(data []byte, cardinality int) (runs, first, last int, err error) {
	total, carry := 0, uint64(0)
	first = -1
	for i := 0; i < len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		if w == 0 {
			carry = 0
			continue
		}
		total += bits.OnesCount64(w)
		runs += bits.OnesCount64(w &^ (w<<1 | carry))
		carry = w >> 63
		if first < 0 {
			first = 8*i + bits.TrailingZeros64(w)
		}
		last = 8*i + bits.Len64(w) - 1
	}
	if total != cardinality {
		return 0, 0, 0, corrupt("bitmap of %d rows in a container of %d", total, cardinality)
	}
	return runs, first, last, nil
}

// dense says whether one bitmap over the span is the smaller form.
func (r *roaring) dense() bool {
	return r.runs > 2 && r.runs > (r.last-r.first)/bitmapPreferred
}

// bytes that selection will allocate, at most.
func (r *roaring) bytes() int64 {
	if r.cardinality == 0 {
		return 0
	}
	if r.dense() {
		return (r.last-r.first)/8 + 16
	}
	return r.runs * rangeBytes
}

// selection of the rows; it keeps no reference to the parsed bytes.
func (r *roaring) selection() rowsel.Selection {
	if r.cardinality == 0 {
		return rowsel.None()
	}
	if r.dense() {
		return r.words()
	}
	var b rowsel.Builder
	for _, c := range r.containers {
		c.ranges(b.Add)
	}
	return b.Selection()
}

// ranges yields the container's runs in rising order.
func (c container) ranges(add func(from, to int64)) {
	switch {
	case c.runs != nil:
		for i := 0; i < len(c.runs); i += 4 {
			start := c.base + int64(binary.LittleEndian.Uint16(c.runs[i:]))
			add(start, start+int64(binary.LittleEndian.Uint16(c.runs[i+2:]))+1)
		}
	case c.array != nil:
		for i := 0; i < len(c.array); i += 2 {
			v := c.base + int64(binary.LittleEndian.Uint16(c.array[i:]))
			add(v, v+1)
		}
	default:
		for i := 0; i < len(c.bitmap); i += 8 {
			at := c.base + 8*int64(i)
			for w := binary.LittleEndian.Uint64(c.bitmap[i:]); w != 0; {
				from := bits.TrailingZeros64(w)
				n := bits.TrailingZeros64(^(w >> from))
				add(at+int64(from), at+int64(from+n))
				if from+n == rowsPerWord {
					break
				}
				w &= ^uint64(0) << (from + n)
			}
		}
	}
}

// words is one bitmap from the first row to the last.
func (r *roaring) words() rowsel.Selection {
	base := r.first &^ (rowsPerWord - 1)
	words := make([]uint64, (r.last-base)/rowsPerWord+1)
	for _, c := range r.containers {
		if c.bitmap == nil {
			c.ranges(func(from, to int64) { fill(words, from-base, to-base) })
			continue
		}
		for i := 0; i < len(c.bitmap); i += 8 {
			// Words before the first row or after the last hold no bit.
			if w := binary.LittleEndian.Uint64(c.bitmap[i:]); w != 0 {
				words[(c.base+8*int64(i)-base)/rowsPerWord] = w
			}
		}
	}
	return rowsel.FromWords(base, words)
}

// fill sets the bits of [from, to).
func fill(words []uint64, from, to int64) {
	for at := from; at < to; {
		w, lo := at/rowsPerWord, at%rowsPerWord
		n := min(rowsPerWord-lo, to-at)
		words[w] |= (^uint64(0) >> (rowsPerWord - n)) << lo
		at += n
	}
}
