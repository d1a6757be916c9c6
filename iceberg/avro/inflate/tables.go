package inflate

import "math/bits"

// Sizes of RFC 1951. A table has an entry for each value of the next litlenBits (distBits) bits; codes that are longer have
// a second table behind, found by the first one's entry. The sizes are powers of two above the most that both can need.
const (
	maxLitlen  = 288
	maxDist    = 32
	maxCode    = 15
	litlenBits = 11
	distBits   = 9
	litlenSize = 1 << 12
	distSize   = 1 << 10
)

// entry of a table: bits 0-4 the bits of the code to consume, 8-11 the extra bits (of a second table: the bits that index it),
// 12-15 flags, 16-31 the literal, the base of a length or distance, or where the second table begins. Of a special one that is
// neither end nor second table, no code begins with these bits.
type entry uint32

const (
	flagLiteral entry = 1 << (12 + iota)
	flagSpecial
	flagSubtable
	flagEnd

	invalid = flagSpecial
)

func (e entry) literal() bool  { return e&flagLiteral != 0 }
func (e entry) special() bool  { return e&flagSpecial != 0 }
func (e entry) subtable() bool { return e&flagSubtable != 0 }
func (e entry) end() bool      { return e&flagEnd != 0 }
func (e entry) length() uint   { return uint(e & 31) }
func (e entry) extra() uint    { return uint(e>>8) & 15 }
func (e entry) value() int     { return int(e >> 16) }
func (e entry) value8() byte   { return byte(e >> 16) }

// What the symbols mean, without the lengths of their codes.
var (
	litlenSymbols [maxLitlen]entry
	distSymbols   [maxDist]entry
	plainSymbols  [19]entry // of code lengths
)

func init() {
	for s := range 256 {
		litlenSymbols[s] = flagLiteral | entry(s)<<16
	}
	litlenSymbols[256] = flagSpecial | flagEnd
	base := 3
	for s := 257; s < 285; s++ {
		extra := max(0, (s-261)/4)
		litlenSymbols[s] = entry(extra)<<8 | entry(base)<<16
		base += 1 << extra
	}
	litlenSymbols[285] = entry(longest) << 16
	litlenSymbols[286], litlenSymbols[287] = invalid, invalid
	base = 1
	for s := range 30 {
		extra := max(0, s/2-1)
		distSymbols[s] = entry(extra)<<8 | entry(base)<<16
		base += 1 << extra
	}
	distSymbols[30], distSymbols[31] = invalid, invalid
	for s := range plainSymbols {
		plainSymbols[s] = entry(s) << 16
	}
}

// build fills a table for canonical codes of these lengths (0 = unused). Codes must use up the space exactly; but there may be
// none, or one of a single bit. Others are ErrCorrupt.
func build(table []entry, first uint, lens []uint8, symbols []entry) error {
	var count [maxCode + 1]int
	for _, l := range lens {
		count[l]++
	}
	used := len(lens) - count[0]
	count[0] = 0
	var next [maxCode + 2]int
	space := 0
	for l := 1; l <= maxCode; l++ {
		next[l+1] = (next[l] + count[l]) << 1
		space += count[l] << (maxCode - l)
	}
	if space != 1<<maxCode {
		if used != 0 && (used != 1 || count[1] != 1) {
			return ErrCorrupt
		}
		for i := range 1 << first {
			table[i] = invalid
		}
	}
	var codes [maxLitlen]uint16 // first bit lowest, as they are read
	var deepest [1 << litlenBits]uint8
	for s, l := range lens {
		if l == 0 {
			continue
		}
		codes[s] = bits.Reverse16(uint16(next[l])) >> (16 - l)
		next[l]++
		if prefix := codes[s] & (1<<first - 1); uint(l) > first {
			deepest[prefix] = max(deepest[prefix], l)
		}
	}
	end := 1 << first // of the tables so far
	for s, l := range lens {
		at, step, to, e := int(codes[s]), 1<<l, 1<<first, symbols[s]|entry(l)
		switch {
		case l == 0:
			continue
		case uint(l) > first:
			prefix := at & (1<<first - 1)
			if deepest[prefix] > 0 { // the first of its codes
				width := uint(deepest[prefix]) - first
				table[prefix] = flagSpecial | flagSubtable | entry(width)<<8 | entry(end)<<16
				end += 1 << width
				deepest[prefix] = 0
			}
			begin := table[prefix].value()
			at, step, to, e = begin+(at>>first), step>>first, begin+(1<<table[prefix].extra()), symbols[s]|entry(uint(l)-first)
		}
		for ; at < to; at += step {
			table[at] = e
		}
	}
	return nil
}

// fixedTables are those of RFC 1951, section 3.2.6.
func (d *Decoder) fixedTables() {
	if d.fixed {
		return
	}
	lens := d.lens[:maxLitlen]
	for s := range lens {
		switch {
		case s < 144, s >= 280:
			lens[s] = 8
		case s < 256:
			lens[s] = 9
		default:
			lens[s] = 7
		}
	}
	dist := d.lens[maxLitlen:]
	for s := range dist {
		dist[s] = 5
	}
	_, _ = build(d.litlen[:], litlenBits, lens, litlenSymbols[:]), build(d.dist[:], distBits, dist, distSymbols[:]) // both codes are complete
	d.fixed = true
}

// order of the lengths of the codes for code lengths.
var order = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamicTables reads those of RFC 1951, section 3.2.7.
func (d *Decoder) dynamicTables() error {
	d.fixed = false
	d.refill()
	litlens, dists, plain := d.take(5)+257, d.take(5)+1, d.take(4)+4
	if litlens > 286 || dists > 30 {
		return ErrCorrupt
	}
	var lens [19]uint8
	for _, s := range order[:plain] {
		d.refill()
		lens[s] = uint8(d.take(3))
	}
	const plainBits = 7
	if err := build(d.dist[:], plainBits, lens[:], plainSymbols[:]); err != nil { // the table serves twice
		return err
	}
	all := d.lens[:litlens+dists]
	for i := 0; i < len(all); {
		d.refill()
		e := d.dist[d.bits&(1<<plainBits-1)]
		if e.special() {
			return ErrCorrupt
		}
		d.take(e.length())
		n, l := 1, uint8(0)
		switch s := e.value(); s {
		case 16:
			if i == 0 {
				return ErrCorrupt
			}
			n, l = 3+d.take(2), all[i-1]
		case 17:
			n = 3 + d.take(3)
		case 18:
			n = 11 + d.take(7)
		default:
			l = uint8(s)
		}
		if n > len(all)-i {
			return ErrCorrupt
		}
		for range n {
			all[i] = l
			i++
		}
	}
	if err := build(d.litlen[:], litlenBits, all[:litlens], litlenSymbols[:]); err != nil {
		return err
	}
	return build(d.dist[:], distBits, all[litlens:], distSymbols[:])
}
