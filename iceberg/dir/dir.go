package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
)

// maxHint bounds the version hint.
const maxHint = 4 << 10

// Catalog is a meta.Backend over folders, or over one table.
type Catalog struct {
	store     object.Store
	warehouse string
	table     string // At: the one table, whatever the name
}

// New makes the catalog of a folder: a table lies in the folder of its name below those of its namespace.
func New(store object.Store, warehouse string) *Catalog {
	return &Catalog{store: store, warehouse: strings.TrimRight(warehouse, "/")}
}

// At makes a catalog that answers every name with one table: a metadata file, or a table's folder.
func At(store object.Store, location string) *Catalog { return &Catalog{store: store, table: location} }

// IsMetadataFile reports whether a location names a metadata file rather than a table's folder.
func IsMetadataFile(location string) bool {
	_, _, ok := version(location[strings.LastIndexByte(location, '/')+1:])
	return ok || strings.HasSuffix(location, ".json") || strings.HasSuffix(location, ".json.gz")
}

// Load reads the table's metadata. A document is read whole, so allSnapshots makes no difference.
func (c *Catalog) Load(ctx context.Context, id meta.Ident, _ bool) (*meta.Metadata, error) {
	location := c.table
	if location == "" {
		location = c.warehouse + "/" + strings.Join(append(slices.Clone(id.Namespace), id.Name), "/")
	}
	var m *meta.Metadata
	var err error
	if c.table != "" && IsMetadataFile(location) {
		m, err = c.read(ctx, location, "named by the user")
	} else {
		m, err = c.find(ctx, strings.TrimRight(location, "/"))
	}
	if errors.Is(err, object.ErrNotFound) {
		err = &meta.Error{Op: "load table", Ident: id, Err: fmt.Errorf("%w: %w", meta.ErrNoSuchTable, err)}
	}
	return m, err
}

// Post is refused.
func (c *Catalog) Post(_ context.Context, id meta.Ident, _ []byte) (*meta.Metadata, error) {
	return nil, &meta.Error{Op: "commit", Ident: id, Err: &meta.UnsupportedError{Ability: "commits to a table without a catalog", Hint: "register the table in a REST catalog"}}
}

func (c *Catalog) read(ctx context.Context, location, how string) (*meta.Metadata, error) {
	data, err := c.get(ctx, location, meta.MaxBytes)
	if err != nil {
		return nil, err
	}
	m, err := meta.Parse(data, location)
	if err != nil {
		return nil, err
	}
	m.How = how
	return m, nil
}

func (c *Catalog) get(ctx context.Context, location string, limit int64) ([]byte, error) {
	loc, err := object.ParseLocation(location)
	if err != nil {
		return nil, err
	}
	data, _, err := c.store.Read(ctx, loc, object.Whole, nil, object.ReadOptions{Limit: limit})
	return data, err
}

// find applies the rule of the package to a table's folder.
func (c *Catalog) find(ctx context.Context, table string) (*meta.Metadata, error) {
	folder := table + "/metadata/"
	hint, err := c.hint(ctx, folder)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.ParseUint(hint, 10, 63); err == nil {
		m, err := c.probe(ctx, folder, int64(n))
		if m != nil || err != nil {
			return m, err
		}
	} else if n, form, ok := version(hint); ok && form == numbered {
		m, err := c.probe(ctx, folder, n)
		if m != nil || err != nil {
			return m, err
		}
	}
	return c.newest(ctx, folder, hint)
}

// hint is the text of version-hint.text, empty if there is none.
func (c *Catalog) hint(ctx context.Context, folder string) (string, error) {
	data, err := c.get(ctx, folder+"version-hint.text", maxHint)
	if errors.Is(err, object.ErrNotFound) || errors.Is(err, object.ErrRange) { // ErrRange: an empty file
		return "", nil
	}
	hint := strings.TrimSpace(string(data))
	return hint[strings.LastIndexByte(hint, '/')+1:], err
}

// spellings of the numbered form; %d is the version.
var spellings = []string{"v%d.metadata.json", "v%d.gz.metadata.json", "v%d.metadata.json.gz", "v%d.gzip.metadata.json"}

// probe reads v{n} and follows newer versions; nil if v{n} is missing.
func (c *Catalog) probe(ctx context.Context, folder string, n int64) (*meta.Metadata, error) {
	var found *meta.Metadata
	order := slices.Clone(spellings)
	for v := n; ; v++ {
		m, err := c.anySpelling(ctx, folder, v, order)
		if err != nil {
			return nil, err
		}
		if m == nil {
			break
		}
		found = m
		if v > n {
			found.How = fmt.Sprintf("version-hint.text says %d, %d is the newest that follows", n, v)
		}
	}
	return found, nil
}

// anySpelling reads version v under the first name that exists, which moves to the front of order for the next one.
func (c *Catalog) anySpelling(ctx context.Context, folder string, v int64, order []string) (*meta.Metadata, error) {
	for i, s := range order {
		m, err := c.read(ctx, folder+fmt.Sprintf(s, v), fmt.Sprintf("version-hint.text says %d", v))
		if errors.Is(err, object.ErrNotFound) {
			continue
		}
		if err == nil {
			copy(order[1:i+1], order[:i])
			order[0] = s
		}
		return m, err
	}
	return nil, nil
}

// newest lists the folder.
func (c *Catalog) newest(ctx context.Context, folder, hint string) (*meta.Metadata, error) {
	l, ok := c.store.(object.Lister)
	if !ok {
		return nil, &meta.UnsupportedError{Ability: "listing " + folder, Where: "no usable version-hint.text", Hint: "name a metadata file"}
	}
	prefix, err := object.ParseLocation(folder)
	if err != nil {
		return nil, err
	}
	best, names := int64(-1), []string(nil)
	for info, err := range l.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(info.Location.Recorded, folder)
		n, _, ok := version(name)
		switch {
		case !ok || n < best:
		case n > best:
			best, names = n, []string{name}
		default:
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, &object.Error{Op: "list", Location: prefix, Err: fmt.Errorf("%w: no *.metadata.json", object.ErrNotFound)}
	case len(names) > 1:
		slices.Sort(names)
		return nil, meta.Invalidf(folder, "several metadata files of version %d: %s; name one of them", best, strings.Join(names, ", "))
	}
	how := "highest version in the folder, without version-hint.text"
	if hint != "" {
		how = fmt.Sprintf("highest version in the folder, since version-hint.text says %q", hint)
	}
	return c.read(ctx, folder+names[0], how)
}

type form uint8

const (
	numbered form = iota // v{N}
	unique               // {N}-{uuid}
)

// version reads the version in a metadata file's name.
func version(name string) (n int64, f form, ok bool) {
	stem := name
	for _, cut := range []string{".gz", ".gzip"} {
		stem = strings.TrimSuffix(stem, cut)
	}
	if stem, ok = strings.CutSuffix(stem, ".metadata.json"); !ok {
		return 0, 0, false
	}
	for _, cut := range []string{".gz", ".gzip"} {
		stem = strings.TrimSuffix(stem, cut)
	}
	digits, isNumbered := strings.CutPrefix(stem, "v")
	if !isNumbered {
		f = unique
		digits, _, ok = strings.Cut(stem, "-")
	}
	v, err := strconv.ParseUint(digits, 10, 63)
	return int64(v), f, ok && err == nil
}

// Tables lists the folders of a namespace that hold metadata.
func (c *Catalog) Tables(ctx context.Context, namespace []string) iter.Seq2[meta.Ident, error] {
	return func(yield func(meta.Ident, error) bool) {
		for child, err := range c.children(ctx, namespace) {
			if err != nil || child.table {
				if !yield(meta.Ident{Namespace: namespace, Name: child.name}, err) || err != nil {
					return
				}
			}
		}
	}
}

// Namespaces lists the folders below a namespace that hold tables.
func (c *Catalog) Namespaces(ctx context.Context, parent []string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for child, err := range c.children(ctx, parent) {
			if err != nil || !child.table {
				if !yield(append(slices.Clone(parent), child.name), err) || err != nil {
					return
				}
			}
		}
	}
}

type child struct {
	name  string
	table bool
}

// children lists every object below a folder, since a store has no folders, and names the folders in order. A folder is a
// table if it has a metadata file, a namespace if a folder below it is a table.
func (c *Catalog) children(ctx context.Context, parent []string) iter.Seq2[child, error] {
	return func(yield func(child, error) bool) {
		l, ok := c.store.(object.Lister)
		folder := strings.Join(append([]string{c.warehouse}, parent...), "/") + "/"
		prefix, err := object.ParseLocation(folder)
		if err == nil && !ok {
			err = &meta.UnsupportedError{Ability: "listing " + folder}
		}
		if err != nil {
			yield(child{}, err)
			return
		}
		found := map[child]bool{}
		for info, err := range l.List(ctx, prefix) {
			if err != nil {
				yield(child{}, err)
				return
			}
			parts := strings.Split(strings.TrimPrefix(info.Location.Recorded, folder), "/")
			if len(parts) < 3 || parts[len(parts)-2] != "metadata" {
				continue
			}
			if _, _, ok := version(parts[len(parts)-1]); ok {
				found[child{parts[0], len(parts) == 3}] = true
			}
		}
		order := make([]child, 0, len(found))
		for f := range found {
			order = append(order, f)
		}
		slices.SortFunc(order, func(a, b child) int { return cmp.Compare(a.name, b.name) })
		for _, f := range order {
			if !yield(f, nil) {
				return
			}
		}
	}
}
