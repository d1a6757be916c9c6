package lakescan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/source"
	"github.com/lakescan/lakescan/source/resolve"
)

// fileRelation is a list of plain Parquet files. The first one in name order gives the schema; in later files a column is found by its field id,
// else by its name, an absent one is null, and an impossible type is an error that names the file.
type fileRelation struct {
	from  object.Store
	files []object.Info
	full  *arrow.Schema
	rows  int64 // estimated by the first file's rows a byte; -1 = unknown
}

func (r *fileRelation) store() object.Store   { return r.from }
func (r *fileRelation) link() string          { return linkOf(r.files[0].Location.Recorded) }
func (r *fileRelation) schema() *arrow.Schema { return r.full }

// openFiles lists a glob or a folder ("…/"), or takes one file, and reads the first footer.
func (c *Client) openFiles(ctx context.Context, pattern string, v iceberg.Version) (*fileRelation, error) {
	if v != (iceberg.Version{}) {
		return nil, &TargetError{pattern, "plain files have no snapshots"}
	}
	files, err := c.listFiles(ctx, pattern)
	if err != nil {
		return nil, err
	}
	lane, _ := c.lane("footer", linkOf(files[0].Location.Recorded), scanOptions{})
	if lane != nil {
		defer lane.Close()
	}
	fetch := source.NewFetcher(lane, c.store) // the scan then knows how far the store is
	f, info, err := readFooter(ctx, fetch, files[0])
	if err != nil && len(files) == 1 && files[0].Size < 0 {
		// Not a file: perhaps a folder that was named without its slash.
		inside, lerr := c.listFiles(ctx, strings.TrimSuffix(pattern, "/")+"/")
		if lerr == nil {
			files = inside
			f, info, err = readFooter(ctx, fetch, files[0])
		} else if errors.Is(lerr, errFilesBelow) {
			return nil, lerr
		}
	}
	if err != nil {
		return nil, err
	}
	if resolve.IsDeleteFile(f.Schema()) || deleteType(f) != "" {
		return nil, &TargetError{pattern, files[0].Location.Recorded + " is a delete file of an Iceberg table, not data; scan the table instead"}
	}
	files[0] = info
	return &fileRelation{from: c.store, files: files, full: resolve.MakeIDs(f.Schema()), rows: estimateRows(files, f.NumRows())}, nil
}

// deleteType is what Iceberg writers note in the footer of a delete file: position or equality.
func deleteType(f *parquet.Footer) string {
	for _, kv := range f.Meta().KeyValues {
		if kv.Key == "delete-type" {
			return kv.Value
		}
	}
	return ""
}

// estimateRows is for optimizers alone: all files have as many rows a byte as the first.
func estimateRows(files []object.Info, first int64) int64 {
	var total float64
	for _, f := range files {
		if f.Size < 0 {
			return -1
		}
		total += float64(f.Size)
	}
	if files[0].Size == 0 {
		return -1
	}
	return int64(total / float64(files[0].Size) * float64(first))
}

func (r *fileRelation) plan(_ context.Context, o scanOptions, _ object.Fetcher) (*planned, error) {
	schema, err := project(r.full, o.columns, o.caseSensitive)
	if err != nil {
		return nil, err
	}
	filter := o.filter
	if filter != nil {
		if filter, err = expr.Bind(filter, r.full, expr.BindOptions{CaseSensitive: o.caseSensitive, Zone: o.zone}); err != nil {
			return nil, err
		}
	}
	names := resolve.PlainNames()
	tasks := func(context.Context) iter.Seq2[source.Task, error] {
		return func(yield func(source.Task, error) bool) {
			for t, err := range source.List(r.files, filter) {
				t.Names = names
				if !yield(t, err) {
					return
				}
			}
		}
	}
	return &planned{schema: schema, tasks: tasks, limit: o.limit}, nil
}

// project is the select list's part of a schema; nil names = all of it.
func project(s *arrow.Schema, names []string, caseSensitive bool) (*arrow.Schema, error) {
	if names == nil {
		return s, nil
	}
	return iceberg.SelectColumns(s, names, caseSensitive)
}

// parsePath reads a path as people write it: one without a scheme is a local one, relative to the working folder.
func parsePath(path string) (object.Location, error) {
	loc, err := object.ParseLocation(path)
	if err != nil || loc.Scheme != "" || loc.Bucket != "" || strings.Contains(path, "://") {
		return loc, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return object.Location{}, err
	}
	if strings.HasSuffix(path, "/") {
		abs += "/"
	}
	return object.ParseLocation(abs)
}

// listFiles answers in byte order; no match is object.ErrNotFound.
func (c *Client) listFiles(ctx context.Context, pattern string) ([]object.Info, error) {
	loc, err := parsePath(pattern)
	if err != nil {
		return nil, err
	}
	wild := strings.IndexAny(loc.Key, "*?[")
	if wild < 0 && !strings.HasSuffix(loc.Key, "/") {
		return []object.Info{{Location: loc, Size: -1}}, nil
	}
	glob := loc.Key
	if wild < 0 {
		glob += "*.parquet"
		wild = len(loc.Key)
	}
	prefix, err := object.ParseLocation(strings.TrimSuffix(loc.Recorded, loc.Key) + loc.Key[:wild])
	if err != nil {
		return nil, err
	}
	lister, ok := c.store.(object.Lister)
	if !ok {
		return nil, fmt.Errorf("%s: %w", pattern, errors.ErrUnsupported)
	}
	var files []object.Info
	below := false
	for info, err := range lister.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		if ok, err := matchGlob(glob, info.Location.Key); err != nil {
			return nil, &TargetError{pattern, "bad pattern"}
		} else if ok {
			files = append(files, info)
		}
		below = below || strings.HasSuffix(info.Location.Key, ".parquet")
	}
	if len(files) == 0 && below && strings.HasSuffix(loc.Key, "/") {
		return nil, &object.Error{Op: "list", Location: loc, Err: errFilesBelow}
	}
	if len(files) == 0 {
		return nil, &object.Error{Op: "list", Location: loc, Err: fmt.Errorf("%w: no file matches", object.ErrNotFound)}
	}
	slices.SortFunc(files, func(a, b object.Info) int { return strings.Compare(a.Location.Key, b.Location.Key) })
	return files, nil
}

// errFilesBelow is an ErrNotFound.
var errFilesBelow = fmt.Errorf("%w: no Parquet file in this folder, only in folders below it: add **", object.ErrNotFound)

// matchGlob is path.Match in which a part ** stands for any number of parts, none included.
func matchGlob(pattern, name string) (bool, error) {
	head, rest, deep := cutDoubleStar(pattern)
	if !deep {
		return path.Match(pattern, name)
	}
	if head != "" {
		n := strings.Count(head, "/")
		at := 0
		for range n {
			i := strings.IndexByte(name[at:], '/')
			if i < 0 {
				return false, nil
			}
			at += i + 1
		}
		if ok, err := path.Match(head, name[:at]); !ok || err != nil {
			return false, err
		}
		name = name[at:]
	}
	for {
		ok, err := matchGlob(rest, name)
		i := strings.IndexByte(name, '/')
		if ok || err != nil || i < 0 {
			return ok, err
		}
		name = name[i+1:]
	}
}

// cutDoubleStar cuts a pattern around its first part **; head ends in a slash or is empty. A ** at the end stands for all files below.
func cutDoubleStar(pattern string) (head, rest string, ok bool) {
	switch i := strings.Index("/"+pattern+"/", "/**/"); {
	case i < 0:
		return "", "", false
	case i+len("**") == len(pattern):
		return pattern[:i], "*", true
	default:
		return pattern[:i], pattern[i+len("**/"):], true
	}
}

// firstTail is the first read of a footer, in bytes; most footers fit.
const firstTail = 64 << 10

// puffinMagic ends a Puffin file, as PAR1 ends a Parquet file.
const puffinMagic = "PFA1"

// readFooter takes one request when the tail holds the footer, two when it does not. The answer's Info has size and ETag.
func readFooter(ctx context.Context, fetch object.Fetcher, file object.Info) (*parquet.Footer, object.Info, error) {
	read := func(r object.Range, o object.ReadOptions) ([]byte, object.Info, error) {
		p := fetch.Fetch(ctx, file.Location, r, o)
		defer p.Release()
		b, info, err := p.Await(ctx)
		return bytes.Clone(b), info, err // the footer keeps it
	}
	tail, info, err := read(object.Range{Off: -firstTail, Len: -1}, object.ReadOptions{Size: file.Size})
	if err != nil {
		return nil, info, err
	}
	info.Location = file.Location
	if bytes.HasSuffix(tail, []byte(puffinMagic)) {
		return nil, info, &TargetError{file.Location.Recorded, "this is a Puffin file (statistics or deletion vectors of an Iceberg table), not Parquet"}
	}
	f, missing, err := parquet.ParseFooter(tail, info.Size, 0)
	if err == nil && missing > 0 {
		var head []byte
		off := info.Size - int64(len(tail)) - missing
		head, _, err = read(object.Range{Off: off, Len: missing}, object.ReadOptions{Size: info.Size, ETag: info.ETag})
		if err == nil {
			f, _, err = parquet.ParseFooter(append(head, tail...), info.Size, 0)
		}
	}
	if err != nil {
		return nil, info, fmt.Errorf("%s: %w", file.Location.Recorded, err)
	}
	return f, info, nil
}

// DescribeFile reads the footer of one Parquet file.
func (c *Client) DescribeFile(ctx context.Context, path string) (*parquet.Footer, object.Info, error) {
	files, err := c.listFiles(ctx, path)
	if err != nil {
		return nil, object.Info{}, err
	}
	return readFooter(ctx, source.NewFetcher(nil, c.store), files[0])
}
