package plan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/transform"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

// smallPlan: a plan whose manifests are no larger together is decoded whole before its first task, so that a file that
// cannot be read is refused before the first row (case L57).
const smallPlan = 1 << 20

// step is the answer of the machine to "what next".
type step uint8

const (
	stepTask step = iota // here is a task
	stepWait             // the manifest at the head of the window is needed
	stepUsed             // the manifest at the head is done with
	stepEnd              // there are no more tasks
)

// machine is the planner without its I/O: told the list and then the manifests in order, it gives tasks when asked.
type machine struct {
	c       *Config
	report  *Report
	files   []manifest.File // to be read: those of deletes first, then those of data in the list's order
	win     *window
	deletes *deleteIndex
	pruner  *pruner

	deleteDecoder, dataDecoder *manifest.Decoder
	reader                     *manifest.Reader
	spec                       *meta.Spec // of the reader's manifest
	parts                      map[string]*part
	key, path                  []byte // scratch

	indexed    bool // the delete manifest at the head has been read
	ordinal    int
	guaranteed int64 // rows that the tasks given out will surely yield
	stopped    bool
	whole      bool // decode all before the first task
	queue      []Metered
	metrics    []int // places of Config.metrics among the columns that are decoded
	lent       []manifest.Metric
}

// Metered is a task with what its manifest says of some columns. The metrics are lent until the next step of the range.
type Metered struct {
	source.Task
	Metrics []manifest.Metric // as asked for
}

// part is what one tuple of one spec decides for its files.
type part struct {
	partition map[int]expr.Literal
	constants map[int]expr.Literal
	filter    expr.Expr // what is left of the row filter; nil = nothing
	none      bool      // no row can match
}

// maxParts bounds the cache of parts.
const maxParts = 4096

func newMachine(c *Config, r *Report) *machine {
	return &machine{c: c, report: r, pruner: newPruner(c), parts: map[string]*part{}}
}

// start takes the manifests of the snapshot.
func (m *machine) start(list []manifest.File) {
	var dels, data []manifest.File
	minSeq := int64(-1)
	for _, f := range list {
		m.report.manifest(&f)
		switch {
		case f.NoLiveFiles():
			m.report.skipped(&f, ByCounts)
			continue
		case !m.pruner.manifest(m.c.Table.Spec(f.SpecID), &f):
			m.report.skipped(&f, ByPartition)
			continue
		case f.Deletes:
			dels = append(dels, f)
			continue
		}
		data = append(data, f)
		if minSeq < 0 || f.MinSequence < minSeq {
			minSeq = f.MinSequence
		}
	}
	if len(data) == 0 {
		for i := range dels {
			m.report.skipped(&dels[i], ByNoData)
		}
		dels = nil
	}
	m.files = append(dels, data...)
	total := int64(0)
	lengths := make([]int64, len(m.files))
	for i, f := range m.files {
		lengths[i] = f.Length
		total += max(f.Length, 0)
	}
	m.whole = total <= smallPlan && m.c.Limit == 0 && !m.c.Lazy
	m.win = newWindow(lengths, len(dels), m.c.Limit > 0 || m.c.Lazy)
	if len(dels) > 0 {
		m.deletes = newDeleteIndex(m.c, minSeq)
		m.deleteDecoder = manifest.NewDecoder(m.c.Table, manifest.Projection{Schema: m.c.Schema, Metrics: []int{filePathID}})
	}
	columns := m.pruner.columns()
	for _, id := range m.c.metrics {
		i := slices.Index(columns, id)
		if i < 0 {
			i, columns = len(columns), append(columns, id)
		}
		m.metrics = append(m.metrics, i)
	}
	m.dataDecoder = manifest.NewDecoder(m.c.Table, manifest.Projection{Schema: m.c.Schema, Metrics: columns, Sizes: m.c.Columns})
}

// arrive takes the bytes of the manifest at the head of the window, f, and what has been unpacked of them (nil = nothing). They
// must stay until the machine says stepUsed.
func (m *machine) arrive(data []byte, f *manifest.File, u *manifest.Unpacked) error {
	decoder := m.dataDecoder
	if f.Deletes {
		decoder = m.deleteDecoder
	}
	r, err := decoder.Open(data, f, u)
	if err != nil {
		return err
	}
	m.spec = r.Spec()
	if f.Deletes {
		m.indexed = true
		return m.index(r, f)
	}
	m.reader = r
	return nil
}

// index reads a delete manifest to its end.
func (m *machine) index(r *manifest.Reader, f *manifest.File) error {
	for {
		e, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			m.report.deleteFile(e)
			m.key = tupleKey(m.key[:0], m.spec, e.Tuple)
			err = m.deletes.add(e, m.key, m.spec.Unpartitioned())
		}
		if err != nil {
			return inManifest(f, err)
		}
	}
}

// inManifest names the manifest in an error that does not name a file yet.
func inManifest(f *manifest.File, err error) error {
	if isUnsupported(err) || errors.Is(err, meta.ErrInvalidMetadata) {
		return err
	}
	return &meta.InvalidError{File: f.Path, What: "manifest entry", Err: err}
}

func isUnsupported(err error) bool { return errors.Is(err, meta.ErrUnsupported) }

func tupleKey(dst []byte, spec *meta.Spec, tuple []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(spec.ID)), tuple...)
}

// pull says what is next.
func (m *machine) pull() (Metered, step, error) {
	for {
		if len(m.queue) > 0 && (!m.whole || m.stopped || m.win.drained()) {
			t := m.queue[0]
			m.queue[0] = Metered{}
			m.queue = m.queue[1:]
			return t, stepTask, nil
		}
		switch {
		case m.indexed:
			m.indexed = false
			return Metered{}, stepUsed, nil
		case m.stopped || m.win.drained():
			return Metered{}, stepEnd, nil
		case m.reader == nil && m.deletes != nil && m.win.head >= m.win.barrier && !m.deletes.frozen:
			m.deletes.freeze()
			continue
		case m.reader == nil:
			return Metered{}, stepWait, nil
		}
		f := &m.files[m.win.head]
		e, err := m.reader.Next()
		if err == io.EOF {
			m.reader = nil
			return Metered{}, stepUsed, nil
		}
		if err != nil {
			return Metered{}, stepEnd, err
		}
		t, ok, err := m.entry(f, e)
		switch {
		case err != nil:
			return Metered{}, stepEnd, inManifest(f, err)
		case !ok:
		case m.whole:
			m.queue = append(m.queue, t)
		default:
			return t, stepTask, nil
		}
	}
}

// entry makes the task of a data file; ok is false if the file is pruned.
func (m *machine) entry(f *manifest.File, e *manifest.Entry) (t Metered, ok bool, err error) {
	if m.c.Appends != nil && (e.Status != manifest.Added || e.Snapshot != f.AddedSnapshot) {
		return t, false, nil // carried over from an earlier snapshot
	}
	m.key = tupleKey(m.key[:0], m.spec, e.Tuple)
	p, err := m.part(e)
	if err != nil {
		return t, false, err
	}
	if p.none {
		m.report.pruned(e, ByPartition)
		return t, false, nil
	}
	filter, keep := m.pruner.file(p.filter, e)
	if !keep {
		m.report.pruned(e, ByMetrics)
		return t, false, nil
	}
	loc, err := object.ParseLocation(string(e.Path))
	if err != nil {
		return t, false, err
	}
	switch {
	case e.Encrypted:
		return t, false, &meta.UnsupportedError{Ability: "encrypted data files", Where: loc.Recorded}
	case e.Format != manifest.Parquet:
		return t, false, &meta.UnsupportedError{Ability: "data files in " + e.Format.String(), Where: loc.Recorded}
	}
	m.path = pathKey(m.path[:0], e.Path)
	set, err := m.deletes.find(m.path, m.key, e.Sequence)
	if err != nil {
		return t, false, err
	}
	t.Task = source.Task{
		Ordinal: m.ordinal, File: object.Info{Location: loc, Size: e.Size}, Rows: e.Rows, ColumnBytes: e.ColumnBytes,
		DataSequence: e.Sequence, FirstRowID: e.FirstRowID, SpecID: m.spec.ID, Partition: p.partition, Constants: p.constants,
		Names: m.c.Names, Filter: filter, Deletes: set,
	}
	m.ordinal++
	m.report.task(&t.Task)
	t.Metrics = m.metricsOf(e)
	if m.c.Limit > 0 && filter == nil && set.Empty() {
		m.guaranteed += e.Rows
		m.stopped = m.guaranteed >= m.c.Limit
	}
	return t, true, nil
}

// metricsOf takes the metrics that were asked for out of an entry. A task that has to wait for its turn gets copies.
func (m *machine) metricsOf(e *manifest.Entry) []manifest.Metric {
	if len(m.metrics) == 0 {
		return nil
	}
	if m.lent == nil || m.whole {
		m.lent = make([]manifest.Metric, len(m.metrics))
	}
	for i, at := range m.metrics {
		k := e.Metric(at)
		if m.whole {
			k.Lower, k.Upper = bytes.Clone(k.Lower), bytes.Clone(k.Upper)
		}
		m.lent[i] = k
	}
	return m.lent
}

// part finds what the entry's tuple decides; m.key holds spec and tuple.
func (m *machine) part(e *manifest.Entry) (*part, error) {
	if p := m.parts[string(m.key)]; p != nil {
		return p, nil
	}
	p := &part{}
	var err error
	if p.partition, err = e.Partition(); err != nil {
		return nil, err
	}
	for _, f := range m.spec.Fields {
		if lit, ok := p.partition[f.FieldID]; ok && f.Transform.Kind == transform.Identity && len(f.Sources) == 1 {
			if p.constants == nil {
				p.constants = map[int]expr.Literal{}
			}
			p.constants[f.Sources[0]] = lit
		}
	}
	p.filter, p.none = m.pruner.residual(m.spec, p.partition)
	if len(m.parts) >= maxParts {
		clear(m.parts)
	}
	m.parts[string(m.key)] = p
	return p, nil
}

// keyField finds the field of an equality id, also one since dropped. A nested one is its top-level struct, pruned to it.
func (c *Config) keyField(id int) (arrow.Field, error) {
	path := c.Schema.Path(id)
	for i := 0; path == nil && i < len(c.Table.Schemas); i++ {
		path = c.Table.Schemas[len(c.Table.Schemas)-1-i].Path(id)
	}
	if path == nil {
		return arrow.Field{}, meta.Invalidf("", "equality id %d is in no schema of the table", id)
	}
	leaf := path[len(path)-1]
	for _, f := range path[:len(path)-1] {
		if f.Type.Kind != meta.Struct {
			return arrow.Field{}, meta.Invalidf("", "equality id %d (%s) lies inside a %s", id, leaf.Name, f.Type)
		}
	}
	switch leaf.Type.Kind {
	case meta.Float, meta.Double, meta.Variant, meta.Geometry, meta.Geography, meta.Other:
		return arrow.Field{}, &meta.UnsupportedError{Ability: "equality deletes by a " + leaf.Type.String(), Where: "column " + leaf.Name}
	case meta.Struct, meta.List, meta.Map:
		return arrow.Field{}, meta.Invalidf("", "equality id %d (%s) is a %s", id, leaf.Name, leaf.Type)
	}
	if _, _, err := leaf.Default(); err != nil {
		return arrow.Field{}, err
	}
	top, _ := path[0].Prune(func(f int) bool { return f == id })
	return top.Arrow(), nil
}

// wrap names the snapshot in an error of reading its manifests.
func (c *Config) wrap(err error, what string) error {
	if errors.Is(err, meta.ErrInvalidMetadata) || isUnsupported(err) {
		return err
	}
	return fmt.Errorf("iceberg: snapshot %d: %s: %w", c.Snapshot.ID, what, err)
}
