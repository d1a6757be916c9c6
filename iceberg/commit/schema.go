package commit

import (
	"encoding/json"
	"fmt"

	"github.com/lakescan/lakescan/iceberg/meta"
)

// SchemaJSON writes a schema in the form of the specification (appendix C).
func SchemaJSON(s *meta.Schema) ([]byte, error) {
	fields, err := fieldsJSON(s.Fields)
	if err != nil {
		return nil, err
	}
	out := jsonMap{"type": "struct", "schema-id": s.ID, "fields": fields}
	if len(s.IdentifierIDs) > 0 {
		out["identifier-field-ids"] = s.IdentifierIDs
	}
	return json.Marshal(out)
}

func fieldsJSON(fields []meta.Field) ([]jsonMap, error) {
	out := make([]jsonMap, len(fields))
	for i, f := range fields {
		t, err := typeJSON(f.Type)
		if err != nil {
			return nil, err
		}
		o := jsonMap{"id": f.ID, "name": f.Name, "required": f.Required, "type": t}
		if f.Doc != "" {
			o["doc"] = f.Doc
		}
		if f.Initial != nil {
			o["initial-default"] = f.Initial
		}
		if f.Write != nil {
			o["write-default"] = f.Write
		}
		out[i] = o
	}
	return out, nil
}

func typeJSON(t meta.Type) (any, error) {
	switch t.Kind {
	case meta.Struct:
		fields, err := fieldsJSON(t.Fields)
		return jsonMap{"type": "struct", "fields": fields}, err
	case meta.List:
		e, err := typeJSON(t.Fields[0].Type)
		return jsonMap{"type": "list", "element-id": t.Fields[0].ID, "element": e, "element-required": t.Fields[0].Required}, err
	case meta.Map:
		k, err := typeJSON(t.Fields[0].Type)
		if err != nil {
			return nil, err
		}
		v, err := typeJSON(t.Fields[1].Type)
		return jsonMap{"type": "map", "key-id": t.Fields[0].ID, "key": k, "value-id": t.Fields[1].ID, "value": v, "value-required": t.Fields[1].Required}, err
	}
	if s := t.String(); s != "" {
		return s, nil
	}
	return nil, fmt.Errorf("commit: a type without a name")
}

func specJSON(s *meta.Spec) jsonMap {
	fields := make([]jsonMap, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = jsonMap{"name": f.Name, "transform": f.Transform.String(), "field-id": f.FieldID}
		if len(f.Sources) == 1 {
			fields[i]["source-id"] = f.Sources[0]
		} else {
			fields[i]["source-ids"] = f.Sources
		}
	}
	return jsonMap{"spec-id": s.ID, "fields": fields}
}

func orderJSON(o meta.SortOrder) jsonMap {
	fields := make([]jsonMap, len(o.Fields))
	for i, f := range o.Fields {
		direction, nulls := "asc", "nulls-last"
		if f.Descending {
			direction = "desc"
		}
		if f.NullsFirst {
			nulls = "nulls-first"
		}
		fields[i] = jsonMap{"source-id": f.Source, "transform": f.Transform.String(), "direction": direction, "null-order": nulls}
	}
	return jsonMap{"order-id": o.ID, "fields": fields}
}
