package avro

import (
	"bytes"
	"fmt"
	"io"
)

// Rows iterates over the records of the file with a program compiled for its schema. blocks (nil = none) are blocks of the
// file that have been unpacked, and memory for the others; it belongs to the Rows until they are given up.
func (f *File) Rows(p *Program, blocks *Blocks) *Rows {
	if blocks == nil {
		blocks = &Blocks{}
	}
	return &Rows{f: f, p: p, blocks: blocks, off: f.body}
}

// Rows yields the records of one file. It belongs to one goroutine.
type Rows struct {
	f      *File
	p      *Program
	d      decoder
	blocks *Blocks
	ahead  int   // blocks that have been taken from those unpacked before
	off    int   // of the next block
	left   int64 // records of the current block
}

// Next fills row with the next record; io.EOF ends the file. Views in row are valid until the next call.
func (r *Rows) Next(row *Row) error {
	for r.left == 0 {
		if r.d.pos != len(r.d.buf) {
			return corrupt(r.off, "bytes left over in the block that ends")
		}
		if r.off == len(r.f.data) {
			return io.EOF
		}
		if err := r.block(); err != nil {
			return err
		}
	}
	r.left--
	row.reset(r.p)
	r.d.exec(r.p.ops, row)
	if r.d.bad {
		return corrupt(r.off, "malformed record in the block that ends")
	}
	return nil
}

// block opens the next block.
func (r *Rows) block() error {
	b, err := r.f.block(r.off)
	if err != nil {
		return err
	}
	var plain []byte
	if r.ahead < len(r.blocks.ahead) {
		plain = r.blocks.ahead[r.ahead]
		r.ahead++
	} else if plain, err = r.blocks.next(r.f, b.packed); err != nil {
		return fmt.Errorf("%w: block at byte %d: %w", ErrCorrupt, r.off, err)
	}
	if b.count > int64(len(plain)) { // only records of nothing but nulls have no byte
		return corrupt(r.off, "more records than bytes")
	}
	r.off, r.left = b.end, b.count
	r.d = decoder{buf: plain}
	return nil
}

// block is where a block lies.
type block struct {
	count  int64
	packed []byte
	end    int // offset of the next
}

func (f *File) block(off int) (block, error) {
	d := decoder{buf: f.data, pos: off}
	count, size := d.long(), d.long()
	packed := d.fixed(size)
	mark := d.fixed(syncSize)
	if d.bad || count < 0 {
		return block{}, corrupt(off, "malformed block")
	}
	if !bytes.Equal(mark, f.sync[:]) {
		return block{}, corrupt(d.pos-syncSize, "wrong sync marker")
	}
	return block{count, packed, d.pos}, nil
}
