package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"
)

func schemaJSON(t *Type, id int) map[string]any {
	out := typeJSON(t).(map[string]any)
	out["schema-id"] = id
	return out
}

func typeJSON(t *Type) any {
	switch t.Kind {
	case Struct:
		fields := []any{}
		for _, f := range t.Fields {
			m := map[string]any{"id": f.ID, "name": f.Name, "required": f.Required, "type": typeJSON(f.Type)}
			if f.Default != nil {
				m["initial-default"], m["write-default"] = defaultJSON(f.Default, f.Type), defaultJSON(f.Default, f.Type)
			}
			fields = append(fields, m)
		}
		return map[string]any{"type": "struct", "fields": fields}
	case List:
		e := t.Fields[0]
		return map[string]any{"type": "list", "element-id": e.ID, "element-required": e.Required, "element": typeJSON(e.Type)}
	case Map:
		k, v := t.Fields[0], t.Fields[1]
		return map[string]any{"type": "map", "key-id": k.ID, "key": typeJSON(k.Type), "value-id": v.ID, "value-required": v.Required, "value": typeJSON(v.Type)}
	}
	return t.String()
}

// defaultJSON is the JSON single-value form [Iceberg specification, appendix D].
func defaultJSON(v any, t *Type) any {
	switch t.Kind {
	case Bool, Int, Long, String:
		return v
	case Float:
		return json.Number(strconv.FormatFloat(v.(float64), 'g', -1, 32))
	case Double:
		return json.Number(strconv.FormatFloat(v.(float64), 'g', -1, 64))
	case Date:
		return time.Unix(v.(int64)*86400, 0).UTC().Format("2006-01-02")
	case Time:
		return time.UnixMicro(v.(int64)).UTC().Format("15:04:05.000000")
	case Timestamp:
		return moment(v.(int64), 1000, "")
	case Timestamptz:
		return moment(v.(int64), 1000, "+00:00")
	case TimestampNs:
		return moment(v.(int64), 1, "")
	case TimestamptzNs:
		return moment(v.(int64), 1, "+00:00")
	case UUID:
		u := uuid.UUID([]byte(v.(string)))
		return u.String()
	}
	return jsonValue(v, t)
}

// metadata writes the table's metadata file and returns its local path.
func (w *writer) metadata() (string, error) {
	m := w.m
	schemas, specs := []any{}, []any{}
	for i, s := range m.Schemas {
		schemas = append(schemas, schemaJSON(s, i))
	}
	specFields := func(s *Spec) []any {
		out := []any{}
		for _, f := range s.Fields {
			out = append(out, map[string]any{"source-id": f.source().ID, "field-id": f.ID, "name": f.Name, "transform": f.Transform})
		}
		return out
	}
	for _, s := range m.Specs {
		specs = append(specs, map[string]any{"spec-id": s.ID, "fields": specFields(s)})
	}
	last := w.snapshots[len(w.snapshots)-1]
	var log []any
	for _, s := range w.snapshots {
		log = append(log, map[string]any{"snapshot-id": s["snapshot-id"], "timestamp-ms": s["timestamp-ms"]})
	}
	if w.m.Features["files without field ids"] > 0 {
		mapping, err := json.Marshal(w.mapping(""))
		if err != nil {
			return "", err
		}
		m.Props["schema.name-mapping.default"] = string(mapping)
	}
	doc := map[string]any{
		"format-version": m.Version, "table-uuid": uuid.NewSHA1(uuid.Nil, []byte(w.dir)).String(), "location": w.base, "last-updated-ms": last["timestamp-ms"],
		"last-column-id": m.lastID, "current-schema-id": len(m.Schemas) - 1, "schemas": schemas, "default-spec-id": m.Spec.ID, "partition-specs": specs,
		"last-partition-id": m.partID, "default-sort-order-id": 0, "sort-orders": []any{map[string]any{"order-id": 0, "fields": []any{}}},
		"properties": m.Props, "current-snapshot-id": last["snapshot-id"], "snapshots": w.snapshots, "snapshot-log": log, "metadata-log": []any{},
		"refs": map[string]any{"main": map[string]any{"snapshot-id": last["snapshot-id"], "type": "branch"}},
	}
	switch m.Version {
	case 1:
		doc["schema"], doc["partition-spec"] = schemas[len(schemas)-1], specFields(m.Spec)
	case 3:
		doc["next-row-id"] = w.nextRow
		fallthrough
	default:
		doc["last-sequence-number"] = w.seq
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return "", err
	}
	local := filepath.Join(w.dir, "metadata", "v1.metadata.json")
	return local, os.WriteFile(local, b, 0o644)
}
