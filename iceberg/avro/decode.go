package avro

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// decoder walks over a block. After the first fault bad is set, at is where, and nothing more is read: pos stays at the end
// of buf, so that loops end. Its methods therefore need no error results.
type decoder struct {
	buf []byte
	pos int
	bad bool
	at  int
}

func (d *decoder) fail() {
	if !d.bad {
		d.bad, d.at = true, d.pos
	}
	d.pos = len(d.buf)
}

// long reads a zig-zag varint.
func (d *decoder) long() int64 {
	if d.pos < len(d.buf) && d.buf[d.pos] < 0x80 {
		v := d.buf[d.pos]
		d.pos++
		return int64(v>>1) ^ -int64(v&1)
	}
	return d.longMore()
}

// longMore reads a varint of up to ten bytes. Bits above 64 are dropped, as in the Java library: there is a writer whose
// snapshot ids have them, and no reader of rows needs those.
func (d *decoder) longMore() int64 {
	var v uint64
	for i := range min(10, len(d.buf)-d.pos) {
		b := d.buf[d.pos+i]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.pos += i + 1
			return int64(v>>1) ^ -int64(v&1)
		}
	}
	d.fail()
	return 0
}

// fixed returns the next n bytes as a view.
func (d *decoder) fixed(n int64) []byte {
	if n < 0 || n > int64(len(d.buf)-d.pos) {
		d.fail()
		return nil
	}
	from := d.pos
	d.pos += int(n)
	return d.buf[from:d.pos:d.pos]
}

func (d *decoder) bytes() []byte { return d.fixed(d.long()) }

// blockCount reads the head of a block of an array or map; a negative count is followed by the block's size, which only
// skipping needs. An element is one byte at least but for arrays of nothing, which no file of ours has.
func (d *decoder) blockCount() int64 {
	n := d.long()
	if n < 0 {
		d.long()
		n = -n
	}
	if n < 0 || n > int64(len(d.buf)-d.pos) {
		d.fail()
		return 0
	}
	return n
}

// exec runs ops for one record.
func (d *decoder) exec(ops []op, row *Row) {
	for pc := 0; pc < len(ops); pc++ {
		o := &ops[pc]
		switch o.code {
		case opSkipVar:
			d.long()
		case opSkipN:
			d.fixed(int64(o.n))
		case opSkipBytes:
			d.bytes()
		case opVar:
			row.Num[o.slot], row.Has[o.slot] = d.long(), true
		case opBool:
			if b := d.fixed(1); b != nil {
				row.Num[o.slot], row.Has[o.slot] = int64(b[0]&1), true
			}
		case opFloat:
			if b := d.fixed(4); b != nil {
				v := float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
				row.Num[o.slot], row.Has[o.slot] = int64(math.Float64bits(v)), true
			}
		case opDouble:
			if b := d.fixed(8); b != nil {
				row.Num[o.slot], row.Has[o.slot] = int64(binary.LittleEndian.Uint64(b)), true
			}
		case opBytes:
			row.Bytes[o.slot] = d.bytes()
		case opFixed:
			row.Bytes[o.slot] = d.fixed(int64(o.n))
		case opOptional:
			branch := d.long()
			if branch == int64(o.null) && o.null >= 0 {
				pc += o.n
			} else if branch>>1 != 0 || o.null < 0 && branch != 0 {
				d.fail()
			}
		case opUnion:
			branch := d.long()
			if branch < 0 || branch >= int64(len(o.table)) {
				d.fail()
				return
			}
			pc += o.table[branch]
		case opJump:
			pc += o.n
		case opSkipBlocks:
			d.skipBlocks(o, ops[pc+1:pc+1+o.n], row)
			pc += o.n
		case opList:
			d.list(&row.List[o.slot])
		case opPairs:
			d.pairs(o, row)
		case opEach:
			d.each(o, row)
		}
		if d.bad {
			return
		}
	}
}

// skipBlocks passes over an array or map whose elements body skips. Those of manifests are numbers, or pairs of a number and
// either another or bytes: these have loops of their own.
func (d *decoder) skipBlocks(o *op, body []op, row *Row) {
	for !d.bad {
		n := d.long()
		if n == 0 {
			return
		}
		if n < 0 {
			d.fixed(d.long())
			continue
		}
		if n > int64(len(d.buf)-d.pos) {
			d.fail()
			return
		}
		switch o.skip {
		case skipNumbers:
			d.skipLongs(n * int64(o.n))
		case skipNumberAndBytes:
			for ; n > 0 && !d.bad; n-- {
				d.long()
				d.bytes()
			}
		default:
			for ; n > 0 && !d.bad; n-- {
				d.exec(body, row)
			}
		}
	}
}

// skipLongs passes over n varints: a byte below 0x80 ends one. How long they are is not looked at.
func (d *decoder) skipLongs(n int64) {
	const ends = 0x8080808080808080
	for n >= 8 && len(d.buf)-d.pos >= 8 {
		n -= int64(bits.OnesCount64(^binary.LittleEndian.Uint64(d.buf[d.pos:]) & ends))
		d.pos += 8
	}
	for n > 0 {
		if d.pos >= len(d.buf) {
			d.fail()
			return
		}
		if d.buf[d.pos] < 0x80 {
			n--
		}
		d.pos++
	}
}

func (d *decoder) list(out *[]int64) {
	for !d.bad {
		n := d.blockCount()
		if n == 0 {
			return
		}
		for ; n > 0 && !d.bad; n-- {
			*out = append(*out, d.long())
		}
	}
}

// maxEach bounds the elements of an array of records: a Row is much larger than its few bytes in the file.
const maxEach = 1 << 14

func (d *decoder) each(o *op, row *Row) {
	list := row.Each[o.slot]
	for !d.bad {
		n := d.blockCount()
		if n == 0 {
			break
		}
		if len(list)+int(n) > maxEach {
			d.fail()
			return
		}
		for ; n > 0 && !d.bad; n-- {
			if len(list) < cap(list) {
				list = list[:len(list)+1]
			} else {
				list = append(list, Row{})
			}
			in := &list[len(list)-1]
			in.reset(o.each)
			d.exec(o.each.ops, in)
		}
	}
	row.Each[o.slot] = list
}

// pairs reads the values of the wanted keys and passes over the others.
func (d *decoder) pairs(o *op, row *Row) {
	for !d.bad {
		n := d.blockCount()
		if n == 0 {
			return
		}
		for ; n > 0 && !d.bad; n-- {
			slot := o.keys.slot(d.long())
			if o.null >= 0 {
				branch := d.long()
				if branch == int64(o.null) {
					continue
				}
				if branch>>1 != 0 {
					d.fail()
				}
			}
			if o.kind == Bytes {
				v := d.bytes()
				if slot >= 0 {
					row.Bytes[slot] = v
				}
				continue
			}
			v := d.long()
			switch {
			case slot < 0:
			case o.keys.sum:
				row.Num[o.slot], row.Has[o.slot] = row.Num[o.slot]+v, true
			default:
				row.Num[slot], row.Has[slot] = v, true
			}
		}
	}
}
