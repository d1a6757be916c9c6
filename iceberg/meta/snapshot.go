package meta

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Snapshot is one state of a table.
type Snapshot struct {
	ID           int64
	Parent       int64 // 0 = none
	Sequence     int64
	Time         time.Time
	ManifestList string
	Manifests    []string // format version 1 may list them here instead
	SchemaID     int      // -1 = not recorded
	FirstRowID   int64    // -1 = none
	AddedRows    int64    // -1 = not recorded
	Operation    string
	Summary      map[string]string // without the operation
	KeyID        string            // key of an encrypted manifest list
}

// snapshotID is an id in JSON. An id above 63 bits, which some writers draw, is kept modulo 2^64: no two ids meet, and
// Avro files, which know 64 signed bits only, agree.
type snapshotID int64

func (s *snapshotID) UnmarshalJSON(b []byte) error {
	v, err := ParseSnapshotID(string(b))
	*s = snapshotID(v)
	return err
}

// ParseSnapshotID reads the decimal text of a snapshot id, signed or above 63 bits.
func ParseSnapshotID(text string) (int64, error) {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return v, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("malformed snapshot id %q", text)
	}
	return int64(v), nil
}

type snapshotJSON struct {
	ID           *snapshotID                `json:"snapshot-id"`
	Parent       *snapshotID                `json:"parent-snapshot-id"`
	Sequence     int64                      `json:"sequence-number"`
	Timestamp    int64                      `json:"timestamp-ms"`
	ManifestList string                     `json:"manifest-list"`
	Manifests    []string                   `json:"manifests"`
	SchemaID     *int                       `json:"schema-id"`
	FirstRowID   *int64                     `json:"first-row-id"`
	AddedRows    *int64                     `json:"added-rows"`
	Summary      map[string]json.RawMessage `json:"summary"`
	KeyID        string                     `json:"key-id"`
}

func parseSnapshot(raw []byte) (*Snapshot, error) {
	var j snapshotJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, err
	}
	if j.ID == nil {
		return nil, fmt.Errorf("snapshot without id")
	}
	s := &Snapshot{
		ID: int64(*j.ID), Sequence: j.Sequence, Time: time.UnixMilli(j.Timestamp).UTC(), ManifestList: j.ManifestList,
		Manifests: j.Manifests, SchemaID: -1, FirstRowID: -1, AddedRows: -1, KeyID: j.KeyID,
	}
	if j.Parent != nil {
		s.Parent = int64(*j.Parent)
	}
	if j.SchemaID != nil {
		s.SchemaID = *j.SchemaID
	}
	if j.FirstRowID != nil {
		s.FirstRowID = *j.FirstRowID
	}
	if j.AddedRows != nil {
		s.AddedRows = *j.AddedRows
	}
	if len(j.Summary) > 0 {
		s.Summary = make(map[string]string, len(j.Summary))
		for k, raw := range j.Summary {
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			s.Summary[k] = text
		}
		s.Operation = s.Summary["operation"]
		delete(s.Summary, "operation")
	}
	return s, nil
}

// Ref is a branch or a tag.
type Ref struct {
	Name     string
	Snapshot int64
	Tag      bool
	// Retention as recorded; 0 = not set.
	MinSnapshots   int
	MaxSnapshotAge time.Duration
	MaxRefAge      time.Duration
}

type refJSON struct {
	Snapshot       *snapshotID `json:"snapshot-id"`
	Type           string      `json:"type"`
	MinSnapshots   int         `json:"min-snapshots-to-keep"`
	MaxSnapshotAge int64       `json:"max-snapshot-age-ms"`
	MaxRefAge      int64       `json:"max-ref-age-ms"`
}

func parseRefs(raw []byte) (map[string]Ref, error) {
	var list map[string]refJSON
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	out := make(map[string]Ref, len(list))
	for name, r := range list {
		if r.Snapshot == nil || r.Type != "branch" && r.Type != "tag" {
			return nil, fmt.Errorf("ref %q without snapshot or of type %q", name, r.Type)
		}
		out[name] = Ref{
			Name: name, Snapshot: int64(*r.Snapshot), Tag: r.Type == "tag", MinSnapshots: r.MinSnapshots,
			MaxSnapshotAge: time.Duration(r.MaxSnapshotAge) * time.Millisecond, MaxRefAge: time.Duration(r.MaxRefAge) * time.Millisecond,
		}
	}
	return out, nil
}

// LogEntry says that a snapshot became current at a time.
type LogEntry struct {
	Snapshot int64
	Time     time.Time
}

// MetadataLogEntry is an earlier metadata file.
type MetadataLogEntry struct {
	File string
	Time time.Time
}

// StatisticsFile is a Puffin file registered for a snapshot.
type StatisticsFile struct {
	Snapshot   int64
	Path       string
	Size       int64
	FooterSize int64
	Blobs      []StatisticsBlob
}

// StatisticsBlob is what table metadata says of one blob.
type StatisticsBlob struct {
	Type       string
	Snapshot   int64
	Sequence   int64
	Fields     []int
	Properties map[string]string
}

type statisticsJSON struct {
	Snapshot   snapshotID `json:"snapshot-id"`
	Path       string     `json:"statistics-path"`
	Size       int64      `json:"file-size-in-bytes"`
	FooterSize int64      `json:"file-footer-size-in-bytes"`
	Blobs      []struct {
		Type       string            `json:"type"`
		Snapshot   snapshotID        `json:"snapshot-id"`
		Sequence   int64             `json:"sequence-number"`
		Fields     []int             `json:"fields"`
		Properties map[string]string `json:"properties"`
	} `json:"blob-metadata"`
}

func parseStatistics(raw []byte) ([]StatisticsFile, error) {
	var list []statisticsJSON
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	out := make([]StatisticsFile, len(list))
	for i, j := range list {
		out[i] = StatisticsFile{Snapshot: int64(j.Snapshot), Path: j.Path, Size: j.Size, FooterSize: j.FooterSize}
		for _, b := range j.Blobs {
			out[i].Blobs = append(out[i].Blobs, StatisticsBlob{b.Type, int64(b.Snapshot), b.Sequence, b.Fields, b.Properties})
		}
	}
	return out, nil
}
