package variant

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Names of a variant's parts in the file.
const (
	MetadataName = "metadata"
	ValueName    = "value"
	TypedName    = "typed_value"
)

// Storage is the struct that holds unshredded variants.
var Storage = arrow.StructOf(
	arrow.Field{Name: MetadataName, Type: arrow.BinaryTypes.Binary},
	arrow.Field{Name: ValueName, Type: arrow.BinaryTypes.Binary})

// Rebuild turns a variant as stored (a struct of metadata, value and typed_value, the last two optional, typed_value of the
// types that its Parquet columns have by nature) into an array of type out: Storage, or an extension type over it. stored
// stays the caller's, as the result is. Errors: ErrCorrupt, ErrUnsupported (a type that variants do not have), ErrTooLarge.
func Rebuild(mem memory.Allocator, stored *array.Struct, out arrow.DataType) (arrow.Array, error) {
	t := stored.DataType().(*arrow.StructType)
	i, ok := t.FieldIdx(MetadataName)
	if !ok {
		return nil, fmt.Errorf("%w: no metadata", ErrCorrupt)
	}
	metadata, ok := stored.Field(i).(*array.Binary)
	if !ok {
		return nil, fmt.Errorf("%w: metadata of type %v", ErrCorrupt, stored.Field(i).DataType())
	}
	c, err := newColumn(t, stored)
	if err != nil {
		return nil, err
	}
	if c.typed == nil && c.value != nil && metadata.NullN() == stored.NullN() && c.value.NullN() == stored.NullN() {
		return wrap(stored, out, metadata.Data(), c.value.Data()), nil
	}
	r := rebuilder{column: c, metadata: metadata}
	c.name(&r.names)
	return r.all(mem, stored, out)
}

// wrap makes the result, with the nulls of stored.
func wrap(stored *array.Struct, out arrow.DataType, metadata, value arrow.ArrayData) arrow.Array {
	var valid *memory.Buffer
	if stored.NullN() > 0 {
		valid = stored.Data().Buffers()[0]
	}
	d := array.NewData(out, stored.Len(), []*memory.Buffer{valid}, []arrow.ArrayData{metadata, value}, stored.NullN(), 0)
	defer d.Release()
	return array.MakeFromData(d)
}

// column is a group of value and typed_value.
type column struct {
	value  *array.Binary // nil if there is no such column
	typed  arrow.Array   // likewise
	fields []*shredded   // typed is a struct: in the order of names
	list   *array.List   // typed is a list
	elem   *column
	append func(e *encoder, i int) // typed is a primitive
}

// shredded is a field of an object that has columns of its own.
type shredded struct {
	name  string
	index int // in the names of the whole column
	*column
}

func newColumn(t *arrow.StructType, s *array.Struct) (*column, error) {
	c := &column{}
	for i, f := range t.Fields() {
		switch f.Name {
		case ValueName:
			v, ok := s.Field(i).(*array.Binary)
			if !ok {
				return nil, fmt.Errorf("%w: value of type %v", ErrCorrupt, f.Type)
			}
			c.value = v
		case TypedName:
			if err := c.setTyped(f, s.Field(i)); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

func (c *column) setTyped(f arrow.Field, a arrow.Array) (err error) {
	c.typed = a
	switch a := a.(type) {
	case *array.Struct:
		for i, child := range f.Type.(*arrow.StructType).Fields() {
			group, ok := a.Field(i).(*array.Struct)
			if !ok {
				return fmt.Errorf("%w: shredded field %q of type %v", ErrCorrupt, child.Name, child.Type)
			}
			sub, err := newColumn(child.Type.(*arrow.StructType), group)
			if err != nil {
				return err
			}
			c.fields = append(c.fields, &shredded{name: child.Name, column: sub})
		}
		if c.fields == nil {
			c.fields = []*shredded{}
		}
		slices.SortFunc(c.fields, func(a, b *shredded) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	case *array.List:
		c.list = a
		elem, ok := a.ListValues().(*array.Struct)
		if !ok {
			return fmt.Errorf("%w: shredded list of %v", ErrCorrupt, f.Type)
		}
		c.elem, err = newColumn(elem.DataType().(*arrow.StructType), elem)
	default:
		c.append, err = primitive(f, a)
	}
	return err
}

// name gives every shredded field its place in the list of names.
func (c *column) name(names *[][]byte) {
	for _, f := range c.fields {
		f.index = slices.IndexFunc(*names, func(n []byte) bool { return string(n) == f.name })
		if f.index < 0 {
			f.index = len(*names)
			*names = append(*names, []byte(f.name))
		}
		f.column.name(names)
	}
	if c.elem != nil {
		c.elem.name(names)
	}
}

// rebuilder walks the rows of one array.
type rebuilder struct {
	*column
	metadata *array.Binary
	names    [][]byte // of all shredded fields, at any depth

	// The dictionary of the row at hand; rows mostly share one.
	raw      []byte
	known    bool
	dict     Metadata
	extended []byte // raw with the names it lacks; raw itself if it lacks none
	ids      []int  // of names

	e       encoder
	scratch []field
}

func (r *rebuilder) all(mem memory.Allocator, stored *array.Struct, out arrow.DataType) (arrow.Array, error) {
	metas, values := newBinary(mem, stored.Len()), newBinary(mem, stored.Len())
	defer metas.release()
	defer values.release()
	for i := range stored.Len() {
		if stored.IsNull(i) {
			metas.add(nil)
			values.add(nil)
			continue
		}
		if err := r.use(i); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		r.e.buf = r.e.buf[:0]
		missing, err := r.column.write(r, i)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		if missing {
			r.e.primitive(primNull)
		}
		if !metas.add(r.extended) || !values.add(r.e.buf) {
			return nil, fmt.Errorf("%w: row %d", ErrTooLarge, i)
		}
	}
	m, v := metas.finish(), values.finish()
	defer m.Release()
	defer v.Release()
	return wrap(stored, out, m, v), nil
}

// use makes the dictionary of row i the current one.
func (r *rebuilder) use(i int) error {
	if r.metadata.IsNull(i) {
		return fmt.Errorf("%w: a variant without metadata", ErrCorrupt)
	}
	raw := r.metadata.Value(i)
	if r.known && bytes.Equal(raw, r.raw) {
		return nil
	}
	m, err := ParseMetadata(raw)
	if err != nil {
		return err
	}
	r.raw, r.known, r.dict, r.extended, r.ids = raw, true, m, raw, r.ids[:0]
	var more [][]byte
	for _, n := range r.names {
		id, ok := m.Find(n)
		if !ok {
			id = len(m.names) + len(more)
			more = append(more, n)
		}
		r.ids = append(r.ids, id)
	}
	if more != nil {
		r.extended = m.extend(more)
	}
	return nil
}

// write appends the value of slot i; missing tells that there is none.
func (c *column) write(r *rebuilder, i int) (missing bool, err error) {
	var value []byte
	if c.value != nil && c.value.IsValid(i) {
		v := c.value.Value(i)
		n, err := Size(v)
		if err != nil {
			return false, err
		}
		value = v[:n:n]
	}
	typed := c.typed != nil && c.typed.IsValid(i)
	switch {
	case !typed && value == nil:
		return true, nil
	case !typed:
		r.e.buf = append(r.e.buf, value...)
	case c.fields != nil:
		return false, c.object(r, i, value)
	case value != nil:
		return false, fmt.Errorf("%w: value and typed_value are both set", ErrCorrupt)
	case c.list != nil:
		return false, c.array(r, i)
	default:
		c.append(&r.e, i)
	}
	return false, nil
}

func (c *column) array(r *rebuilder, i int) error {
	from, to := c.list.ValueOffsets(i)
	m := r.e.open()
	for k := from; k < to; k++ {
		r.e.add(m, 0)
		missing, err := c.elem.write(r, int(k))
		if err != nil {
			return err
		}
		if missing {
			r.e.primitive(primNull)
		}
	}
	r.e.array(m)
	return nil
}

// object merges shredded fields with those of the value, both in the order of names. A shredded field that the value has
// too counts as shredded.
func (c *column) object(r *rebuilder, i int, value []byte) (err error) {
	base := len(r.scratch)
	defer func() { r.scratch = r.scratch[:base] }()
	if value != nil {
		if r.scratch, err = fields(r.scratch, r.dict, value); err != nil {
			return err
		}
	}
	rest, end := base, len(r.scratch)
	m := r.e.open()
	for _, f := range c.fields {
		for rest < end && string(r.scratch[rest].name) < f.name {
			r.residual(m, r.scratch[rest])
			rest++
		}
		twice := rest < end && string(r.scratch[rest].name) == f.name
		if twice {
			rest++
		}
		at := len(r.e.entries)
		r.e.add(m, r.ids[f.index])
		missing, err := f.write(r, i)
		switch {
		case err != nil:
			return fmt.Errorf("field %q: %w", f.name, err)
		case missing && twice:
			return fmt.Errorf("%w: field %q is shredded, but stored in the value", ErrCorrupt, f.name)
		case missing:
			r.e.entries = r.e.entries[:at]
		}
	}
	for ; rest < end; rest++ {
		r.residual(m, r.scratch[rest])
	}
	r.e.object(m)
	return nil
}

func (r *rebuilder) residual(m mark, f field) {
	r.e.add(m, f.id)
	r.e.buf = append(r.e.buf, f.value...)
}

// binaryBuffer collects byte strings.
type binaryBuffer struct {
	n          int
	ends, data *memory.Buffer
	used       int
}

func newBinary(mem memory.Allocator, rows int) *binaryBuffer {
	b := &binaryBuffer{ends: memory.NewResizableBuffer(mem), data: memory.NewResizableBuffer(mem)}
	b.ends.Resize(4 * (rows + 1))
	clear(b.ends.Bytes()[:4])
	return b
}

// add reports false if the array would pass 32-bit offsets.
func (b *binaryBuffer) add(v []byte) bool {
	if b.used+len(v) > math.MaxInt32 {
		return false
	}
	if b.used+len(v) > b.data.Cap() {
		b.data.Reserve(max(2*b.data.Cap(), b.used+len(v), 1024))
	}
	copy(b.data.Buf()[b.used:], v)
	b.used += len(v)
	b.n++
	arrow.Int32Traits.CastFromBytes(b.ends.Bytes())[b.n] = int32(b.used)
	return true
}

// finish makes the array; the buffers stay its owner's too.
func (b *binaryBuffer) finish() arrow.ArrayData {
	b.data.ResizeNoShrink(b.used)
	return array.NewData(arrow.BinaryTypes.Binary, b.n, []*memory.Buffer{nil, b.ends, b.data}, nil, 0, 0)
}

func (b *binaryBuffer) release() {
	b.ends.Release()
	b.data.Release()
}

// IsExtension tells if the name is that of Arrow's extension type for variants, today's or the one before.
func IsExtension(name string) bool {
	return name == "arrow.parquet.variant" || name == "parquet.variant"
}
