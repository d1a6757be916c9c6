package resolve

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet"
)

// Reserved field ids (Iceberg specification, "Reserved Field IDs").
const (
	FileID       = 2147483646 // _file: the recorded location
	PositionID   = 2147483645 // _pos: the row's absolute position in the file
	SpecIDID     = 2147483643 // _spec_id
	PartitionID  = 2147483642 // _partition: a struct of the fields of all specs
	DeletePathID = 2147483546 // file_path of a position delete file
	DeletePosID  = 2147483545 // pos of a position delete file
	RowIDID      = 2147483540 // _row_id
	LastSeqID    = 2147483539 // _last_updated_sequence_number
)

// isMetadata tells the columns that no file needs to have. The two of position delete files are ordinary ones.
func isMetadata(f arrow.Field) bool {
	switch id, _ := expr.FieldID(f); id {
	case FileID, PositionID, SpecIDID, PartitionID, RowIDID, LastSeqID:
		return true
	}
	return false
}

// metadata plans a metadata column.
func (r *resolver) metadata(want arrow.Field, s scope) (c parquet.Column, fill *Fill, err error) {
	id, _ := expr.FieldID(want)
	c.Output = want
	switch id {
	case FileID:
		c.Const = &expr.Literal{Type: want.Type, Value: r.in.File}
	case PositionID:
		c.Position = true
	case SpecIDID:
		c.Const = &expr.Literal{Type: want.Type, Value: int64(r.in.SpecID)}
	case PartitionID:
		c, err = r.partition(want)
	case RowIDID:
		return r.lineage(want, s, Fill{Base: r.in.FirstRowID, Position: true})
	case LastSeqID:
		return r.lineage(want, s, Fill{Base: r.in.DataSequence})
	}
	return c, nil, err
}

// lineage reads the file's own values, if it has any, and leaves the rest to a Fill. Without a first row id the column is
// null, whatever the file holds (as in the Java library).
func (r *resolver) lineage(want arrow.Field, s scope, fill Fill) (parquet.Column, *Fill, error) {
	c := parquet.Column{Output: want}
	if r.in.FirstRowID < 0 {
		return c, nil, nil
	}
	id, _ := expr.FieldID(want)
	for _, f := range s.fields {
		if fid, ok := expr.FieldID(f); !ok || fid != id {
			continue
		}
		if !readable(f.Type, want.Type) {
			return c, nil, r.mismatch(want, f, []string{want.Name})
		}
		c.Path = []string{f.Name}
	}
	return c, &fill, nil
}

// partition makes the _partition struct: fields that the file's spec lacks are null.
func (r *resolver) partition(want arrow.Field) (parquet.Column, error) {
	c := parquet.Column{Output: want}
	st, ok := want.Type.(*arrow.StructType)
	if !ok {
		return c, r.fail(want, []string{want.Name}, "is no struct", ErrInvalid)
	}
	c.Const = &expr.Literal{Type: want.Type, Value: struct{}{}}
	for _, f := range st.Fields() {
		child := parquet.Column{Output: f}
		if id, ok := expr.FieldID(f); ok && r.in.Partition[id].Value != nil {
			wide, err := Widen(r.in.Partition[id], storage(f.Type))
			if err != nil {
				return c, r.fail(f, []string{want.Name, f.Name}, err.Error(), ErrInvalid)
			}
			child.Const = &wide
		}
		c.Children = append(c.Children, child)
	}
	return c, nil
}
