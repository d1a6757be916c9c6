package eval

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// ErrType says that a batch or schema does not have the columns or types that the predicate was bound to.
var ErrType = errors.New("eval: column does not fit the predicate")

// Evaluator is a compiled predicate; immutable.
type Evaluator struct {
	root node
}

// New compiles a bound predicate for batches of schema s. Errors: ErrType where a column is missing, an error where e is not
// bound or a Match has no Matcher.
func New(e expr.Expr, s *arrow.Schema) (*Evaluator, error) {
	c := compiler{schema: s}
	root, err := c.compile(e)
	if err != nil {
		return nil, err
	}
	return &Evaluator{root}, nil
}

// Eval puts the selected rows of rec into sel. An error (ErrType, or a malformed array) leaves sel empty.
func (ev *Evaluator) Eval(rec arrow.RecordBatch, sel *Selection) error {
	n := int(rec.NumRows())
	sel.reset(n)
	f := &sel.frame
	f.rec, f.n = rec, n
	open := f.bitmap(len(sel.words))
	fill(open, n)
	err := ev.root.eval(f, open, sel.words)
	f.done(open)
	f.rec = nil
	if err != nil {
		sel.reset(0)
		return err
	}
	sel.count = popcount(sel.words)
	return nil
}

// Selection is a set of the rows of one batch, reused from batch to batch. The zero value is ready and holds no rows.
type Selection struct {
	words []uint64
	rows  int
	count int
	bits  []byte
	frame frame
}

// Len is the number of rows of the batch, Count of those selected.
func (s *Selection) Len() int { return s.rows }

// Count is the number of selected rows.
func (s *Selection) Count() int { return s.count }

// All reports whether every row is selected.
func (s *Selection) All() bool { return s.count == s.rows }

// Has reports whether row i is selected.
func (s *Selection) Has(i int) bool { return s.words[i/64]>>(i%64)&1 != 0 }

// Words has one bit a row, the first row lowest; bits from Len on are zero. Valid until the next use of s; the caller may
// clear bits in it and then must call Recount.
func (s *Selection) Words() []uint64 { return s.words }

// Recount brings Count up to date with Words.
func (s *Selection) Recount() { s.count = popcount(s.words) }

// Bits is Words in Arrow's bitmap layout, least significant bit first. Valid until the next use of s.
func (s *Selection) Bits() []byte {
	s.bits = s.bits[:0]
	for _, w := range s.words {
		s.bits = binary.LittleEndian.AppendUint64(s.bits, w)
	}
	return s.bits[:(s.rows+7)/8]
}

// Runs yields the maximal runs [from, to) of selected rows.
func (s *Selection) Runs() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for from := s.seek(0, 0); from < s.rows; {
			to := s.seek(from, ^uint64(0))
			if !yield(from, to) {
				return
			}
			from = s.seek(to, 0)
		}
	}
}

// seek is the first row from i on whose bit differs from flip's bits: flip 0 seeks a selected row, all ones one that is not.
func (s *Selection) seek(i int, flip uint64) int {
	for w := i / 64; w < len(s.words); w++ {
		x := s.words[w] ^ flip
		if w == i/64 {
			x = x >> (i % 64) << (i % 64)
		}
		if x != 0 {
			return min(w*64+bits.TrailingZeros64(x), s.rows)
		}
	}
	return s.rows
}

func (s *Selection) reset(rows int) {
	n := (rows + 63) / 64
	s.words = resize(s.words, n)
	s.rows, s.count = rows, 0
	clear(s.words)
}

func popcount(words []uint64) int {
	n := 0
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return n
}

// fill sets the first n bits and clears the others.
func fill(words []uint64, n int) {
	for i := range words {
		words[i] = ^uint64(0)
	}
	if r := n % 64; r != 0 {
		words[len(words)-1] = 1<<r - 1
	}
}

// frame is one call of Eval and the scratch memory of all of them.
type frame struct {
	rec  arrow.RecordBatch
	n    int
	free [][]uint64
	vals block
}

// bitmap lends a bitmap with undefined content; give it back with done.
func (f *frame) bitmap(words int) []uint64 {
	last := len(f.free) - 1
	if last < 0 {
		return resize(nil, words)
	}
	s := f.free[last]
	f.free = f.free[:last]
	return resize(s, words)
}

func resize(s []uint64, n int) []uint64 {
	if cap(s) < n {
		return make([]uint64, n, n+n/8)
	}
	return s[:n]
}

func (f *frame) done(s []uint64) { f.free = append(f.free, s) }

// node is a predicate: eval sets out to the rows of open for which it is TRUE. out does not alias open.
type node interface {
	eval(f *frame, open, out []uint64) error
	cost() int // per row, relative
}

type constant bool

func (c constant) cost() int { return 0 }
func (c constant) eval(_ *frame, open, out []uint64) error {
	if c {
		copy(out, open)
	} else {
		clear(out)
	}
	return nil
}

type and []node

func (a and) cost() int { return total(a) }
func (a and) eval(f *frame, open, out []uint64) error {
	rest := f.bitmap(len(open))
	defer f.done(rest)
	copy(rest, open)
	for i, x := range a {
		if err := x.eval(f, rest, out); err != nil {
			return err
		}
		if i == len(a)-1 || empty(out) {
			return nil
		}
		copy(rest, out)
	}
	return nil
}

type or []node

func (o or) cost() int { return total(o) }
func (o or) eval(f *frame, open, out []uint64) error {
	rest, got := f.bitmap(len(open)), f.bitmap(len(open))
	defer f.done(rest)
	defer f.done(got)
	copy(rest, open)
	clear(out)
	for _, x := range o {
		if err := x.eval(f, rest, got); err != nil {
			return err
		}
		left := uint64(0)
		for i, g := range got {
			out[i] |= g
			rest[i] &^= g
			left |= rest[i]
		}
		if left == 0 {
			return nil
		}
	}
	return nil
}

func total(nodes []node) int {
	c := 0
	for _, n := range nodes {
		c += n.cost()
	}
	return c
}

func empty(words []uint64) bool {
	for _, w := range words {
		if w != 0 {
			return false
		}
	}
	return true
}

func typeError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrType, fmt.Sprintf(format, args...))
}
