package file

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/lakescan/lakescan/object"
)

// List yields the regular files whose path starts with the prefix, in byte order of the whole path, folder by folder.
// Symbolic links are followed; a loop of them is cut. Files and folders that vanish meanwhile are passed over, a missing prefix is empty.
func (s *Store) List(ctx context.Context, prefix object.Location) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		l := lister{store: s, ctx: ctx, prefix: prefix, yield: yield}
		dir := prefix.Key[:strings.LastIndexByte(prefix.Key, '/')+1]
		if _, err := l.folder(dir, nil); err != nil {
			yield(object.Info{Location: prefix, Size: -1}, object.Fail(ctx, "list", prefix, object.Range{}, classify(err)))
		}
	}
}

type lister struct {
	store  *Store
	ctx    context.Context
	prefix object.Location
	yield  func(object.Info, error) bool
}

// folder lists one folder, whose key ends in a slash; false = stop. above holds the folders on the way down.
func (l *lister) folder(dir string, above []fs.FileInfo) (bool, error) {
	entries, self, err := l.readDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	}
	if slices.ContainsFunc(above, func(st fs.FileInfo) bool { return os.SameFile(st, self) }) {
		return true, nil
	}
	for _, e := range entries {
		if err := l.ctx.Err(); err != nil {
			return false, err
		}
		key := dir + e.name
		var more bool
		switch {
		case strings.HasSuffix(key, "/") && (strings.HasPrefix(key, l.prefix.Key) || strings.HasPrefix(l.prefix.Key, key)):
			more, err = l.folder(key, append(above, self))
		case e.st.Mode().IsRegular() && strings.HasPrefix(key, l.prefix.Key) && !isTemp(e.name):
			more = l.yield(infoOf(l.prefix.WithKey(key), e.st), nil)
		default:
			continue
		}
		if err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

type dirEntry struct {
	name string // a folder's ends in a slash, which is also its place in byte order
	st   fs.FileInfo
}

func (l *lister) readDir(dir string) ([]dirEntry, fs.FileInfo, error) {
	name, err := l.store.path(object.Location{Scheme: "file", Key: dir})
	if err != nil {
		return nil, nil, err
	}
	f, err := l.store.open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	self, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !self.IsDir() {
		return nil, self, nil
	}
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, nil, err
	}
	out := make([]dirEntry, 0, len(names))
	for _, n := range names {
		st, err := l.store.stat(path.Join(name, n))
		if err != nil {
			continue // vanished, or a dangling link
		}
		if st.IsDir() {
			n += "/"
		}
		out = append(out, dirEntry{n, st})
	}
	slices.SortFunc(out, func(a, b dirEntry) int { return strings.Compare(a.name, b.name) })
	return out, self, nil
}
