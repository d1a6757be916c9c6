package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/google/uuid"
)

// writer turns a model's history into files: data and delete files by arrow-go, manifests and lists by iceberg-go, metadata JSON from the model.
type writer struct {
	m         *Model
	r         *rand.Rand
	dir       string // of the table, local
	base      string // the same as recorded in metadata
	mode      int    // of metrics, see measure
	nextID    int64  // of the id column
	files     int
	seq       int64
	snapshots []map[string]any
	current   []iceberg.ManifestFile
	entries   map[string][]entry // live and removed, by manifest path
	nextRow   int64
	schemas   []*iceberg.Schema
	x         *rand.Rand     // decides what was added to the generator later, so that a seed keeps its table otherwise
	past      []*Model       // of every snapshot
	names     map[string]int // of columns in files without field ids, by path of ids above and name, for the name mapping; nil = the table has none
}

type entry struct {
	file   iceberg.DataFile
	seq    int64
	snap   int64
	status iceberg.ManifestEntryStatus
}

func (w *writer) path(kind, ext string) (local, recorded string) {
	w.files++
	name := fmt.Sprintf("%s/%04d-%s%s", map[bool]string{true: "metadata", false: "data"}[ext == ".avro" || ext == ".json"], w.files, kind, ext)
	return filepath.Join(w.dir, name), w.base + "/" + name
}

// writeTable makes the random table of a seed in dir and returns its model and the location of its metadata.
func writeTable(seed uint64, dir string) (*Model, string, error) {
	r := newRand(seed)
	m := newModel(r, 1+r.IntN(3))
	w := &writer{m: m, r: r, x: rand.New(rand.NewPCG(seed, 2)), dir: dir, base: dir, mode: []int{0, 1, 2, 2, 3, 3, 4}[r.IntN(7)], entries: map[string][]entry{}}
	if r.IntN(2) == 0 {
		w.base = "file://" + dir
	}
	if w.x.IntN(8) == 0 {
		w.names = map[string]int{}
	}
	for _, d := range []string{"data", "metadata"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, "", err
		}
	}
	if err := w.append(); err != nil {
		return nil, "", fmt.Errorf("append: %w", err)
	}
	for range r.IntN(9) {
		if w.m.Version < 3 && w.x.IntN(30) == 0 {
			w.upgrade()
		}
		if err := w.step(); err != nil {
			return nil, "", err
		}
	}
	for range 2 { // of the snapshots before the last
		if n := len(w.past) - 1; n > 0 {
			m.Past = append(m.Past, w.past[w.x.IntN(n)])
		}
	}
	for _, past := range m.Past {
		past.Now = m
	}
	at, err := w.metadata()
	return m, at, err
}

// upgrade raises the format version. Entries of version 1 have sequence number 0.
func (w *writer) upgrade() {
	if w.m.Version == 1 {
		for _, es := range w.entries {
			for i := range es {
				es[i].seq = 0
			}
		}
	}
	w.m.Version++
	w.m.feature(fmt.Sprintf("upgrade to v%d", w.m.Version))
}

func (w *writer) step() error {
	switch k := w.r.IntN(12); {
	case k < 4:
		return wrap("append", w.append())
	case k < 7:
		for range 1 + w.r.IntN(3) {
			w.m.evolve()
		}
		return nil
	case k < 8:
		if s := w.m.randomSpec(); len(s.Fields) > 0 || w.m.Version > 1 {
			w.m.Spec = s
			w.m.Specs = append(w.m.Specs, s)
			w.m.feature("spec change")
		}
		return nil
	case k < 9:
		return wrap("rewrite", w.rewrite())
	case k < 11 && w.m.Version == 2:
		return wrap("position delete", w.positionDelete())
	case k < 11 && w.m.Version == 3:
		return wrap("deletion vector", w.vectorDelete())
	case w.m.Version >= 2:
		return wrap("equality delete", w.equalityDelete())
	}
	return nil
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// append adds rows under the current schema and spec, one file or more for each partition tuple.
func (w *writer) append() error {
	rows := w.randomRows()
	groups, keys := map[string][]map[int]any{}, []string{}
	for _, row := range rows {
		k := fmt.Sprint(w.tuple(row)...)
		if groups[k] == nil {
			if len(groups) == 5 {
				continue
			}
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], row)
	}
	var add []iceberg.DataFile
	for _, k := range keys {
		g := groups[k]
		for len(g) > 0 {
			n := len(g)
			if n > 3 && w.r.IntN(3) == 0 {
				n /= 2
			}
			f, df, err := w.dataFile(g[:n])
			if err != nil {
				return err
			}
			w.m.Files = append(w.m.Files, f)
			add = append(add, df)
			g = g[n:]
		}
	}
	return w.commit("append", add, nil)
}

func (w *writer) randomRows() []map[int]any {
	n := []int{1, 5, 20, 20, 100, 100, 300}[w.r.IntN(7)]
	t := w.m.schema()
	profiles := map[int]profile{}
	for _, f := range t.Fields {
		profiles[f.ID] = randomProfile(w.r)
		if w.m.sources()[f.ID] {
			p := profiles[f.ID]
			p.spread, p.special = min(p.spread, 4), p.special/4
			profiles[f.ID] = p
		}
	}
	var rows []map[int]any
	for range n {
		row := map[int]any{1: w.nextID}
		w.nextID++
		for _, f := range t.Fields {
			if f.ID != 1 {
				row[f.ID] = randomField(w.r, f, profiles[f.ID])
			}
		}
		rows = append(rows, row)
	}
	for _, c := range columns(t, nil) {
		if f := c.field(); f.Type.primitive() && f.ID != 1 && len(c.Path) == 1 && profiles[f.ID].sorted {
			slices.SortStableFunc(rows, func(a, b map[int]any) int {
				x, y := a[f.ID], b[f.ID]
				switch {
				case x == nil || y == nil:
					return compareSigns(y == nil, x == nil)
				}
				return compare(x, f.Type, y, f.Type)
			})
			break
		}
	}
	return rows
}

// tuple is the partition of a row under the default spec, in iceberg-go's values.
func (w *writer) tuple(row map[int]any) []any {
	var out []any
	for _, sf := range w.m.Spec.Fields {
		var v any = row
		for _, f := range sf.Path {
			if s, ok := v.(map[int]any); ok {
				v = s[f.ID]
			} else {
				v = nil
			}
		}
		if v == nil {
			out = append(out, nil)
			continue
		}
		tr, err := iceberg.ParseTransform(sf.Transform)
		if err != nil {
			panic(err)
		}
		res := tr.Apply(iceberg.Optional[iceberg.Literal]{Valid: true, Val: literal(v, w.fieldType(sf.source().ID))})
		if !res.Valid {
			out = append(out, nil)
			continue
		}
		out = append(out, res.Val.Any())
	}
	return out
}

func (w *writer) fieldType(id int) *Type {
	for _, c := range columns(w.m.schema(), nil) {
		if c.field().ID == id {
			return c.field().Type
		}
	}
	panic(id)
}

// literal is a model value as iceberg-go's literal.
func literal(v any, t *Type) iceberg.Literal {
	switch t.Kind {
	case Bool:
		return iceberg.NewLiteral(v.(bool))
	case Int:
		return iceberg.NewLiteral(int32(v.(int64)))
	case Long:
		return iceberg.NewLiteral(v.(int64))
	case Date:
		return iceberg.NewLiteral(iceberg.Date(v.(int64)))
	case Time:
		return iceberg.NewLiteral(iceberg.Time(v.(int64)))
	case Timestamp, Timestamptz:
		return iceberg.NewLiteral(iceberg.Timestamp(v.(int64)))
	case TimestampNs, TimestamptzNs:
		return iceberg.NewLiteral(iceberg.TimestampNano(v.(int64)))
	case Decimal:
		return iceberg.NewLiteral(iceberg.Decimal{Val: decimal128.FromBigInt(v.(*big.Int)), Scale: t.S})
	case String:
		return iceberg.NewLiteral(v.(string))
	case UUID:
		return iceberg.NewLiteral(uuid.UUID([]byte(v.(string))))
	case Fixed:
		return iceberg.FixedLiteral(v.(string))
	}
	return iceberg.NewLiteral([]byte(v.(string)))
}

func (w *writer) spec(s *Spec) iceberg.PartitionSpec {
	var fields []iceberg.PartitionField
	for _, f := range s.Fields {
		tr, err := iceberg.ParseTransform(f.Transform)
		if err != nil {
			panic(err)
		}
		fields = append(fields, iceberg.PartitionField{SourceIDs: []int{f.source().ID}, FieldID: f.ID, Name: f.Name, Transform: tr})
	}
	return iceberg.NewPartitionSpecID(s.ID, fields...)
}

func tupleMap(s *Spec, tuple []any) map[int]any {
	out := map[int]any{}
	for i, f := range s.Fields {
		out[f.ID] = tuple[i]
	}
	return out
}

func (w *writer) dataFile(rows []map[int]any) (*DataFile, iceberg.DataFile, error) {
	local, recorded := w.path("data", ".parquet")
	t := w.m.schema()
	stored := w.stored(t)
	size, err := writeParquet(w.r, local, rows, stored, w.anonymous(stored))
	if err != nil {
		return nil, nil, err
	}
	f := &DataFile{Path: recorded, Schema: t, Stored: stored, Spec: w.m.Spec, Tuple: w.tuple(rows[0]), Rows: rows, Dead: make([]bool, len(rows)), Foreign: make([]bool, len(rows)), Unknown: make([]bool, len(rows)), EqDead: make([]bool, len(rows)), Size: size, Seq: w.seq + 1}
	b, err := iceberg.NewDataFileBuilder(w.spec(f.Spec), iceberg.EntryContentData, recorded, iceberg.ParquetFile, tupleMap(f.Spec, f.Tuple), nil, nil, int64(len(rows)), size)
	if err != nil {
		return nil, nil, err
	}
	m := measure(w.r, rows, stored, w.mode)
	addMetrics(b, m)
	return f, b.Build(), nil
}

func addMetrics(b *iceberg.DataFileBuilder, m metrics) {
	b.ValueCounts(m.values).NullValueCounts(m.nulls).NaNValueCounts(m.nans).LowerBoundValues(m.lower).UpperBoundValues(m.upper)
}

// rewrite replaces a data file by one without its dead rows and some more: the entry becomes DELETED, its neighbours EXISTING.
func (w *writer) rewrite() error {
	if len(w.m.Files) < 2 {
		return nil
	}
	at := w.r.IntN(len(w.m.Files))
	f := w.m.Files[at]
	w.m.Files = slices.Delete(w.m.Files, at, at+1)
	w.m.feature("rewrite")
	return w.commit("delete", nil, func(e iceberg.DataFile) bool {
		return e.FilePath() == f.Path || e.FileFormat() == iceberg.PuffinFile && *e.ReferencedDataFile() == f.Path
	})
}

func (w *writer) iceSchema(i int) (*iceberg.Schema, error) {
	for len(w.schemas) <= i {
		b, err := json.Marshal(schemaJSON(w.m.Schemas[len(w.schemas)], len(w.schemas)))
		if err != nil {
			return nil, err
		}
		var s iceberg.Schema
		if err := json.Unmarshal(b, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", b, err)
		}
		w.schemas = append(w.schemas, &s)
	}
	return w.schemas[i], nil
}

// specSchema is a schema that has all sources of a spec, with the newest types: the current one plus columns since dropped.
func (w *writer) specSchema(s *Spec) (*iceberg.Schema, error) {
	for i := len(w.m.Schemas) - 1; i >= 0; i-- {
		have := map[int]bool{}
		for _, c := range columns(w.m.Schemas[i], nil) {
			have[c.field().ID] = true
		}
		if !slices.ContainsFunc(s.Fields, func(f SpecField) bool { return !have[f.source().ID] }) {
			return w.iceSchema(i)
		}
	}
	return nil, fmt.Errorf("spec %d has no schema", s.ID)
}

// commit makes a snapshot: new manifests for what is added, and new versions of those that hold what is removed.
func (w *writer) commit(operation string, add []iceberg.DataFile, remove func(iceberg.DataFile) bool) error {
	w.seq++
	snap := int64(1000 + w.seq)
	var list []iceberg.ManifestFile
	for _, mf := range w.current {
		old := w.entries[mf.FilePath()]
		if remove == nil || !slices.ContainsFunc(old, func(e entry) bool { return e.status != iceberg.EntryStatusDELETED && remove(e.file) }) {
			list = append(list, mf)
			continue
		}
		var next []entry
		live := false
		for _, e := range old {
			switch {
			case e.status == iceberg.EntryStatusDELETED:
				continue
			case remove(e.file):
				next = append(next, entry{e.file, e.seq, snap, iceberg.EntryStatusDELETED})
			default:
				live = true
				next = append(next, entry{e.file, e.seq, e.snap, iceberg.EntryStatusEXISTING})
			}
		}
		if !live && w.r.IntN(2) == 0 {
			continue
		}
		out, err := w.manifest(snap, w.m.Specs[mf.PartitionSpecID()], mf.ManifestContent(), next)
		if err != nil {
			return err
		}
		list = append(list, out)
	}
	for _, spec := range w.m.Specs {
		for _, content := range []iceberg.ManifestContent{iceberg.ManifestContentData, iceberg.ManifestContentDeletes} {
			var es []entry
			for _, f := range add {
				if int(f.SpecID()) == spec.ID && (f.ContentType() == iceberg.EntryContentData) == (content == iceberg.ManifestContentData) {
					es = append(es, entry{f, w.seq, snap, iceberg.EntryStatusADDED})
				}
			}
			for len(es) > 0 {
				n := len(es)
				if n > 1 && w.r.IntN(3) == 0 {
					n /= 2
				}
				out, err := w.manifest(snap, spec, content, es[:n])
				if err != nil {
					return err
				}
				list = append(list, out)
				es = es[n:]
			}
		}
	}
	return w.snapshot(operation, snap, list)
}

func (w *writer) manifest(snap int64, spec *Spec, content iceberg.ManifestContent, es []entry) (iceberg.ManifestFile, error) {
	local, recorded := w.path("manifest", ".avro")
	schema, err := w.specSchema(spec)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	mw, err := iceberg.NewManifestWriter(w.m.Version, &buf, w.spec(spec), schema, snap, iceberg.WithManifestWriterContent(content))
	if err != nil {
		return nil, err
	}
	for _, e := range es {
		var seq *int64
		if e.status != iceberg.EntryStatusADDED {
			seq = &e.seq
		}
		ie := iceberg.NewManifestEntry(e.status, &e.snap, seq, seq, e.file)
		switch e.status {
		case iceberg.EntryStatusADDED:
			err = mw.Add(ie)
		case iceberg.EntryStatusDELETED:
			err = mw.Delete(ie)
		default:
			err = mw.Existing(ie)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := mw.Close(); err != nil {
		return nil, err
	}
	out, err := mw.ToManifestFile(recorded, int64(buf.Len()))
	if err != nil {
		return nil, err
	}
	w.entries[recorded] = slices.Clone(es)
	out = wholeSummaries(w.m.Version, out)
	return out, os.WriteFile(local, buf.Bytes(), 0o644)
}

// wholeSummaries gives a new manifest whose summaries know the bound "": iceberg-go 0.7.0 leaves it out, which says that the field has no value, and PyIceberg
// rightly skips the manifest.
func wholeSummaries(version int, mf iceberg.ManifestFile) iceberg.ManifestFile {
	parts, wrong := mf.Partitions(), false
	for _, p := range parts {
		for _, b := range []*[]byte{p.LowerBound, p.UpperBound} {
			if b != nil && *b == nil {
				*b, wrong = []byte{}, true
			}
		}
	}
	if !wrong {
		return mf
	}
	b := iceberg.NewManifestFile(version, mf.FilePath(), mf.Length(), mf.PartitionSpecID(), mf.SnapshotID()).Content(mf.ManifestContent()).SequenceNum(mf.SequenceNum(), mf.MinSequenceNum())
	b.AddedFiles(mf.AddedDataFiles()).ExistingFiles(mf.ExistingDataFiles()).DeletedFiles(mf.DeletedDataFiles())
	return b.AddedRows(mf.AddedRows()).ExistingRows(mf.ExistingRows()).DeletedRows(mf.DeletedRows()).Partitions(parts).Build()
}

func (w *writer) snapshot(operation string, snap int64, list []iceberg.ManifestFile) error {
	local, recorded := w.path("list", ".avro")
	var buf bytes.Buffer
	var parent *int64
	if n := len(w.snapshots); n > 0 {
		p := w.snapshots[n-1]["snapshot-id"].(int64)
		parent = &p
	}
	first := w.nextRow
	var lw *iceberg.ManifestListWriter
	var err error
	switch w.m.Version {
	case 1:
		lw, err = iceberg.NewManifestListWriterV1(&buf, snap, parent)
	case 2:
		lw, err = iceberg.NewManifestListWriterV2(&buf, snap, w.seq, parent)
	default:
		lw, err = iceberg.NewManifestListWriterV3(&buf, snap, w.seq, first, parent)
	}
	if err != nil {
		return err
	}
	if err := lw.AddManifests(list); err != nil {
		return err
	}
	if err := lw.Close(); err != nil {
		return err
	}
	if n := lw.NextRowID(); n != nil {
		w.nextRow = *n
	}
	if err := os.WriteFile(local, buf.Bytes(), 0o644); err != nil {
		return err
	}
	if w.current, err = iceberg.ReadManifestList(bytes.NewReader(buf.Bytes())); err != nil {
		return err
	}
	s := map[string]any{"snapshot-id": snap, "timestamp-ms": 1_700_000_000_000 + w.seq*1000, "manifest-list": recorded, "summary": map[string]string{"operation": operation}, "schema-id": len(w.m.Schemas) - 1}
	if parent != nil {
		s["parent-snapshot-id"] = *parent
	}
	if w.m.Version >= 2 {
		s["sequence-number"] = w.seq
	}
	if w.m.Version >= 3 {
		s["first-row-id"], s["added-rows"] = first, w.nextRow-first
	}
	w.snapshots = append(w.snapshots, s)
	w.m.Listed = w.m.Version
	w.past = append(w.past, w.m.freeze(snap))
	return nil
}
