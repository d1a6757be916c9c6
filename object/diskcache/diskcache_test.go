package diskcache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lakescan/lakescan/failpoints"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/diskcache"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/object/objecttest"
)

// counting counts reads of a store.
type counting struct {
	*mem.Store
	reads atomic.Int64
}

func (c *counting) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	c.reads.Add(1)
	return c.Store.Read(ctx, loc, r, dst, o)
}

func at(t testing.TB, text string) object.Location {
	t.Helper()
	loc, err := object.ParseLocation(text)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func here(context.Context, object.Location) (string, bool) { return "http://here", true }

// over opens a cache in dir as a new process would.
func over(t testing.TB, dir string, cfg diskcache.Config) (object.Store, *counting, *diskcache.Cache) {
	t.Helper()
	cfg.Dir = dir
	c, err := diskcache.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	below := &counting{Store: mem.New()}
	return c.Over(below, here), below, c
}

func read(t testing.TB, s object.Store, loc object.Location, r object.Range, o object.ReadOptions, want []byte) object.Info {
	t.Helper()
	got, info, err := s.Read(t.Context(), loc, r, nil, o)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read [%s]: %d bytes, %v, want %d bytes", r, len(got), err, len(want))
	}
	return info
}

func files(t testing.TB, dir string) (list []string, total int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		list, total = append(list, path), total+info.Size()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, total
}

// Every rule of a store holds with the cache over it.
func TestConformance(t *testing.T) {
	t.Parallel()
	objecttest.Run(t, func(t *testing.T) objecttest.Harness {
		s, _, _ := over(t, t.TempDir(), diskcache.Config{})
		return objecttest.Harness{Store: s, Root: at(t, "s3://bucket/root")}
	})
}

// A second process reads from disk what the first one read from the store: the same range, parts of it, and a suffix.
func TestASecondProcessAsksTheStoreForNothing(t *testing.T) {
	t.Parallel()
	dir, loc, data := t.TempDir(), at(t, "s3://b/f.parquet"), objecttest.Bytes(300_000)
	size := int64(len(data))
	first, below, _ := over(t, dir, diskcache.Config{})
	below.Put(loc.Recorded, data)
	tag := read(t, first, loc, object.Suffix(200_000), object.ReadOptions{Size: size}, data[100_000:]).ETag
	for _, o := range []object.ReadOptions{{Size: size}, {ETag: tag}, {Size: size, ETag: tag}, {Immutable: true}} {
		second, below, cache := over(t, dir, diskcache.Config{})
		for _, r := range []object.Range{object.Suffix(200_000), object.Suffix(1), {Off: 100_000, Len: 1}, {Off: 165_535, Len: 2}, {Off: 131_071, Len: 65_538}, {Off: 299_999, Len: 1}, {Off: 250_000, Len: -1}} {
			off, n, err := r.Resolve(size)
			if err != nil {
				t.Fatal(err)
			}
			info := read(t, second, loc, r, o, data[off:off+n])
			if !info.Cached || info.ETag != tag || info.Size != size || info.Location != loc {
				t.Errorf("%+v [%s]: info %+v", o, r, info)
			}
		}
		if st := cache.Stats(); below.reads.Load() != 0 || st.Hits != 7 || st.Misses != 0 {
			t.Errorf("%+v: %d reads of the store, %+v", o, below.reads.Load(), st)
		}
	}
}

// What is not pinned may be replaced in place: it goes to the store every time.
func TestWhatIsNotPinnedIsNotAnswered(t *testing.T) {
	t.Parallel()
	s, below, cache := over(t, t.TempDir(), diskcache.Config{})
	loc := at(t, "s3://b/version-hint.text")
	for i := range 3 {
		text := fmt.Appendf(nil, "%d", i)
		below.Put(loc.Recorded, text)
		read(t, s, loc, object.Whole, object.ReadOptions{}, text)
	}
	if st := cache.Stats(); st != (diskcache.Stats{}) {
		t.Errorf("%+v", st)
	}
}

// An object replaced at the same path, at the same size: a reader that names the new version never gets the old bytes; one that rests on the path
// and the size gets one version or an error, never both. The entries go at the first sign.
func TestASwappedObjectIsNeverMixed(t *testing.T) {
	t.Parallel()
	dir, loc := t.TempDir(), at(t, "s3://b/f.parquet")
	old, new := objecttest.Bytes(100_000), bytes.Repeat([]byte("new!"), 25_000)
	s, below, _ := over(t, dir, diskcache.Config{})
	below.Put(loc.Recorded, old)
	o := object.ReadOptions{Size: 100_000}
	read(t, s, loc, object.Suffix(10_000), o, old[90_000:])
	newTag := below.Put(loc.Recorded, new).ETag

	read(t, s, loc, object.Suffix(10_000), object.ReadOptions{Size: 100_000, ETag: newTag}, new[90_000:]) // a listing told it

	s2, below2, _ := over(t, t.TempDir(), diskcache.Config{})
	below2.Put(loc.Recorded, old)
	read(t, s2, loc, object.Suffix(10_000), o, old[90_000:])
	below2.Put(loc.Recorded, new)
	info := read(t, s2, loc, object.Suffix(10_000), o, old[90_000:]) // by path and size: what Iceberg promises not to change
	pinned := object.ReadOptions{Size: 100_000, ETag: info.ETag}
	if _, _, err := s2.Read(t.Context(), loc, object.Range{Off: 0, Len: 100}, nil, pinned); !errors.Is(err, object.ErrChanged) {
		t.Fatalf("%v, want ErrChanged", err)
	}
	read(t, s2, loc, object.Suffix(10_000), o, new[90_000:]) // afresh
}

// Equal paths of two stores are two objects.
func TestStoresAreKeptApart(t *testing.T) {
	t.Parallel()
	cache, err := diskcache.Open(diskcache.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	loc, o := at(t, "s3://b/f"), object.ReadOptions{Size: 1}
	for _, name := range []string{"a", "b", "a"} {
		below := mem.New()
		below.Put(loc.Recorded, []byte(name))
		s := cache.Over(below, func(context.Context, object.Location) (string, bool) { return name, true })
		read(t, s, loc, object.Whole, o, []byte(name))
	}
	if st := cache.Stats(); st.Hits != 1 || st.Written != 2 {
		t.Errorf("%+v", st)
	}
	unknown := cache.Over(mem.New(), func(context.Context, object.Location) (string, bool) { return "", false })
	if _, _, err := unknown.Read(t.Context(), loc, object.Whole, nil, o); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("%v: a store without a name is asked itself", err)
	}
}

// Any damage to an entry is a miss; the damaged entry is removed and written anew.
func TestDamagedEntriesAreMisses(t *testing.T) {
	t.Parallel()
	loc, data := at(t, "s3://b/f.parquet"), objecttest.Bytes(200_000)
	o, r := object.ReadOptions{Size: int64(len(data))}, object.Range{Off: 1000, Len: 150_000}
	for name, damage := range map[string]func([]byte) []byte{
		"empty":               func(b []byte) []byte { return nil },
		"short header":        func(b []byte) []byte { return b[:20] },
		"cut in half":         func(b []byte) []byte { return b[:len(b)/2] },
		"one byte less":       func(b []byte) []byte { return b[:len(b)-1] },
		"one byte more":       func(b []byte) []byte { return append(b, 0) },
		"magic":               flip(0),
		"version":             flip(4),
		"number of blocks":    flip(8),
		"absurd name length":  func(b []byte) []byte { copy(b[10:], "\xff\xff\xff\x7f"); return b },
		"size":                flip(18),
		"offset":              flip(26),
		"name":                flip(45),
		"checksum of a block": flip(42 + 30 + 40),
		"first byte":          func(b []byte) []byte { return flip(len(b) - 150_000)(b) },
		"middle":              func(b []byte) []byte { return flip(len(b) - 75_000)(b) },
		"last byte":           func(b []byte) []byte { return flip(len(b) - 1)(b) },
		"other bytes":         func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, below, cache := over(t, dir, diskcache.Config{})
			below.Put(loc.Recorded, data)
			read(t, s, loc, r, o, data[1000:151_000])
			list, _ := files(t, dir)
			if len(list) != 1 {
				t.Fatalf("files %q", list)
			}
			raw, err := os.ReadFile(list[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(list[0], damage(bytes.Clone(raw)), 0o600); err != nil {
				t.Fatal(err)
			}
			read(t, s, loc, r, o, data[1000:151_000])
			if st := cache.Stats(); st.Corrupt != 1 || below.reads.Load() != 2 {
				t.Errorf("%+v, %d reads of the store: want one damaged entry", st, below.reads.Load())
			}
			if again, err := os.ReadFile(list[0]); err != nil || !bytes.Equal(again, raw) {
				t.Errorf("the entry was not written anew: %v", err)
			}
			read(t, s, loc, r, o, data[1000:151_000])
			if below.reads.Load() != 2 {
				t.Error("the new entry does not answer")
			}
		})
	}
}

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte { b[at] ^= 0x40; return b }
}

// Foreign files, folders in the place of entries, and names that are none are passed over.
func TestForeignFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, below, _ := over(t, dir, diskcache.Config{})
	loc, o := at(t, "s3://b/f"), object.ReadOptions{Size: 4}
	below.Put(loc.Recorded, []byte("data"))
	read(t, s, loc, object.Whole, o, []byte("data"))
	list, _ := files(t, dir)
	folder, name := filepath.Split(list[0])
	tag, _, _ := strings.Cut(name, "-")
	for _, n := range []string{"README", "a-b-c-d", tag + "-4-0-9", tag + "-4-+0-4", tag + "-4--1-4", tag + "-99999999999999999999-0-4"} {
		if err := os.WriteFile(filepath.Join(folder, n), []byte("no entry"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, tag+"-4-0-3"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, r := range []object.Range{object.Whole, {Off: 0, Len: 3}, object.Suffix(2)} {
		off, n, _ := r.Resolve(4)
		read(t, s, loc, r, o, []byte("data")[off:off+n])
	}
	if below.reads.Load() != 1 {
		t.Errorf("%d reads of the store", below.reads.Load())
	}
}

// The bytes on disk stay under the limit; what was used last stays.
func TestTheLimitHolds(t *testing.T) {
	t.Parallel()
	dir, entry := t.TempDir(), objecttest.Bytes(10_000)
	s, below, cache := over(t, dir, diskcache.Config{MaxBytes: 200_000})
	keep := at(t, "s3://b/keep")
	below.Put(keep.Recorded, entry)
	o := object.ReadOptions{Size: 10_000}
	read(t, s, keep, object.Whole, o, entry)
	old := time.Now().Add(-time.Hour)
	for i := range 100 {
		loc := at(t, fmt.Sprintf("s3://b/f%d", i))
		below.Put(loc.Recorded, entry)
		read(t, s, loc, object.Whole, o, entry)
		list, total := files(t, dir)
		if total > 200_000 {
			t.Fatalf("%d bytes on disk", total)
		}
		for _, f := range list { // an hour passes
			if err := os.Chtimes(f, old, old); err != nil {
				t.Fatal(err)
			}
		}
		read(t, s, keep, object.Whole, o, entry) // used again
	}
	if st := cache.Stats(); st.Evicted < 80 || st.Hits != 100 {
		t.Errorf("%+v: want one file never evicted", st)
	}
	if _, _, err := s.Read(t.Context(), keep, object.Range{Off: 0, Len: 60_000}, nil, o); !errors.Is(err, object.ErrRange) {
		t.Errorf("%v: a read longer than any entry goes to the store", err)
	}
}

// A disk that cannot be written costs the cache, not the read; it is tried again after a while.
func TestAFullDiskIsNoError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, below, cache := over(t, dir, diskcache.Config{})
	ctx, release := failpoints.Scoped(t, t.Context(), "diskcache/write=error(no space left on device)", nil)
	for i := range 5 {
		loc := at(t, fmt.Sprintf("s3://b/f%d", i))
		below.Put(loc.Recorded, []byte("data"))
		if got, _, err := s.Read(ctx, loc, object.Whole, nil, object.ReadOptions{Size: 4}); err != nil || string(got) != "data" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	release()
	if list, _ := files(t, dir); len(list) != 0 {
		t.Errorf("left on disk: %q", list)
	}
	if st := cache.Stats(); st.Failed != 1 || st.Written != 0 {
		t.Errorf("%+v: want one failure, and no attempt after it", st)
	}
}

// A folder that vanishes under the cache is made again.
func TestTheFolderMayGo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	s, below, cache := over(t, dir, diskcache.Config{})
	loc, o := at(t, "s3://b/f"), object.ReadOptions{Size: 4}
	below.Put(loc.Recorded, []byte("data"))
	for range 2 {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		read(t, s, loc, object.Whole, o, []byte("data"))
		read(t, s, loc, object.Whole, o, []byte("data"))
	}
	if st := cache.Stats(); st.Hits != 2 || st.Failed != 0 {
		t.Errorf("%+v", st)
	}
	if err := cache.Purge(); err != nil {
		t.Fatal(err)
	}
	read(t, s, loc, object.Whole, o, []byte("data"))
	if below.reads.Load() != 3 {
		t.Errorf("%d reads of the store: Purge left something", below.reads.Load())
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]diskcache.Config{"no folder": {}, "negative": {Dir: t.TempDir(), MaxBytes: -1}, "a file": {Dir: file}} {
		if _, err := diskcache.Open(cfg); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// What a killed process left half-written is removed once it is old enough to be nobody's.
func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	over(t, dir, diskcache.Config{})
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{"old", "new"} {
		f := filepath.Join(dir, "v1", "tmp", name)
		if err := os.WriteFile(f, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "old" {
			if err := os.Chtimes(f, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	over(t, dir, diskcache.Config{})
	if list, _ := files(t, dir); len(list) != 1 || filepath.Base(list[0]) != "new" {
		t.Errorf("left: %q", list)
	}
}
