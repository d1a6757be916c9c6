package manifest

import (
	"bytes"
	"errors"
	"io"

	"github.com/lakescan/lakescan/iceberg/avro"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// File is a manifest as the manifest list describes it. Counts are -1 when unknown.
type File struct {
	Path          string
	Length        int64 // -1 = unknown
	SpecID        int   // -1 = unknown, told by the manifest's header
	Deletes       bool
	Sequence      int64
	MinSequence   int64
	AddedSnapshot int64
	AddedFiles    int64
	ExistingFiles int64
	DeletedFiles  int64
	AddedRows     int64
	ExistingRows  int64
	DeletedRows   int64
	Partitions    []Summary // by the fields of the spec, in its order; nil = none
	Encrypted     bool
	FirstRowID    int64 // -1 = none
}

// Summary of one partition field over all files of a manifest. A nil bound is absent.
type Summary struct {
	ContainsNull bool
	ContainsNaN  Tri
	Lower, Upper []byte
}

// Tri is a truth that may be unknown.
type Tri int8

// Truths.
const (
	No Tri = iota
	Yes
	Unsaid
)

// NoLiveFiles reports that the manifest is known to hold nothing but deleted entries.
func (f *File) NoLiveFiles() bool { return f.AddedFiles == 0 && f.ExistingFiles == 0 }

// Inline is a manifest named by a snapshot of format version 1, without a list.
func Inline(path string) File {
	return File{
		Path: path, Length: -1, SpecID: -1, AddedFiles: -1, ExistingFiles: -1, DeletedFiles: -1,
		AddedRows: -1, ExistingRows: -1, DeletedRows: -1, FirstRowID: -1,
	}
}

// Slots of a list's rows.
const (
	listPath = iota
	listLength
	listSpec
	listContent
	listSequence
	listMinSequence
	listSnapshot
	listAddedFiles
	listExistingFiles
	listDeletedFiles
	listAddedRows
	listExistingRows
	listDeletedRows
	listKey
	listFirstRow
)

const listSummaries = 0

// Slots of a summary.
const (
	summaryNull = iota
	summaryNaN
	summaryLower
	summaryUpper
)

// Field ids of the specification, "Manifest Lists".
var listWant = []avro.Want{
	{ID: 500, Slot: listPath},
	{ID: 501, Slot: listLength},
	{ID: 502, Slot: listSpec},
	{ID: 517, Slot: listContent},
	{ID: 515, Slot: listSequence},
	{ID: 516, Slot: listMinSequence},
	{ID: 503, Slot: listSnapshot},
	{ID: 504, Slot: listAddedFiles},
	{ID: 505, Slot: listExistingFiles},
	{ID: 506, Slot: listDeletedFiles},
	{ID: 512, Slot: listAddedRows},
	{ID: 513, Slot: listExistingRows},
	{ID: 514, Slot: listDeletedRows},
	{ID: 519, Slot: listKey},
	{ID: 520, Slot: listFirstRow},
	{ID: 507, Slot: listSummaries, Each: []avro.Want{{ID: 509, Slot: summaryNull}, {ID: 518, Slot: summaryNaN}, {ID: 510, Slot: summaryLower}, {ID: 511, Slot: summaryUpper}}},
}

// ReadList decodes a manifest list; name is its location, for errors. The result does not alias data.
func ReadList(data []byte, name string) ([]File, error) {
	f, err := openContainer(data, name)
	if err != nil {
		return nil, err
	}
	s, err := avro.ParseSchema(f.SchemaJSON())
	if err != nil {
		return nil, &meta.InvalidError{File: name, What: "header of the manifest list", Err: err}
	}
	p, err := avro.Compile(s, listWant)
	if err != nil {
		return nil, &meta.InvalidError{File: name, What: "header of the manifest list", Err: err}
	}
	var out []File
	rows := f.Rows(p, nil)
	for row := (avro.Row{}); ; {
		if err := rows.Next(&row); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, &meta.InvalidError{File: name, What: "manifest list", Err: err}
		}
		m, err := listFile(&row)
		if err != nil {
			return nil, &meta.InvalidError{File: name, What: "manifest list", Err: err}
		}
		out = append(out, m)
	}
}

func openContainer(data []byte, name string) (*avro.File, error) {
	f, err := avro.Open(data)
	if errors.Is(err, avro.ErrCodec) {
		return nil, &meta.UnsupportedError{Ability: err.Error(), Where: name}
	}
	if err != nil {
		return nil, &meta.InvalidError{File: name, What: "no Avro file", Err: err}
	}
	return f, nil
}

func listFile(row *avro.Row) (File, error) {
	num := func(slot int, absent int64) int64 {
		if row.Has[slot] {
			return row.Num[slot]
		}
		return absent
	}
	m := File{
		Path: string(row.Bytes[listPath]), Length: num(listLength, -1), SpecID: int(num(listSpec, 0)),
		Sequence: num(listSequence, 0), MinSequence: num(listMinSequence, 0), AddedSnapshot: num(listSnapshot, 0),
		AddedFiles: num(listAddedFiles, -1), ExistingFiles: num(listExistingFiles, -1), DeletedFiles: num(listDeletedFiles, -1),
		AddedRows: num(listAddedRows, -1), ExistingRows: num(listExistingRows, -1), DeletedRows: num(listDeletedRows, -1),
		Encrypted: row.Bytes[listKey] != nil, FirstRowID: num(listFirstRow, -1),
	}
	switch num(listContent, 0) {
	case 0:
	case 1:
		m.Deletes = true
	default:
		return m, errors.New("a manifest is of neither data nor deletes")
	}
	if m.Path == "" {
		return m, errors.New("a manifest without a path")
	}
	for _, in := range row.Each[listSummaries] {
		s := Summary{
			ContainsNull: !in.Has[summaryNull] || in.Num[summaryNull] != 0, ContainsNaN: Unsaid,
			Lower: bytes.Clone(in.Bytes[summaryLower]), Upper: bytes.Clone(in.Bytes[summaryUpper]),
		}
		if in.Has[summaryNaN] {
			s.ContainsNaN = Tri(in.Num[summaryNaN])
		}
		m.Partitions = append(m.Partitions, s)
	}
	return m, nil
}
