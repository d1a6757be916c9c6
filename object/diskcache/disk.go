package diskcache

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lakescan/lakescan/failpoints"
	"github.com/lakescan/lakescan/object"
)

// fpWrite: error = the disk is full in the middle of an entry; kill, pause = there.
var fpWrite = failpoints.New("diskcache/write")

const (
	pauseWriting = time.Minute // after a failure of the disk
	fresh        = time.Minute // a use that is noted once is not noted again for so long
)

// find answers a read from an entry that covers it. Of several versions the one that was used last is meant.
func (c *Cache) find(k key, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, bool) {
	folder := c.folder(k)
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil, object.Info{}, false
	}
	type candidate struct {
		place
		off, n int64
		used   time.Time
		entry  fs.DirEntry
	}
	var found []candidate
	for _, e := range list {
		p, ok := parsePlace(e.Name())
		if !ok || o.Size > 0 && p.size != o.Size || o.ETag != "" && p.tag != tagOf(o.ETag) {
			continue
		}
		off, n, err := r.Resolve(p.size)
		if err != nil || n == 0 || off < p.off || off+n > p.off+p.len || o.Admit(r, n) != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // it has just been removed
		}
		found = append(found, candidate{p, off, n, info.ModTime(), e})
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.len, b.len)) })
	for _, f := range found {
		path := filepath.Join(folder, f.entry.Name())
		data, etag, err := readEntry(path, k, f.place, f.off, f.n, dst)
		if err != nil {
			if errors.Is(err, errCorrupt) {
				c.corrupt.Add(1)
				c.cfg.Logger.Warn("disk cache: a damaged entry is removed", "file", path)
				_ = os.Remove(path) // what cannot be removed stays a miss
			}
			continue
		}
		if now := time.Now(); now.Sub(f.used) > fresh {
			_ = os.Chtimes(path, now, now) // only the order of eviction depends on it
		}
		return data, object.Info{Size: f.size, ETag: etag, Cached: true}, true
	}
	return nil, object.Info{}, false
}

// keep writes a good answer.
func (c *Cache) keep(ctx context.Context, k key, r object.Range, data []byte, info object.Info) {
	n := int64(len(data))
	if n == 0 || n > c.cfg.MaxEntry || info.ETag == "" || info.Cached || len(info.ETag) > maxText || len(k.name) > maxText {
		return
	}
	off, want, err := r.Resolve(info.Size)
	if err != nil || want != n {
		return
	}
	if !c.mayWrite() {
		return
	}
	p := place{tagOf(info.ETag), info.Size, off, n}
	bytes, err := c.write(ctx, k, info.ETag, p, data)
	if err != nil {
		c.refuse(err)
		return
	}
	c.written.Add(1)
	c.writtenBytes.Add(bytes)
	c.makeRoom(bytes)
}

// mayWrite is false for a while after the disk has failed.
func (c *Cache) mayWrite() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !time.Now().Before(c.mu.off)
}

func (c *Cache) refuse(err error) {
	c.failed.Add(1)
	c.mu.Lock()
	c.mu.off = time.Now().Add(pauseWriting)
	c.mu.Unlock()
	c.cfg.Logger.Warn("disk cache: cannot write, going on without", "dir", c.cfg.Dir, "error", err, "for", pauseWriting)
}

// write makes an entry under a temporary name and renames it. It returns the entry's bytes on disk.
func (c *Cache) write(ctx context.Context, k key, etag string, p place, data []byte) (n int64, err error) {
	f, err := os.CreateTemp(c.temp(), "*")
	if errors.Is(err, fs.ErrNotExist) { // somebody removed the folder
		if err = os.MkdirAll(c.temp(), 0o700); err == nil {
			f, err = os.CreateTemp(c.temp(), "*")
		}
	}
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	h := appendHead(k, etag, p, data)
	if _, err = f.Write(h); err != nil {
		return 0, err
	}
	half := len(data) / 2
	if _, err = f.Write(data[:half]); err != nil {
		return 0, err
	}
	if err = fpWrite.DoKey(ctx, k.name); err != nil {
		return 0, err
	}
	if _, err = f.Write(data[half:]); err != nil {
		return 0, err
	}
	if err = f.Close(); err != nil {
		return 0, err
	}
	to := filepath.Join(c.folder(k), p.String())
	if err = os.Rename(f.Name(), to); errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(c.folder(k), 0o700); err == nil {
			err = os.Rename(f.Name(), to)
		}
	}
	return int64(len(h) + len(data)), err
}

// makeRoom counts what was written and, when the limit may be passed, looks at the directory and removes what was used longest ago.
func (c *Cache) makeRoom(written int64) {
	c.mu.Lock()
	c.mu.used += written
	c.mu.since += written
	due := !c.mu.counted || c.mu.used > c.cfg.MaxBytes || c.mu.since > c.cfg.MaxBytes/16
	if !due || c.mu.evicting {
		c.mu.Unlock()
		return
	}
	c.mu.evicting, c.mu.since = true, 0
	c.mu.Unlock()

	used := c.evict()

	c.mu.Lock()
	c.mu.evicting, c.mu.counted = false, true
	c.mu.used = used
	c.mu.Unlock()
}

// stored is an entry as eviction sees it.
type stored struct {
	path string
	size int64
	used time.Time
}

// evict removes entries until nine tenths of the limit are left, if the limit is passed. It returns what is there afterwards.
func (c *Cache) evict() int64 {
	var all []stored
	var total int64
	_ = filepath.WalkDir(c.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // a folder that has just gone
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		total += info.Size()
		if filepath.Dir(path) != c.temp() { // those are somebody's who is at work
			all = append(all, stored{path, info.Size(), info.ModTime()})
		}
		return nil
	})
	if total <= c.cfg.MaxBytes {
		return total
	}
	slices.SortFunc(all, func(a, b stored) int { return a.used.Compare(b.used) })
	for _, e := range all {
		if total <= c.cfg.MaxBytes/10*9 {
			break
		}
		if err := os.Remove(e.path); err == nil {
			c.evicted.Add(1)
			_ = os.Remove(filepath.Dir(e.path)) // fails unless it was the last
		} else if !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		total -= e.size
	}
	return total
}
