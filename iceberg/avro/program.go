package avro

import (
	"fmt"
)

// Want asks for one field of a record, by field id. What is asked decides which of the other members matter:
//
//   - a scalar: numbers go to Row.Num[Slot], everything that has bytes (bytes, string, fixed) to Row.Bytes[Slot];
//   - Fields: a record inside the record;
//   - Each: an array of records; its elements become Row.Each[Slot], with slots of their own;
//   - List: an array of ints or longs, to Row.List[Slot];
//   - Keys: a map written as an array of records of key and value; a key's value goes to the slot it names, as a scalar.
//     With Sum, the numbers of these keys are added up in Slot.
//
// A file that lacks the field leaves the slot null.
type Want struct {
	ID     int
	Slot   int
	Fields []Want
	Each   []Want
	List   bool
	Keys   map[int]int
	Sum    bool
}

// Program fills a Row from the records of one schema. It is immutable.
type Program struct {
	ops  []op
	size sizes
}

// sizes counts the slots of a Row.
type sizes struct{ num, bytes, list, each int }

// Row is one record. Numbers: Has tells NULL; bool is 0 or 1, float and double are the bits of a float64. Bytes: nil is
// NULL; not nil but empty is empty. A Row may be reused for files of different programs.
type Row struct {
	Num   []int64
	Has   []bool
	Bytes [][]byte
	List  [][]int64
	Each  [][]Row
}

func (r *Row) reset(p *Program) {
	if len(r.Num) != p.size.num || len(r.Bytes) != p.size.bytes || len(r.List) != p.size.list || len(r.Each) != p.size.each {
		*r = Row{make([]int64, p.size.num), make([]bool, p.size.num), make([][]byte, p.size.bytes), make([][]int64, p.size.list), make([][]Row, p.size.each)}
		return
	}
	clear(r.Num) // sums start at 0
	clear(r.Has)
	clear(r.Bytes)
	for i := range r.List {
		r.List[i] = r.List[i][:0]
	}
	for i := range r.Each {
		r.Each[i] = r.Each[i][:0]
	}
}

type code uint8

const (
	opSkipVar code = iota
	opSkipN
	opSkipBytes
	opVar
	opBool
	opFloat
	opDouble
	opBytes
	opFixed
	opOptional // branch null of two: jump over n ops
	opUnion    // jump by the table
	opJump
	opSkipBlocks // array or map of the next n ops, which skip
	opList
	opPairs
	opEach
)

// op of the flat program. n is a size for fixed values, else a number of following ops.
type op struct {
	code  code
	kind  Kind     // opPairs: of the value; opOptional: unused
	null  int8     // opOptional, opPairs: index of the null branch, -1 = not optional
	skip  elements // opSkipBlocks
	slot  int
	n     int
	table []int    // opUnion: offsets of the branches
	keys  *keys    // opPairs
	each  *Program // opEach
}

// elements of an array or map that is skipped.
type elements uint8

const (
	skipAny     elements = iota
	skipNumbers          // n of them
	skipNumberAndBytes
)

// skipped tells the elements that body skips.
func skipped(body []op) elements {
	if len(body) == 2 && body[0].code == opSkipVar && body[1].code == opSkipBytes {
		return skipNumberAndBytes
	}
	for _, o := range body {
		if o.code != opSkipVar {
			return skipAny
		}
	}
	return skipNumbers
}

// keys finds the slot of a map's key. Field ids are small but for the reserved ones.
type keys struct {
	dense []int32 // slot + 1
	rest  map[int64]int
	sum   bool
}

const denseKeys = 4096

func newKeys(m map[int]int, sum bool) *keys {
	k := &keys{sum: sum}
	for key, slot := range m {
		if key < 0 || key >= denseKeys {
			if k.rest == nil {
				k.rest = map[int64]int{}
			}
			k.rest[int64(key)] = slot
			continue
		}
		if key >= len(k.dense) {
			k.dense = append(k.dense, make([]int32, key+1-len(k.dense))...)
		}
		k.dense[key] = int32(slot) + 1
	}
	return k
}

func (k *keys) slot(key int64) int {
	if uint64(key) < uint64(len(k.dense)) {
		return int(k.dense[key]) - 1
	}
	if slot, ok := k.rest[key]; ok {
		return slot
	}
	return -1
}

// Compile makes the program that reads the wanted fields of records of schema s. A field whose type is not of the kind
// wanted is an error.
func Compile(s *Schema, want []Want) (*Program, error) {
	p := &Program{}
	if s.Kind != Record || len(s.Fields) == 0 {
		return nil, fmt.Errorf("avro: the file holds no records with fields")
	}
	c := compiler{p: p}
	if err := c.record(s, want); err != nil {
		return nil, fmt.Errorf("avro: %w", err)
	}
	p.size = count(want)
	return p, nil
}

// count finds how many slots of each kind the wants name. A scalar's kind is known from the file only, so it has both.
func count(want []Want) sizes {
	var n sizes
	scalar := func(slot int) { n.num, n.bytes = max(n.num, slot+1), max(n.bytes, slot+1) }
	for _, w := range want {
		switch {
		case w.Fields != nil:
			in := count(w.Fields)
			n = sizes{max(n.num, in.num), max(n.bytes, in.bytes), max(n.list, in.list), max(n.each, in.each)}
		case w.Each != nil:
			n.each = max(n.each, w.Slot+1)
		case w.List:
			n.list = max(n.list, w.Slot+1)
		case w.Keys != nil:
			for _, slot := range w.Keys {
				scalar(slot)
			}
			scalar(w.Slot)
		default:
			scalar(w.Slot)
		}
	}
	return n
}

type compiler struct{ p *Program }

func (c *compiler) emit(o op) int {
	c.p.ops = append(c.p.ops, o)
	return len(c.p.ops) - 1
}

func (c *compiler) record(s *Schema, want []Want) error {
	for _, f := range s.Fields {
		w := find(want, f.ID)
		if w == nil {
			c.skip(f.Type)
			continue
		}
		if err := c.field(f.Type, w); err != nil {
			return fmt.Errorf("field %q (id %d): %w", f.Name, f.ID, err)
		}
	}
	return nil
}

func find(want []Want, id int) *Want {
	for i := range want {
		if want[i].ID == id && id >= 0 {
			return &want[i]
		}
	}
	return nil
}

// field compiles a wanted field; an optional one jumps over its ops when it is null.
func (c *compiler) field(s *Schema, w *Want) error {
	if s.Kind != Union {
		return c.value(s, w)
	}
	in := s.NonNull()
	if in == nil || len(s.Branches) > 2 {
		if in == nil && allNull(s) {
			c.skip(s)
			return nil
		}
		return fmt.Errorf("a union of %d branches", len(s.Branches))
	}
	at := -1
	if len(s.Branches) == 2 {
		at = c.emit(op{code: opOptional, null: nullBranch(s)})
	} else {
		at = c.emit(op{code: opOptional, null: -1})
	}
	if err := c.value(in, w); err != nil {
		return err
	}
	c.p.ops[at].n = len(c.p.ops) - at - 1
	return nil
}

func allNull(s *Schema) bool {
	for _, b := range s.Branches {
		if b.Kind != Null {
			return false
		}
	}
	return true
}

func nullBranch(s *Schema) int8 {
	for i, b := range s.Branches {
		if b.Kind == Null {
			return int8(i)
		}
	}
	return -1
}

func (c *compiler) value(s *Schema, w *Want) error {
	switch {
	case w.Fields != nil:
		if s.Kind != Record {
			return fmt.Errorf("no record")
		}
		return c.record(s, w.Fields)
	case w.Each != nil:
		if s.Kind != Array || s.Items.Kind != Record {
			return fmt.Errorf("no array of records")
		}
		each, err := Compile(s.Items, w.Each)
		c.emit(op{code: opEach, slot: w.Slot, each: each})
		return err
	case w.List:
		if s.Kind != Array || s.Items.Kind != Int && s.Items.Kind != Long {
			return fmt.Errorf("no array of integers")
		}
		c.emit(op{code: opList, slot: w.Slot})
		return nil
	case w.Keys != nil:
		return c.pairs(s, w)
	}
	o := op{slot: w.Slot, n: s.Size}
	switch s.Kind {
	case Int, Long, Enum:
		o.code = opVar
	case Boolean:
		o.code = opBool
	case Float:
		o.code = opFloat
	case Double:
		o.code = opDouble
	case Bytes, String:
		o.code = opBytes
	case Fixed:
		o.code = opFixed
	case Null:
		return nil
	default:
		return fmt.Errorf("no scalar")
	}
	c.emit(o)
	return nil
}

// pairs compiles a map that is written as an array of {key, value}, the only form for integer keys.
func (c *compiler) pairs(s *Schema, w *Want) error {
	if s.Kind != Array || s.Items.Kind != Record || len(s.Items.Fields) != 2 {
		return fmt.Errorf("no map as an array of key and value")
	}
	key, value := s.Items.Fields[0].Type, s.Items.Fields[1].Type
	if key.Kind != Int && key.Kind != Long {
		return fmt.Errorf("a map without integer keys")
	}
	o := op{code: opPairs, slot: w.Slot, null: -1, keys: newKeys(w.Keys, w.Sum)}
	if value.Kind == Union {
		if len(value.Branches) != 2 || value.NonNull() == nil {
			return fmt.Errorf("a map with union values")
		}
		o.null = nullBranch(value)
		value = value.NonNull()
	}
	switch value.Kind {
	case Int, Long:
		o.kind = Long
	case Bytes, String:
		if o.kind = Bytes; w.Sum {
			return fmt.Errorf("a map without numbers to add up")
		}
	default:
		return fmt.Errorf("a map of neither integers nor bytes")
	}
	c.emit(o)
	return nil
}

// skip compiles the passing over of a value.
func (c *compiler) skip(s *Schema) {
	switch s.Kind {
	case Int, Long, Enum:
		c.emit(op{code: opSkipVar})
	case Boolean:
		c.emit(op{code: opSkipN, n: 1})
	case Float:
		c.emit(op{code: opSkipN, n: 4})
	case Double:
		c.emit(op{code: opSkipN, n: 8})
	case Fixed:
		c.emit(op{code: opSkipN, n: s.Size})
	case Bytes, String:
		c.emit(op{code: opSkipBytes})
	case Record:
		for _, f := range s.Fields {
			c.skip(f.Type)
		}
	case Array, Map:
		at := c.emit(op{code: opSkipBlocks})
		if s.Kind == Map {
			c.emit(op{code: opSkipBytes})
		}
		c.skip(s.Items)
		c.p.ops[at].n = len(c.p.ops) - at - 1
		c.p.ops[at].skip = skipped(c.p.ops[at+1:])
	case Union:
		c.skipUnion(s)
	}
}

func (c *compiler) skipUnion(s *Schema) {
	if len(s.Branches) == 2 && nullBranch(s) >= 0 {
		at := c.emit(op{code: opOptional, null: nullBranch(s)})
		c.skip(s.Branches[1-nullBranch(s)])
		c.p.ops[at].n = len(c.p.ops) - at - 1
		return
	}
	at := c.emit(op{code: opUnion})
	table := make([]int, len(s.Branches))
	var ends []int
	for i, b := range s.Branches {
		table[i] = len(c.p.ops) - at - 1
		c.skip(b)
		ends = append(ends, c.emit(op{code: opJump}))
	}
	c.p.ops[at].table = table
	for _, e := range ends {
		c.p.ops[e].n = len(c.p.ops) - e - 1
	}
}
