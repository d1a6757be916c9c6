package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source/deletes"
)

// filePathID is the reserved field id of a position delete file's file_path.
const filePathID = 2147483546

// deleteIndex finds the delete files that apply to a data file (Iceberg specification, "Scan Planning"). It is filled from
// the delete manifests, frozen, and then read only.
//
//	vector, or position file for one data file   by that file's path
//	other position file                          by spec and partition
//	equality file                                by spec and partition, or for all if its spec has no partition
type deleteIndex struct {
	fields  fieldFinder
	minSeq  int64 // least data sequence number of the data that may be read
	frozen  bool
	count   int
	vectors map[string]*vector
	byPath  map[string]*positionList
	scopes  map[string]*scope // by spec and tuple
	global  []*group
}

// scope is one partition of one spec.
type scope struct {
	positions positionList
	groups    []*group
}

// vector is a deletion vector with the sequence number that it applies up to.
type vector struct {
	deletes.Vector
	seq     int64
	refused error
	second  string // another live vector for the same file
}

// positionList is sorted by falling sequence number once frozen: the files that apply to a data file are a prefix.
type positionList struct {
	files   []*deletes.File
	refused []error // nil, or by file
}

// group is one scope and one set of equality ids.
type group struct {
	deletes.Group
	ids     []int64
	max     int64 // greatest sequence number of its files
	refused error
}

// fieldFinder finds fields by id in all schemas of the table, and the place of nested ones.
type fieldFinder interface {
	keyField(id int) (arrow.Field, error)
}

func newDeleteIndex(f fieldFinder, minSeq int64) *deleteIndex {
	return &deleteIndex{fields: f, minSeq: minSeq, vectors: map[string]*vector{}, byPath: map[string]*positionList{}, scopes: map[string]*scope{}}
}

// pathKey folds the schemes that open the same object, so that a table that was written through s3a matches deletes
// written through s3 (case L47). It appends to dst.
func pathKey(dst []byte, path []byte) []byte {
	if len(path) > 6 && (string(path[:6]) == "s3a://" || string(path[:6]) == "s3n://") {
		return append(append(dst, "s3"...), path[3:]...)
	}
	return append(dst, path...)
}

// add takes an entry of a delete manifest. key is its spec and tuple; global says that its spec has no partition.
func (x *deleteIndex) add(e *manifest.Entry, key []byte, global bool) error {
	loc, err := object.ParseLocation(string(e.Path))
	if err != nil {
		return err
	}
	info := object.Info{Location: loc, Size: e.Size}
	switch {
	case e.Content == manifest.EqualityDeletes:
		if e.Sequence <= x.minSeq {
			return nil
		}
		x.count++
		return x.addEquality(e, info, key, global)
	case e.Sequence < x.minSeq:
		return nil
	}
	x.count++
	refused := refusal(e, loc)
	path := e.Referenced
	if e.Format == manifest.Puffin {
		return x.addVector(e, info, path, refused)
	}
	if e.Format != manifest.Parquet && refused == nil {
		refused = &meta.UnsupportedError{Ability: "delete files in " + e.Format.String(), Where: loc.Recorded}
	}
	if m := e.Metric(0); path == nil && m.Lower != nil && bytes.Equal(m.Lower, m.Upper) {
		path = m.Lower // equal bounds are whole values: a cut upper bound is raised
	}
	list := &positionList{}
	if path == nil {
		list = &x.scope(key).positions
	} else {
		k := string(pathKey(nil, path))
		if x.byPath[k] == nil {
			x.byPath[k] = list
		}
		list = x.byPath[k]
	}
	list.add(&deletes.File{File: info, Sequence: e.Sequence}, refused)
	return nil
}

// refusal of files that cannot be read at all.
func refusal(e *manifest.Entry, loc object.Location) error {
	if e.Encrypted {
		return &meta.UnsupportedError{Ability: "encrypted " + e.Content.String(), Where: loc.Recorded}
	}
	return nil
}

func (x *deleteIndex) addVector(e *manifest.Entry, info object.Info, path []byte, refused error) error {
	if len(path) == 0 || e.BlobOffset < 0 || e.BlobSize < 0 {
		return fmt.Errorf("deletion vector in %s without data file, offset or size", info.Location.Recorded)
	}
	k := string(pathKey(nil, path))
	if old := x.vectors[k]; old != nil {
		old.second = info.Location.Recorded
		return nil
	}
	x.vectors[k] = &vector{Vector: deletes.Vector{File: info, Offset: e.BlobOffset, Size: e.BlobSize, Cardinality: e.Rows}, seq: e.Sequence, refused: refused}
	return nil
}

func (x *deleteIndex) addEquality(e *manifest.Entry, info object.Info, key []byte, global bool) error {
	ids := slices.Clone(e.EqualityIDs)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	list := &x.global
	if !global {
		list = &x.scope(key).groups
	}
	i := slices.IndexFunc(*list, func(g *group) bool { return slices.Equal(g.ids, ids) })
	if i < 0 {
		g := &group{ids: ids}
		if g.Key, g.refused = x.key(ids, info.Location); g.refused != nil && !isUnsupported(g.refused) {
			return g.refused
		}
		*list = append(*list, g)
		i = len(*list) - 1
	}
	g := (*list)[i]
	g.Files = append(g.Files, deletes.File{File: info, Sequence: e.Sequence})
	g.max = max(g.max, e.Sequence)
	if g.refused == nil {
		if g.refused = refusal(e, info.Location); g.refused == nil && e.Format != manifest.Parquet {
			g.refused = &meta.UnsupportedError{Ability: "delete files in " + e.Format.String(), Where: info.Location.Recorded}
		}
	}
	return nil
}

// key finds the key's fields, also those since dropped.
func (x *deleteIndex) key(ids []int64, loc object.Location) ([]arrow.Field, error) {
	if len(ids) == 0 {
		return nil, fmt.Errorf("equality delete file %s without equality ids", loc.Recorded)
	}
	out := make([]arrow.Field, len(ids))
	for i, id := range ids {
		f, err := x.fields.keyField(int(id))
		if err != nil {
			return nil, fmt.Errorf("equality delete file %s: %w", loc.Recorded, err)
		}
		out[i] = f
	}
	return out, nil
}

func (x *deleteIndex) scope(key []byte) *scope {
	s := x.scopes[string(key)]
	if s == nil {
		s = &scope{}
		x.scopes[string(key)] = s
	}
	return s
}

func (p *positionList) add(f *deletes.File, refused error) {
	if refused != nil && p.refused == nil {
		p.refused = make([]error, len(p.files), len(p.files)+1)
	}
	p.files = append(p.files, f)
	if p.refused != nil {
		p.refused = append(p.refused, refused)
	}
}

// sort orders by falling sequence number; equal ones by location, so that the order does not depend on the manifests.
func (p *positionList) sort() {
	order := make([]int, len(p.files))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.files[b].Sequence, p.files[a].Sequence), strings.Compare(p.files[a].File.Location.Recorded, p.files[b].File.Location.Recorded))
	})
	old := *p
	*p = positionList{}
	for _, i := range order {
		var refused error
		if old.refused != nil {
			refused = old.refused[i]
		}
		p.add(old.files[i], refused)
	}
}

// since is the prefix that applies to data of a sequence number.
func (p *positionList) since(seq int64) ([]*deletes.File, error) {
	if p == nil {
		return nil, nil
	}
	n, _ := slices.BinarySearchFunc(p.files, seq, func(f *deletes.File, seq int64) int {
		if f.Sequence >= seq {
			return -1
		}
		return 1
	})
	for _, err := range p.refused[:min(n, len(p.refused))] {
		if err != nil {
			return nil, err
		}
	}
	return p.files[:n:n], nil
}

// freeze ends the filling.
func (x *deleteIndex) freeze() {
	x.frozen = true
	for _, l := range x.byPath {
		l.sort()
	}
	for _, s := range x.scopes {
		s.positions.sort()
		sortGroups(s.groups)
	}
	sortGroups(x.global)
	x.neighbours()
}

// neighbours tells each vector about the others in its file, so that those that lie close together are fetched at once.
func (x *deleteIndex) neighbours() {
	files := map[string][]*deletes.Vector{}
	for _, v := range x.vectors {
		files[v.File.Location.Recorded] = append(files[v.File.Location.Recorded], &v.Vector)
	}
	for _, in := range files {
		if len(in) < 2 {
			continue
		}
		slices.SortFunc(in, func(a, b *deletes.Vector) int { return cmp.Compare(a.Offset, b.Offset) })
		for _, v := range in {
			v.Neighbours = in
		}
	}
}

func sortGroups(groups []*group) {
	for _, g := range groups {
		slices.SortFunc(g.Files, func(a, b deletes.File) int {
			return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), strings.Compare(a.File.Location.Recorded, b.File.Location.Recorded))
		})
	}
	slices.SortFunc(groups, func(a, b *group) int { return slices.Compare(a.ids, b.ids) })
}

// find returns what applies to a data file: path is its pathKey, key its spec and tuple.
func (x *deleteIndex) find(path, key []byte, seq int64) (deletes.Set, error) {
	var set deletes.Set
	if x == nil || x.count == 0 {
		return set, nil
	}
	s := x.scopes[string(key)]
	if err := x.positions(&set, s, path, seq); err != nil {
		return set, err
	}
	groups := x.global
	for pass := range 2 {
		if pass == 1 {
			if groups = nil; s != nil {
				groups = s.groups
			}
		}
		for _, g := range groups {
			if g.max <= seq {
				continue
			}
			if g.refused != nil {
				return set, g.refused
			}
			set.Equality = append(set.Equality, &g.Group)
		}
	}
	return set, nil
}

func (x *deleteIndex) positions(set *deletes.Set, s *scope, path []byte, seq int64) error {
	if v := x.vectors[string(path)]; v != nil && v.seq >= seq {
		if v.second != "" {
			return meta.Invalidf(v.File.Location.Recorded, "two deletion vectors for %s, the other in %s", path, v.second)
		}
		set.Vector = &v.Vector
		return v.refused
	}
	own, err := x.byPath[string(path)].since(seq)
	if err != nil {
		return err
	}
	var shared []*deletes.File
	if s != nil {
		if shared, err = s.positions.since(seq); err != nil {
			return err
		}
	}
	switch {
	case len(own) == 0:
		set.Positions = shared
	case len(shared) == 0:
		set.Positions = own
	default:
		set.Positions = append(own, shared...)
	}
	return nil
}
