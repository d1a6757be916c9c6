package commit

import (
	"encoding/json"

	"github.com/lakescan/lakescan/iceberg/meta"
)

// jsonMap is a requirement or an update of the REST specification.
type jsonMap map[string]any

type request struct {
	Requirements []jsonMap `json:"requirements"`
	Updates      []jsonMap `json:"updates"`
}

func (r request) bytes() ([]byte, error) { return json.Marshal(r) }

func assertUUID(m *meta.Metadata) jsonMap {
	return jsonMap{"type": "assert-table-uuid", "uuid": m.UUID}
}

// assertHead requires that main still is where m has it.
func assertHead(m *meta.Metadata) jsonMap {
	r := jsonMap{"type": "assert-ref-snapshot-id", "ref": meta.MainBranch, "snapshot-id": nil}
	if id, ok := head(m); ok {
		r["snapshot-id"] = id
	}
	return r
}

func assertSchema(m *meta.Metadata) jsonMap {
	return jsonMap{"type": "assert-current-schema-id", "current-schema-id": m.CurrentSchemaID}
}

// head is the snapshot of main.
func head(m *meta.Metadata) (int64, bool) {
	if r, ok := m.Refs[meta.MainBranch]; ok {
		return r.Snapshot, true
	}
	return m.CurrentSnapshot, m.HasSnapshot
}

// setMain moves main, keeping how long its snapshots are kept.
func setMain(m *meta.Metadata, snapshot int64) jsonMap {
	u := jsonMap{"action": "set-snapshot-ref", "ref-name": meta.MainBranch, "type": "branch", "snapshot-id": snapshot}
	r := m.Refs[meta.MainBranch]
	if r.MinSnapshots > 0 {
		u["min-snapshots-to-keep"] = r.MinSnapshots
	}
	if r.MaxSnapshotAge > 0 {
		u["max-snapshot-age-ms"] = r.MaxSnapshotAge.Milliseconds()
	}
	if r.MaxRefAge > 0 {
		u["max-ref-age-ms"] = r.MaxRefAge.Milliseconds()
	}
	return u
}

func setProperties(p map[string]string) jsonMap {
	return jsonMap{"action": "set-properties", "updates": p}
}
