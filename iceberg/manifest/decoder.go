package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr/transform"
	"github.com/lakescan/lakescan/iceberg/avro"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// Projection says what is decoded beside the fields that every reader needs.
type Projection struct {
	// Schema is the one that the scan reads with; partition values take the types of its columns. nil = the table's current.
	Schema  *meta.Schema
	Metrics []int // field ids of the columns whose counts and bounds are wanted
	Sizes   []int // field ids of the columns whose sizes are added up in Entry.ColumnBytes
	// EachSize are the field ids of the columns whose sizes are wanted one by one; not together with Sizes.
	EachSize []int
}

// Slots of an entry's row. The numbers of the partition follow, then the metrics.
const (
	slotStatus = iota
	slotSnapshot
	slotSequence
	slotFileSequence
	slotContent
	slotPath
	slotFormat
	slotRows
	slotSize
	slotColumnBytes
	slotKey
	slotSortOrder
	slotFirstRow
	slotReferenced
	slotBlobOffset
	slotBlobSize
	slotTuple
)

const slotEqualityIDs = 0

// Decoder opens the manifests of one table and one projection, one after the other: a Reader is done with when the next
// manifest is opened, since they share memory.
type Decoder struct {
	table   *meta.Metadata
	proj    Projection
	layouts map[string]*layout // by schema text, partition spec text and spec id
	key     []byte
	blocks  avro.Blocks
}

// maxLayouts bounds the layouts that a Decoder keeps: writers change between manifests, but not that often.
const maxLayouts = 64

// layout is what one schema and one spec compile to.
type layout struct {
	program     *avro.Program
	tuple       []tupleField // by partition field id
	hasSequence bool
	metrics     int // first slot of Num: values, nulls, NaNs of each column
	bounds      int // first slot of Bytes: lower, upper of each column
	sizes       int // first slot of Num
}

// NewDecoder makes a decoder for the manifests of a table.
func NewDecoder(table *meta.Metadata, p Projection) *Decoder {
	return &Decoder{table: table, proj: p, layouts: map[string]*layout{}}
}

// Unpacked is memory for the unpacked blocks of one manifest after the other, for a second goroutine to unpack one while
// another is read. It belongs to one goroutine at a time.
type Unpacked struct{ blocks avro.Blocks }

// Unpack unpacks blocks from the start of a manifest until they are limit bytes together. Faults are left for the Reader to
// meet.
func (u *Unpacked) Unpack(data []byte, limit int) {
	u.blocks.Forget()
	if f, err := avro.Open(data); err == nil {
		u.blocks.Unpack(f, limit)
	}
}

// Open starts to read a manifest. data must stay unchanged while the Reader is used; entries do not outlive it anyway. u is what
// has been unpacked of data (nil = nothing), the Reader's until it is done with.
func (d *Decoder) Open(data []byte, f *File, u *Unpacked) (*Reader, error) {
	blocks := &d.blocks
	if u != nil {
		blocks = &u.blocks
	}
	if f.Encrypted {
		return nil, &meta.UnsupportedError{Ability: "encrypted manifests", Where: f.Path}
	}
	container, err := openContainer(data, f.Path)
	if err != nil {
		return nil, err
	}
	spec, err := d.spec(container, f)
	if err != nil {
		return nil, err
	}
	lay, err := d.layout(container, f, spec)
	if err != nil {
		return nil, err
	}
	r := &Reader{name: f.Path, file: f, spec: spec, lay: lay, rows: container.Rows(lay.program, blocks), next: f.FirstRowID}
	if f.Deletes {
		r.next = -1
	}
	return r, nil
}

// spec finds the partition spec: the list's, or for a manifest without a list the header's.
func (d *Decoder) spec(c *avro.File, f *File) (*meta.Spec, error) {
	id := f.SpecID
	if id < 0 {
		id = 0
		if text := string(c.Meta("partition-spec-id")); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return nil, meta.Invalidf(f.Path, "partition-spec-id %q in the header", text)
			}
			id = n
		}
	}
	s := d.table.Spec(id)
	if s == nil {
		return nil, meta.Invalidf(f.Path, "partition spec %d, which the table does not have", id)
	}
	return s, nil
}

func (d *Decoder) layout(c *avro.File, f *File, spec *meta.Spec) (*layout, error) {
	header := c.Meta("partition-spec")
	d.key = strconv.AppendInt(d.key[:0], int64(spec.ID), 10)
	d.key = append(append(append(append(d.key, 0), header...), 0), c.SchemaJSON()...)
	if l, ok := d.layouts[string(d.key)]; ok {
		return l, nil
	}
	s, err := avro.ParseSchema(c.SchemaJSON())
	if err == nil {
		if err = sameSpec(header, string(c.Meta("partition-spec-id")), spec); err == nil {
			var l *layout
			if l, err = d.compile(s, spec); err == nil {
				if len(d.layouts) >= maxLayouts {
					clear(d.layouts)
				}
				d.layouts[string(d.key)] = l
				return l, nil
			}
		}
	}
	return nil, &meta.InvalidError{File: f.Path, What: "header of the manifest", Err: err}
}

// sameSpec refuses a header whose partition fields contradict the spec that the list names (case L04): a delete of one
// partition would be taken for one of another, or of the whole table. An unreadable or absent text says nothing.
func sameSpec(text []byte, headerID string, spec *meta.Spec) error {
	header, err := meta.ParseSpecFields(text)
	if err != nil {
		return nil
	}
	if describe(header) != describe(spec.Fields) {
		return fmt.Errorf("the list gives partition spec %d [%s], the header spec %s [%s]", spec.ID, describe(spec.Fields), cmp.Or(headerID, "without id"), describe(header))
	}
	return nil
}

// describe lists the fields that are not void by id.
func describe(fields []meta.PartitionField) string {
	fields = slices.SortedFunc(slices.Values(fields), func(a, b meta.PartitionField) int { return cmp.Compare(a.FieldID, b.FieldID) })
	var out []string
	for _, f := range fields {
		if f.Transform.Kind != transform.Void {
			out = append(out, fmt.Sprintf("%d: %s(%v)", f.FieldID, f.Transform, f.Sources))
		}
	}
	return strings.Join(out, ", ")
}

// compile builds the wants for one schema. Field ids are those of the specification, "Manifests".
func (d *Decoder) compile(s *avro.Schema, spec *meta.Spec) (*layout, error) {
	file, ok := s.Field(2)
	if !ok || file.Type.NonNull() == nil || file.Type.NonNull().Kind != avro.Record {
		return nil, fmt.Errorf("no data_file")
	}
	l := &layout{}
	_, l.hasSequence = s.Field(3)
	tuple, err := d.tuple(l, file.Type.NonNull(), spec)
	if err != nil {
		return nil, err
	}
	l.metrics = slotTuple + len(l.tuple)
	l.bounds = l.metrics
	l.sizes = l.metrics + 3*len(d.proj.Metrics)
	fields := []avro.Want{
		{ID: 134, Slot: slotContent},
		{ID: 100, Slot: slotPath},
		{ID: 101, Slot: slotFormat},
		{ID: 103, Slot: slotRows},
		{ID: 104, Slot: slotSize},
		{ID: 131, Slot: slotKey},
		{ID: 140, Slot: slotSortOrder},
		{ID: 142, Slot: slotFirstRow},
		{ID: 143, Slot: slotReferenced},
		{ID: 144, Slot: slotBlobOffset},
		{ID: 145, Slot: slotBlobSize},
		{ID: 135, Slot: slotEqualityIDs, List: true},
	}
	if len(tuple) > 0 {
		fields = append(fields, avro.Want{ID: 102, Fields: tuple})
	}
	fields = append(fields, d.metrics(l)...)
	want := []avro.Want{{ID: 0, Slot: slotStatus}, {ID: 1, Slot: slotSnapshot}, {ID: 3, Slot: slotSequence}, {ID: 4, Slot: slotFileSequence}, {ID: 2, Fields: fields}}
	l.program, err = avro.Compile(s, want)
	return l, err
}

// metrics wants the maps of counts, bounds and sizes.
func (d *Decoder) metrics(l *layout) []avro.Want {
	var out []avro.Want
	maps := func(id, first, step int, columns []int) {
		if len(columns) == 0 {
			return
		}
		keys := make(map[int]int, len(columns))
		for i, c := range columns {
			keys[c] = first + step*i
		}
		out = append(out, avro.Want{ID: id, Keys: keys})
	}
	maps(109, l.metrics, 3, d.proj.Metrics)
	maps(110, l.metrics+1, 3, d.proj.Metrics)
	maps(137, l.metrics+2, 3, d.proj.Metrics)
	maps(125, l.bounds, 2, d.proj.Metrics)
	maps(128, l.bounds+1, 2, d.proj.Metrics)
	if len(d.proj.Sizes) > 0 {
		keys := make(map[int]int, len(d.proj.Sizes))
		for _, c := range d.proj.Sizes {
			keys[c] = slotColumnBytes
		}
		return append(out, avro.Want{ID: 108, Slot: slotColumnBytes, Keys: keys, Sum: true})
	}
	maps(108, l.sizes, 1, d.proj.EachSize)
	return out
}

// tuple lays out the partition. The manifest must carry exactly the spec's fields; void ones may be missing.
func (d *Decoder) tuple(l *layout, file *avro.Schema, spec *meta.Spec) ([]avro.Want, error) {
	carried := &avro.Schema{}
	if f, ok := file.Field(102); ok {
		if carried = f.Type.NonNull(); carried == nil || carried.Kind != avro.Record {
			return nil, fmt.Errorf("the partition is no record")
		}
	}
	var want []avro.Want
	known := map[int]bool{}
	fields := slices.SortedFunc(slices.Values(spec.Fields), func(a, b meta.PartitionField) int { return cmp.Compare(a.FieldID, b.FieldID) })
	for _, p := range fields {
		known[p.FieldID] = true
		if p.Transform.Kind == transform.Void {
			continue
		}
		f, ok := carried.Field(p.FieldID)
		if !ok {
			return nil, fmt.Errorf("partition field %d (%s) of spec %d is missing from the tuples", p.FieldID, p.Name, spec.ID)
		}
		stored := f.Type.NonNull()
		if stored == nil {
			return nil, fmt.Errorf("partition field %d (%s) is a union", p.FieldID, p.Name)
		}
		slot := slotTuple + len(l.tuple)
		tf, err := newTupleField(p.FieldID, slot, stored, d.valueType(p))
		if err != nil {
			return nil, err
		}
		l.tuple = append(l.tuple, tf)
		want = append(want, avro.Want{ID: p.FieldID, Slot: slot})
	}
	for _, f := range carried.Fields {
		if !known[f.ID] {
			return nil, fmt.Errorf("the tuples carry field %d (%s), which spec %d does not have", f.ID, f.Name, spec.ID)
		}
	}
	return want, nil
}

// valueType is the type of a field's partition values, nil if nothing tells it.
func (d *Decoder) valueType(p meta.PartitionField) arrow.DataType {
	return PartitionType(d.table, d.proj.Schema, p)
}

// PartitionType is the type of the values of a partition field. The source is sought in schema (nil = none), then in all
// schemas of the table, since it may have been dropped (case L34); nil if nothing tells the type.
func PartitionType(table *meta.Metadata, schema *meta.Schema, p meta.PartitionField) arrow.DataType {
	if len(p.Sources) != 1 {
		return nil
	}
	var f meta.Field
	var ok bool
	if schema != nil {
		f, ok = schema.Field(p.Sources[0])
	}
	if !ok {
		f, ok = table.Field(p.Sources[0])
	}
	var source arrow.DataType
	if ok {
		source = f.Type.Arrow()
	}
	return resultType(p.Transform, source)
}
