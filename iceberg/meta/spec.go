package meta

import (
	"encoding/json"
	"fmt"

	"github.com/lakescan/lakescan/expr/transform"
)

// Spec is a partition spec.
type Spec struct {
	ID     int
	Fields []PartitionField
}

// PartitionField: Sources has one id but for transforms of several arguments, which are never used for pruning.
type PartitionField struct {
	FieldID   int
	Sources   []int
	Name      string
	Transform transform.Transform
}

type specJSON struct {
	ID     *int                 `json:"spec-id"`
	Fields []partitionFieldJSON `json:"fields"`
}

type partitionFieldJSON struct {
	SourceID  *int   `json:"source-id"`
	SourceIDs []int  `json:"source-ids"`
	FieldID   *int   `json:"field-id"`
	Name      string `json:"name"`
	Transform string `json:"transform"`
}

// firstPartitionID is where format version 1 starts to count the ids of partition fields that have none.
const firstPartitionID = 1000

// ParseSpecFields reads the list of fields of a spec, as manifests carry it in their header.
func ParseSpecFields(raw []byte) ([]PartitionField, error) {
	var fields []partitionFieldJSON
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	return specFields(fields)
}

func specFields(fields []partitionFieldJSON) ([]PartitionField, error) {
	out := make([]PartitionField, len(fields))
	seen := map[int]bool{}
	for i, f := range fields {
		p := PartitionField{FieldID: firstPartitionID + i, Sources: f.SourceIDs, Name: f.Name, Transform: transform.Parse(f.Transform)}
		if f.SourceID != nil && len(f.SourceIDs) == 0 {
			p.Sources = []int{*f.SourceID}
		}
		if f.FieldID != nil {
			p.FieldID = *f.FieldID
		}
		if len(p.Sources) == 0 || f.Transform == "" {
			return nil, fmt.Errorf("partition field %d (%q) without source or transform", i, f.Name)
		}
		if seen[p.FieldID] {
			return nil, fmt.Errorf("two partition fields have the id %d", p.FieldID)
		}
		seen[p.FieldID] = true
		out[i] = p
	}
	return out, nil
}

// Unpartitioned reports whether every field is void: such a spec has one partition, the whole table.
func (s *Spec) Unpartitioned() bool {
	for _, f := range s.Fields {
		if f.Transform.Kind != transform.Void {
			return false
		}
	}
	return true
}

// SortOrder is a sort order; order 0 is unsorted.
type SortOrder struct {
	ID     int
	Fields []SortField
}

// SortField sorts by a transform of one source column.
type SortField struct {
	Source     int
	Transform  transform.Transform
	Descending bool
	NullsFirst bool
}

type sortOrderJSON struct {
	ID     int `json:"order-id"`
	Fields []struct {
		SourceID  *int   `json:"source-id"`
		SourceIDs []int  `json:"source-ids"`
		Transform string `json:"transform"`
		Direction string `json:"direction"`
		NullOrder string `json:"null-order"`
	} `json:"fields"`
}

func parseSortOrders(raw []byte) ([]SortOrder, error) {
	var list []sortOrderJSON
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	out := make([]SortOrder, len(list))
	for i, o := range list {
		out[i].ID = o.ID
		for _, f := range o.Fields {
			s := SortField{Transform: transform.Parse(f.Transform), Descending: f.Direction == "desc", NullsFirst: f.NullOrder == "nulls-first"}
			switch {
			case f.SourceID != nil:
				s.Source = *f.SourceID
			case len(f.SourceIDs) == 1:
				s.Source = f.SourceIDs[0]
			default:
				s.Transform = transform.Parse("several sources")
			}
			out[i].Fields = append(out[i].Fields, s)
		}
	}
	return out, nil
}
