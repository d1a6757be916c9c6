package meta

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/lakescan/lakescan/internal/rawjson"
)

// MaxBytes bounds a metadata document, unpacked.
const MaxBytes = 256 << 20

// Metadata is the parsed metadata of a table. It is immutable and safe to share; it keeps the document's bytes.
type Metadata struct {
	File            string // location of the document, empty if it came without one
	How             string // how the document was found, for explain
	FormatVersion   int
	UUID            string
	Location        string
	LastSequence    int64
	LastUpdated     time.Time
	LastColumnID    int
	LastPartitionID int
	Schemas         []*Schema
	CurrentSchemaID int
	Specs           []*Spec
	DefaultSpecID   int
	SortOrders      []SortOrder
	DefaultSortID   int
	Properties      map[string]string
	Refs            map[string]Ref
	NextRowID       int64 // -1 = none
	CurrentSnapshot int64 // meaningful only if HasSnapshot
	HasSnapshot     bool

	raw struct {
		snapshots, snapshotLog, metadataLog, statistics, partitionStatistics []byte
	}
	// index of the snapshots, made at the first look-up
	index    sync.Once
	byID     map[int64][]byte
	indexErr error
}

// MainBranch is the branch that readers see by default.
const MainBranch = "main"

// Parse reads table metadata of format version 1 to 3, plain or gzip (told by the first bytes). file names the document in
// errors. The caller must not change data afterwards. Errors are *InvalidError or *UnsupportedError.
func Parse(data []byte, file string) (*Metadata, error) {
	data, err := unpack(data)
	if err != nil {
		return nil, &InvalidError{File: file, What: "gzip", Err: err}
	}
	d := document{m: &Metadata{File: file, NextRowID: -1, FormatVersion: -1}}
	for member, err := range rawjson.Object(data) {
		if err == nil {
			err = d.member(member)
		}
		if err != nil {
			return nil, &InvalidError{File: file, What: "table metadata", Err: err}
		}
	}
	if v := d.m.FormatVersion; v > 3 {
		return nil, &UnsupportedError{Ability: fmt.Sprintf("table format version %d", v), Where: file, Hint: "lakescan reads versions 1 to 3"}
	}
	if err := d.finish(); err != nil {
		return nil, &InvalidError{File: file, What: "table metadata", Err: err}
	}
	return d.m, nil
}

func unpack(data []byte) ([]byte, error) {
	if len(data) < 2 || data[0] != 0x1f || data[1] != 0x8b {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(z, MaxBytes+1))
	if err == nil && n > MaxBytes {
		err = fmt.Errorf("more than %d bytes unpacked", MaxBytes)
	}
	return out.Bytes(), err
}

// document collects what must be seen whole before it can be judged.
type document struct {
	m               *Metadata
	schema          []byte // the one schema of version 1
	spec            []byte // the fields of the one spec of version 1
	schemas         []byte
	specs           []byte
	currentSchemaID *int
	defaultSpecID   *int
	current         *snapshotID
}

func (d *document) member(v rawjson.Member) error {
	m := d.m
	if rawjson.IsNull(v.Value) {
		return nil
	}
	var err error
	switch v.Key {
	case "format-version":
		err = json.Unmarshal(v.Value, &m.FormatVersion)
	case "table-uuid":
		err = json.Unmarshal(v.Value, &m.UUID)
	case "location":
		err = json.Unmarshal(v.Value, &m.Location)
	case "last-sequence-number":
		err = json.Unmarshal(v.Value, &m.LastSequence)
	case "last-updated-ms":
		m.LastUpdated, err = parseMillis(v.Value)
	case "last-column-id":
		err = json.Unmarshal(v.Value, &m.LastColumnID)
	case "last-partition-id":
		err = json.Unmarshal(v.Value, &m.LastPartitionID)
	case "default-sort-order-id":
		err = json.Unmarshal(v.Value, &m.DefaultSortID)
	case "sort-orders":
		m.SortOrders, err = parseSortOrders(v.Value)
	case "properties":
		err = json.Unmarshal(v.Value, &m.Properties)
	case "refs":
		m.Refs, err = parseRefs(v.Value)
	case "next-row-id":
		err = json.Unmarshal(v.Value, &m.NextRowID)
	default:
		err = d.later(v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", v.Key, err)
	}
	return nil
}

// later keeps what is judged at the end, or read on demand.
func (d *document) later(v rawjson.Member) (err error) {
	raw := &d.m.raw
	switch v.Key {
	case "schema":
		d.schema = v.Value
	case "schemas":
		d.schemas = v.Value
	case "partition-spec":
		d.spec = v.Value
	case "partition-specs":
		d.specs = v.Value
	case "current-schema-id":
		err = json.Unmarshal(v.Value, &d.currentSchemaID)
	case "default-spec-id":
		err = json.Unmarshal(v.Value, &d.defaultSpecID)
	case "current-snapshot-id":
		err = json.Unmarshal(v.Value, &d.current)
	case "snapshots":
		raw.snapshots = v.Value
	case "snapshot-log":
		raw.snapshotLog = v.Value
	case "metadata-log":
		raw.metadataLog = v.Value
	case "statistics":
		raw.statistics = v.Value
	case "partition-statistics":
		raw.partitionStatistics = v.Value
	}
	return err
}

func parseMillis(raw []byte) (time.Time, error) {
	var ms int64
	err := json.Unmarshal(raw, &ms)
	return time.UnixMilli(ms).UTC(), err
}

// finish applies the rules that tie members together (specification, "Table Metadata Fields" and appendix E).
func (d *document) finish() error {
	m := d.m
	if m.FormatVersion < 1 {
		return fmt.Errorf("format-version missing or below 1")
	}
	if m.Location == "" {
		return fmt.Errorf("no location")
	}
	if err := d.finishSchemas(); err != nil {
		return err
	}
	if err := d.finishSpecs(); err != nil {
		return err
	}
	return d.finishRefs()
}

func (d *document) finishSchemas() error {
	m := d.m
	switch {
	case d.schemas != nil:
		for raw, err := range rawjson.Array(d.schemas) {
			if err != nil {
				return fmt.Errorf("schemas: %w", err)
			}
			s, err := ParseSchema(raw)
			if err != nil {
				return fmt.Errorf("schemas: %w", err)
			}
			m.Schemas = append(m.Schemas, s)
		}
		switch {
		case d.currentSchemaID != nil:
			m.CurrentSchemaID = *d.currentSchemaID
		case len(m.Schemas) == 1:
			m.CurrentSchemaID = m.Schemas[0].ID
		default:
			return fmt.Errorf("no current-schema-id")
		}
	case d.schema != nil && m.FormatVersion == 1:
		s, err := ParseSchema(d.schema)
		if err != nil {
			return fmt.Errorf("schema: %w", err)
		}
		m.Schemas, m.CurrentSchemaID = []*Schema{s}, s.ID
	default:
		return fmt.Errorf("no schemas")
	}
	if m.Schema(m.CurrentSchemaID) == nil {
		return fmt.Errorf("current schema %d is not among the schemas", m.CurrentSchemaID)
	}
	return nil
}

func (d *document) finishSpecs() error {
	m := d.m
	var list []specJSON
	switch {
	case d.specs != nil:
		if err := json.Unmarshal(d.specs, &list); err != nil {
			return fmt.Errorf("partition-specs: %w", err)
		}
	case m.FormatVersion == 1:
		var fields []partitionFieldJSON
		if d.spec != nil {
			if err := json.Unmarshal(d.spec, &fields); err != nil {
				return fmt.Errorf("partition-spec: %w", err)
			}
		}
		list = []specJSON{{Fields: fields}}
	default:
		return fmt.Errorf("no partition-specs")
	}
	for _, j := range list {
		fields, err := specFields(j.Fields)
		if err != nil {
			return fmt.Errorf("partition-specs: %w", err)
		}
		s := &Spec{Fields: fields}
		if j.ID != nil {
			s.ID = *j.ID
		}
		if m.Spec(s.ID) != nil {
			return fmt.Errorf("two partition specs have the id %d", s.ID)
		}
		m.Specs = append(m.Specs, s)
	}
	if d.defaultSpecID != nil {
		m.DefaultSpecID = *d.defaultSpecID
	} else if len(m.Specs) > 0 {
		m.DefaultSpecID = m.Specs[len(m.Specs)-1].ID
	}
	return nil
}

// finishRefs makes the main branch and the current snapshot one thing. Either may be recorded alone; both must agree.
func (d *document) finishRefs() error {
	m := d.m
	main, ok := m.Refs[MainBranch]
	has := d.current != nil && *d.current != -1
	switch {
	case ok && main.Tag:
		return fmt.Errorf("ref main is a tag")
	case ok && has && main.Snapshot != int64(*d.current):
		return fmt.Errorf("current-snapshot-id is %d, but branch main is at %d", *d.current, main.Snapshot)
	case ok:
		m.CurrentSnapshot, m.HasSnapshot = main.Snapshot, true
	case has:
		m.CurrentSnapshot, m.HasSnapshot = int64(*d.current), true
		if m.Refs == nil {
			m.Refs = map[string]Ref{}
		}
		m.Refs[MainBranch] = Ref{Name: MainBranch, Snapshot: m.CurrentSnapshot}
	}
	return nil
}

// Schema returns the schema of an id, nil if there is none.
func (m *Metadata) Schema(id int) *Schema {
	for _, s := range m.Schemas {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Current is the table's current schema.
func (m *Metadata) Current() *Schema { return m.Schema(m.CurrentSchemaID) }

// Spec returns the partition spec of an id, nil if there is none.
func (m *Metadata) Spec(id int) *Spec {
	for _, s := range m.Specs {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Field finds a field at any depth in the current schema, else in the newest schema that has it: sources of partitions and
// keys of equality deletes may have been dropped since.
func (m *Metadata) Field(id int) (Field, bool) {
	if f, ok := m.Current().Field(id); ok {
		return f, true
	}
	var found Field
	newest := -1
	for _, s := range m.Schemas {
		if f, ok := s.Field(id); ok && s.ID > newest {
			found, newest = f, s.ID
		}
	}
	return found, newest >= 0
}

// Snapshots yields all snapshots that the document holds, in its order.
func (m *Metadata) Snapshots() iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		if m.raw.snapshots == nil {
			return
		}
		for raw, err := range rawjson.Array(m.raw.snapshots) {
			var s *Snapshot
			if err == nil {
				s, err = parseSnapshot(raw)
			}
			if err != nil {
				yield(nil, &InvalidError{File: m.File, What: "snapshots", Err: err})
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Snapshot returns one snapshot, or ErrNoSuchSnapshot.
func (m *Metadata) Snapshot(id int64) (*Snapshot, error) {
	m.index.Do(m.indexSnapshots)
	if m.indexErr != nil {
		return nil, m.indexErr
	}
	raw, ok := m.byID[id]
	if !ok {
		return nil, fmt.Errorf("%w: %d", ErrNoSuchSnapshot, id)
	}
	s, err := parseSnapshot(raw)
	if err != nil {
		return nil, &InvalidError{File: m.File, What: fmt.Sprintf("snapshot %d", id), Err: err}
	}
	return s, nil
}

func (m *Metadata) indexSnapshots() {
	m.byID = map[int64][]byte{}
	if m.raw.snapshots == nil {
		return
	}
	for raw, err := range rawjson.Array(m.raw.snapshots) {
		var id *snapshotID
		if err == nil {
			id, err = idOf(raw)
		}
		if err != nil {
			m.indexErr = &InvalidError{File: m.File, What: "snapshots", Err: err}
			return
		}
		m.byID[int64(*id)] = raw
	}
}

func idOf(raw []byte) (*snapshotID, error) {
	for v, err := range rawjson.Object(raw) {
		if err != nil {
			return nil, err
		}
		if v.Key == "snapshot-id" {
			id := new(snapshotID)
			return id, id.UnmarshalJSON(v.Value)
		}
	}
	return nil, fmt.Errorf("snapshot without id")
}

// SnapshotLog is the history of the current snapshot, oldest first.
func (m *Metadata) SnapshotLog() ([]LogEntry, error) {
	var list []struct {
		Snapshot  snapshotID `json:"snapshot-id"`
		Timestamp int64      `json:"timestamp-ms"`
	}
	if err := m.decode("snapshot-log", m.raw.snapshotLog, &list); err != nil {
		return nil, err
	}
	out := make([]LogEntry, len(list))
	for i, e := range list {
		out[i] = LogEntry{int64(e.Snapshot), time.UnixMilli(e.Timestamp).UTC()}
	}
	return out, nil
}

// MetadataLog lists earlier metadata files, oldest first.
func (m *Metadata) MetadataLog() ([]MetadataLogEntry, error) {
	var list []struct {
		File      string `json:"metadata-file"`
		Timestamp int64  `json:"timestamp-ms"`
	}
	if err := m.decode("metadata-log", m.raw.metadataLog, &list); err != nil {
		return nil, err
	}
	out := make([]MetadataLogEntry, len(list))
	for i, e := range list {
		out[i] = MetadataLogEntry{e.File, time.UnixMilli(e.Timestamp).UTC()}
	}
	return out, nil
}

// Statistics lists the Puffin files registered for snapshots.
func (m *Metadata) Statistics() ([]StatisticsFile, error) {
	if m.raw.statistics == nil {
		return nil, nil
	}
	out, err := parseStatistics(m.raw.statistics)
	if err != nil {
		return nil, &InvalidError{File: m.File, What: "statistics", Err: err}
	}
	return out, nil
}

func (m *Metadata) decode(what string, raw []byte, into any) error {
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return &InvalidError{File: m.File, What: what, Err: err}
	}
	return nil
}
