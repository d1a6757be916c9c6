package manifest

import (
	"fmt"
	"io"
	"strings"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/avro"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// Content of a file.
type Content uint8

// Contents.
const (
	Data Content = iota
	PositionDeletes
	EqualityDeletes
)

// String is the specification's name.
func (c Content) String() string {
	return [...]string{"data", "position deletes", "equality deletes"}[c]
}

// Format of a file.
type Format uint8

// Formats; Foreign is any other name.
const (
	Foreign Format = iota
	Parquet
	ORC
	Avro
	Puffin
)

// String is the format's name.
func (f Format) String() string {
	return [...]string{"an unknown format", "Parquet", "ORC", "Avro", "Puffin"}[f]
}

// Status of an entry.
type Status uint8

// Statuses.
const (
	Existing Status = iota
	Added
	Deleted
)

// Entry is one live file of a manifest. Its slices are views, valid until the next call of Next.
type Entry struct {
	Status       Status
	Content      Content
	Format       Format
	Encrypted    bool
	Snapshot     int64
	Sequence     int64 // data sequence number
	FileSequence int64
	Path         []byte
	Rows         int64
	Size         int64 // -1 = unknown
	ColumnBytes  int64 // of the columns asked for; 0 = unknown
	FirstRowID   int64 // -1 = none
	SortOrder    int   // -1 = none
	EqualityIDs  []int64
	Referenced   []byte // data file that a delete file or vector is for; nil = any
	BlobOffset   int64  // of a deletion vector; -1 = none
	BlobSize     int64
	// Tuple is the partition, in bytes that are equal for equal tuples of one spec. Void fields are left out.
	Tuple []byte

	row *avro.Row
	lay *layout
}

// Partition decodes the tuple, by partition field id. The values do not alias the entry.
func (e *Entry) Partition() (map[int]expr.Literal, error) {
	out := make(map[int]expr.Literal, len(e.lay.tuple))
	for i := range e.lay.tuple {
		f := &e.lay.tuple[i]
		lit, err := f.literal(e.row)
		if err != nil {
			return nil, err
		}
		out[f.id] = lit
	}
	return out, nil
}

// Metric of one column. Counts are -1 and bounds nil when absent.
type Metric struct {
	Values, Nulls, NaNs int64
	Lower, Upper        []byte
}

// Metric of the i-th column of Projection.Metrics.
func (e *Entry) Metric(i int) Metric {
	num := func(slot int) int64 {
		if e.row.Has[slot] && e.row.Num[slot] >= 0 {
			return e.row.Num[slot]
		}
		return -1
	}
	n, b := e.lay.metrics+3*i, e.lay.bounds+2*i
	return Metric{num(n), num(n + 1), num(n + 2), e.row.Bytes[b], e.row.Bytes[b+1]}
}

// ColumnSize of the i-th column of Projection.EachSize; -1 = absent.
func (e *Entry) ColumnSize(i int) int64 {
	if slot := e.lay.sizes + i; e.row.Has[slot] {
		return e.row.Num[slot]
	}
	return -1
}

// Reader yields the live entries of one manifest.
type Reader struct {
	name  string
	file  *File
	spec  *meta.Spec
	lay   *layout
	rows  *avro.Rows
	row   avro.Row
	entry Entry
	next  int64 // first row id of the next data file without one; -1 = none are given
	count int
}

// Spec is the partition spec of the manifest's files.
func (r *Reader) Spec() *meta.Spec { return r.spec }

// Next returns the next live entry, io.EOF at the end. The entry is valid until the next call.
func (r *Reader) Next() (*Entry, error) {
	for {
		if err := r.rows.Next(&r.row); err == io.EOF {
			return nil, io.EOF
		} else if err != nil {
			return nil, &meta.InvalidError{File: r.name, What: "manifest", Err: err}
		}
		live, err := r.fill()
		if err != nil {
			return nil, &meta.InvalidError{File: r.name, What: fmt.Sprintf("manifest entry %d", r.count), Err: err}
		}
		r.count++
		if live {
			return &r.entry, nil
		}
	}
}

func (r *Reader) num(slot int, absent int64) int64 {
	if r.row.Has[slot] {
		return r.row.Num[slot]
	}
	return absent
}

// fill turns the row into the entry; live is false for a deleted one.
func (r *Reader) fill() (live bool, err error) {
	row, e := &r.row, &r.entry
	status := r.num(slotStatus, -1)
	if status == int64(Deleted) {
		return false, nil
	}
	if status != int64(Existing) && status != int64(Added) {
		return false, fmt.Errorf("status %d", status)
	}
	*e = Entry{
		Status: Status(status), Encrypted: row.Bytes[slotKey] != nil, Snapshot: r.num(slotSnapshot, r.file.AddedSnapshot),
		Path: row.Bytes[slotPath], Rows: r.num(slotRows, -1), Size: max(r.num(slotSize, -1), -1), ColumnBytes: max(r.num(slotColumnBytes, 0), 0),
		SortOrder: int(r.num(slotSortOrder, -1)), Referenced: row.Bytes[slotReferenced], BlobOffset: r.num(slotBlobOffset, -1),
		BlobSize: r.num(slotBlobSize, -1), EqualityIDs: row.List[slotEqualityIDs], Tuple: e.Tuple[:0], row: row, lay: r.lay,
	}
	if len(e.Path) == 0 || e.Rows < 0 {
		return false, fmt.Errorf("no path or no record count")
	}
	e.Format = format(row.Bytes[slotFormat])
	if err := r.content(); err != nil {
		return false, err
	}
	if err := r.sequences(); err != nil {
		return false, err
	}
	r.rowID()
	for i := range r.lay.tuple {
		e.Tuple = r.lay.tuple[i].key(e.Tuple, row)
	}
	return true, nil
}

func format(name []byte) Format {
	switch {
	case string(name) == "PARQUET" || string(name) == "parquet":
		return Parquet
	case strings.EqualFold(string(name), "parquet"):
		return Parquet
	case strings.EqualFold(string(name), "orc"):
		return ORC
	case strings.EqualFold(string(name), "avro"):
		return Avro
	case strings.EqualFold(string(name), "puffin"):
		return Puffin
	}
	return Foreign
}

// content checks that the entry is what the list says the manifest holds: deletes must never pass as data.
func (r *Reader) content() error {
	c := r.num(slotContent, 0)
	if c < 0 || c > int64(EqualityDeletes) {
		return fmt.Errorf("content %d", c)
	}
	r.entry.Content = Content(c)
	if r.file.Deletes != (c != 0) {
		return fmt.Errorf("an entry of %s in a manifest that the list gives as one of %s", r.entry.Content, map[bool]string{false: "data", true: "deletes"}[r.file.Deletes])
	}
	return nil
}

// sequences applies the inheritance of the specification, "Sequence Number Inheritance".
func (r *Reader) sequences() error {
	e := &r.entry
	if !r.lay.hasSequence { // written by version 1
		return nil
	}
	inherit := e.Status == Added
	for _, s := range []struct {
		slot int
		to   *int64
	}{{slotSequence, &e.Sequence}, {slotFileSequence, &e.FileSequence}} {
		switch {
		case r.row.Has[s.slot]:
			*s.to = r.row.Num[s.slot]
		case inherit || r.file.Sequence == 0: // a manifest of version 1 has the sequence number 0
			*s.to = r.file.Sequence
		case s.slot == slotSequence:
			return fmt.Errorf("an existing file without a sequence number")
		}
	}
	return nil
}

// rowID applies "First Row ID Inheritance": ids go to the data files without one in the order of the manifest, whether or not
// a filter keeps them. As in the Java library a manifest without a first row id gives none to its files.
func (r *Reader) rowID() {
	e := &r.entry
	e.FirstRowID = -1
	if r.next < 0 || e.Content != Data {
		return
	}
	if r.row.Has[slotFirstRow] && r.row.Num[slotFirstRow] >= 0 {
		e.FirstRowID = r.row.Num[slotFirstRow]
		return
	}
	e.FirstRowID = r.next
	r.next += e.Rows
}
