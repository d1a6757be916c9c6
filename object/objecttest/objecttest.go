// Package objecttest is the conformance suite of object.Store: every store, and every chain of decorators over one, passes Run.
//
//	func TestConformance(t *testing.T) {
//		objecttest.Run(t, func(t *testing.T) objecttest.Harness { return objecttest.Harness{Store: mem.New(), Root: root} })
//	}
//
// A store that is no Lister or Writer skips those parts only if the harness says so; it then needs Put.
package objecttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lakescan/lakescan/object"
)

// Harness is a store under test.
type Harness struct {
	Store object.Store
	Root  object.Location // a folder that holds nothing else; the suite makes folders below it

	ReadOnly  bool // no Writer: Put is used instead
	NoList    bool // no Lister
	PlainKeys bool // keys are paths that the system cleans: no empty segment
	Large     int  // bytes of the object that is uploaded in parts; 0 = 1 MiB

	// Put stores an object by another way than the store under test; nil = by its Writer.
	Put func(t testing.TB, loc object.Location, data []byte)
}

// Run runs the suite; open is called once for each part of it.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	parts := []struct {
		name string
		run  func(*testing.T, *suite)
		skip func(Harness) bool
	}{
		{"Ranges", testRanges, nil},
		{"RangesRefused", testRangesRefused, nil},
		{"EmptyObject", testEmpty, nil},
		{"Destination", testDestination, nil},
		{"Pins", testPins, nil},
		{"Limit", testLimit, nil},
		{"Errors", testErrors, nil},
		{"Cancel", testCancel, nil},
		{"LiteralKeys", testLiteralKeys, nil},
		{"Concurrent", testConcurrent, nil},
		{"List", testList, func(h Harness) bool { return h.NoList }},
		{"ListPages", testListPages, func(h Harness) bool { return h.NoList }},
		{"Create", testCreate, func(h Harness) bool { return h.ReadOnly }},
		{"CreateLarge", testCreateLarge, func(h Harness) bool { return h.ReadOnly }},
		{"Abort", testAbort, func(h Harness) bool { return h.ReadOnly }},
		{"Conditions", testConditions, func(h Harness) bool { return h.ReadOnly }},
		{"Delete", testDelete, func(h Harness) bool { return h.ReadOnly }},
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			h := open(t)
			if p.skip != nil && p.skip(h) {
				t.Skip("the harness says that the store cannot do this")
			}
			p.run(t, &suite{Harness: h, dir: h.Root.Join(strings.ToLower(p.name))})
		})
	}
}

type suite struct {
	Harness
	dir object.Location
}

// Bytes gives n reproducible bytes.
func Bytes(n int) []byte {
	out := make([]byte, n)
	seed := [32]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}
	_, _ = rand.NewChaCha8(seed).Read(out) // never fails
	return out
}

func (s *suite) put(t testing.TB, loc object.Location, data []byte) {
	t.Helper()
	if s.Put != nil {
		s.Put(t, loc, data)
		return
	}
	if _, err := s.create(t, loc, data, ""); err != nil {
		t.Fatalf("put %s: %v", loc, err)
	}
}

func (s *suite) create(t testing.TB, loc object.Location, data []byte, ifMatch string) (object.Info, error) {
	t.Helper()
	u, err := s.Store.(object.Writer).Create(t.Context(), loc, ifMatch)
	if err != nil {
		return object.Info{}, err
	}
	defer u.Abort()
	for piece := range slices.Chunk(data, 300_000) {
		if n, err := u.Write(piece); err != nil || n != len(piece) {
			return object.Info{}, fmt.Errorf("write: %d of %d: %w", n, len(piece), err)
		}
	}
	return u.Commit(t.Context())
}

func (s *suite) read(t testing.TB, loc object.Location, r object.Range, o object.ReadOptions) ([]byte, object.Info) {
	t.Helper()
	data, info, err := s.Store.Read(t.Context(), loc, r, nil, o)
	if err != nil {
		t.Fatalf("read %s [%s]: %v", loc, r, err)
	}
	return data, info
}

// wantError checks class, type, and that the text names the place.
func wantError(t testing.TB, err, class error, loc object.Location) {
	t.Helper()
	e, ok := errors.AsType[*object.Error](err)
	switch {
	case !errors.Is(err, class):
		t.Errorf("error %v, want %v", err, class)
	case !ok:
		t.Errorf("error %T, want *object.Error", err)
	case e.Location.Recorded != loc.Recorded:
		t.Errorf("error names %q, want %q", e.Location.Recorded, loc.Recorded)
	}
}

func testRanges(t *testing.T, s *suite) {
	data := Bytes(100_000)
	loc := s.dir.Join("object")
	s.put(t, loc, data)
	n := int64(len(data))
	for _, c := range []struct {
		name string
		r    object.Range
		want []byte
	}{
		{"first byte", object.Range{Off: 0, Len: 1}, data[:1]},
		{"second byte", object.Range{Off: 1, Len: 1}, data[1:2]},
		{"inside", object.Range{Off: 12_345, Len: 54_321}, data[12_345 : 12_345+54_321]},
		{"last byte", object.Range{Off: n - 1, Len: 1}, data[n-1:]},
		{"all by length", object.Range{Off: 0, Len: n}, data},
		{"whole", object.Whole, data},
		{"to the end", object.Range{Off: 99_000, Len: -1}, data[99_000:]},
		{"last byte to the end", object.Range{Off: n - 1, Len: -1}, data[n-1:]},
		{"suffix", object.Suffix(1000), data[n-1000:]},
		{"suffix of one", object.Suffix(1), data[n-1:]},
		{"suffix of all", object.Suffix(n), data},
		{"suffix over the size", object.Suffix(2 * n), data},
	} {
		got, info := s.read(t, loc, c.r, object.ReadOptions{})
		if !bytes.Equal(got, c.want) {
			t.Errorf("%s: %d bytes differ from the %d wanted", c.name, len(got), len(c.want))
		}
		if info.Size != n || info.ETag == "" || info.Location != loc {
			t.Errorf("%s: info %+v, want size %d, an ETag and location %v", c.name, info, n, loc)
		}
	}
}

func testRangesRefused(t *testing.T, s *suite) {
	loc := s.dir.Join("object")
	s.put(t, loc, Bytes(1000))
	for _, c := range []struct {
		name string
		r    object.Range
	}{
		{"zero length", object.Range{Off: 0, Len: 0}},
		{"zero length inside", object.Range{Off: 1, Len: 0}},
		{"zero length far inside", object.Range{Off: 10, Len: 0}},
		{"straddles the end", object.Range{Off: 990, Len: 11}},
		{"starts at the end", object.Range{Off: 1000, Len: 1}},
		{"beyond", object.Range{Off: 5000, Len: 10}},
		{"to the end from beyond", object.Range{Off: 5000, Len: -1}},
		{"overflows", object.Range{Off: 1 << 62, Len: 1 << 62}},
	} {
		data, _, err := s.Store.Read(t.Context(), loc, c.r, nil, object.ReadOptions{})
		if !errors.Is(err, object.ErrRange) {
			t.Errorf("%s: %d bytes, error %v, want ErrRange", c.name, len(data), err)
		}
	}
	// The store serves on afterwards.
	if got, _ := s.read(t, loc, object.Range{Off: 999, Len: 1}, object.ReadOptions{}); len(got) != 1 {
		t.Errorf("read after refusals: %d bytes", len(got))
	}
}

func testEmpty(t *testing.T, s *suite) {
	loc := s.dir.Join("empty")
	s.put(t, loc, nil)
	for _, r := range []object.Range{object.Whole, object.Suffix(8)} {
		got, info := s.read(t, loc, r, object.ReadOptions{})
		if len(got) != 0 || info.Size != 0 {
			t.Errorf("[%s]: %d bytes, size %d, want none", r, len(got), info.Size)
		}
	}
	_, _, err := s.Store.Read(t.Context(), loc, object.Range{Off: 0, Len: 1}, nil, object.ReadOptions{})
	wantError(t, err, object.ErrRange, loc)
}

func testDestination(t *testing.T, s *suite) {
	data := Bytes(5000)
	loc := s.dir.Join("object")
	s.put(t, loc, data)
	buf := bytes.Repeat([]byte{0xEE}, 200)
	got, _, err := s.Store.Read(t.Context(), loc, object.Range{Off: 7, Len: 100}, buf[:150:200], object.ReadOptions{})
	switch {
	case err != nil:
		t.Fatal(err)
	case &got[0] != &buf[0] || len(got) != 100 || !bytes.Equal(got, data[7:107]):
		t.Error("a fitting destination was not used")
	case !bytes.Equal(buf[150:], bytes.Repeat([]byte{0xEE}, 50)):
		t.Error("bytes beyond the destination's length were written")
	}
	clear(buf)
	got, _, err = s.Store.Read(t.Context(), loc, object.Suffix(180), buf[:10:200], object.ReadOptions{})
	switch {
	case err != nil:
		t.Fatal(err)
	case !bytes.Equal(got, data[5000-180:]):
		t.Error("an answer longer than the destination is wrong")
	case !bytes.Equal(buf[10:], make([]byte, 190)):
		t.Error("bytes beyond the destination's length were written")
	}
}

func testPins(t *testing.T, s *suite) {
	old := Bytes(4000)
	loc := s.dir.Join("object")
	s.put(t, loc, old)
	r := object.Range{Off: 100, Len: 50}
	_, info := s.read(t, loc, r, object.ReadOptions{Size: 4000})
	s.read(t, loc, r, object.ReadOptions{Size: 4000, ETag: info.ETag})
	s.read(t, loc, object.Suffix(10), object.ReadOptions{ETag: info.ETag})
	s.read(t, loc, object.Whole, object.ReadOptions{Size: 4000, ETag: info.ETag})

	for _, size := range []int64{3999, 4001, 120} {
		_, _, err := s.Store.Read(t.Context(), loc, r, nil, object.ReadOptions{Size: size})
		wantError(t, err, object.ErrChanged, loc)
	}
	_, _, err := s.Store.Read(t.Context(), loc, r, nil, object.ReadOptions{ETag: "0123456789abcdef0123456789abcdef"})
	wantError(t, err, object.ErrChanged, loc)

	for _, next := range [][]byte{Bytes(4001)[:4000], Bytes(120), Bytes(9000)} { // same size, shorter, longer
		s.put(t, loc, next)
		for _, r := range []object.Range{{Off: 100, Len: 50}, {Off: 100, Len: -1}, object.Suffix(10), object.Whole} {
			data, _, err := s.Store.Read(t.Context(), loc, r, nil, object.ReadOptions{Size: 4000, ETag: info.ETag})
			if len(data) != 0 {
				t.Errorf("%d bytes of another version came back", len(data))
			}
			wantError(t, err, object.ErrChanged, loc)
		}
	}
}

func testLimit(t *testing.T, s *suite) {
	loc := s.dir.Join("object")
	s.put(t, loc, Bytes(5000))
	for _, r := range []object.Range{object.Whole, {Off: 10, Len: -1}, object.Suffix(4990)} {
		_, _, err := s.Store.Read(t.Context(), loc, r, nil, object.ReadOptions{Limit: 4989})
		wantError(t, err, object.ErrTooLarge, loc)
	}
	s.read(t, loc, object.Suffix(4990), object.ReadOptions{Limit: 4990})
	s.read(t, loc, object.Range{Off: 0, Len: 5000}, object.ReadOptions{Limit: 10}) // a stated length is the caller's own
}

func testErrors(t *testing.T, s *suite) {
	loc := s.dir.Join("missing")
	for _, r := range []object.Range{object.Whole, object.Suffix(8), {Off: 5, Len: 5}} {
		_, info, err := s.Store.Read(t.Context(), loc, r, nil, object.ReadOptions{})
		wantError(t, err, object.ErrNotFound, loc)
		if info.Size >= 0 && info.ETag != "" {
			t.Errorf("info %+v of an object that is not there", info)
		}
		if err != nil && !strings.Contains(err.Error(), loc.Recorded) {
			t.Errorf("text %q does not name %s", err, loc)
		}
	}
}

func testCancel(t *testing.T, s *suite) {
	loc := s.dir.Join("object")
	s.put(t, loc, Bytes(1000))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.Store.Read(ctx, loc, object.Whole, nil, object.ReadOptions{})
	wantError(t, err, context.Canceled, loc)
	if l, ok := s.Store.(object.Lister); ok && !s.NoList {
		for _, err := range l.List(ctx, s.dir) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("list: error %v, want context.Canceled", err)
			}
		}
	}
	if w, ok := s.Store.(object.Writer); ok && !s.ReadOnly {
		if _, err := w.Create(ctx, loc, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("create: error %v, want context.Canceled", err)
		}
		if err := w.Delete(ctx, loc); !errors.Is(err, context.Canceled) {
			t.Errorf("delete: error %v, want context.Canceled", err)
		}
	}
	s.read(t, loc, object.Whole, object.ReadOptions{}) // untouched
}

// literalKeys are read back as they are: nothing is decoded, cleaned or folded.
var literalKeys = []string{
	"with space", "percent%20sign", "100%", "plus+sign", "question?mark=1&b=2", "hash#tag", "colon:semi;at@", "quote'\"`", "équipe-東京",
	"p=a%2Fb/file", "tilde~(paren)!", "back\\slash", "dot.", "UPPER/lower", "equals=a=b", "comma,star*", "brace{x}[y]<z>|^",
}

func testLiteralKeys(t *testing.T, s *suite) {
	keys := slices.Clone(literalKeys)
	if !s.PlainKeys {
		keys = append(keys, "double//slash", "dot/./dot", "end/")
	}
	for _, k := range keys {
		s.put(t, s.dir.Join(k), []byte("value of "+k))
	}
	var want []string
	for _, k := range keys {
		loc, err := object.ParseLocation(s.dir.Join(k).Recorded)
		if err != nil {
			t.Fatalf("%q: %v", k, err)
		}
		if loc.Key != s.dir.Join(k).Key {
			t.Errorf("%q parsed as key %q", k, loc.Key)
		}
		if got, _ := s.read(t, loc, object.Whole, object.ReadOptions{}); string(got) != "value of "+k {
			t.Errorf("%q holds %q", k, got)
		}
		want = append(want, loc.Key)
	}
	if s.NoList {
		return
	}
	slices.Sort(want)
	if got := s.list(t, s.dir.Join("")); !slices.Equal(got, want) {
		t.Errorf("listed %q\n  want %q", got, want)
	}
}

func (s *suite) list(t testing.TB, prefix object.Location) []string {
	t.Helper()
	var keys []string
	for info, err := range s.Store.(object.Lister).List(t.Context(), prefix) {
		if err != nil {
			t.Fatalf("list %s: %v", prefix, err)
		}
		keys = append(keys, info.Location.Key)
	}
	return keys
}

func testConcurrent(t *testing.T, s *suite) {
	data := Bytes(64_000)
	loc := s.dir.Join("object")
	s.put(t, loc, data)
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			buf := make([]byte, 4000)
			for i := range 16 {
				off := int64((g*16+i)*239) % 60_000
				got, _, err := s.Store.Read(t.Context(), loc, object.Range{Off: off, Len: 4000}, buf, object.ReadOptions{})
				if err != nil || !bytes.Equal(got, data[off:off+4000]) {
					t.Errorf("read at %d: %d bytes, error %v", off, len(got), err)
				}
			}
		})
	}
	wg.Wait()
}

func testList(t *testing.T, s *suite) {
	names := []string{"a", "a-b", "a.b", "a/1", "a/2/x", "a0", "b/1", "é", "z"}
	for i, n := range names {
		s.put(t, s.dir.Join(n+".x"), Bytes(10+i))
	}
	all := s.list(t, s.dir.Join(""))
	if len(all) != len(names) || !slices.IsSorted(all) {
		t.Errorf("listed %q: want all %d in byte order", all, len(names))
	}
	under := func(prefix string) []string {
		var out []string
		for _, k := range all {
			if strings.HasPrefix(k, s.dir.Join(prefix).Key) {
				out = append(out, k)
			}
		}
		return out
	}
	for _, p := range []string{"a", "a/", "a/2", "b", "nothing", "nothing/at/all"} {
		if got := s.list(t, s.dir.Join(p)); !slices.Equal(got, under(p)) {
			t.Errorf("prefix %q listed %q, want %q", p, got, under(p))
		}
	}
	for info, err := range s.Store.(object.Lister).List(t.Context(), s.dir.Join("a/")) {
		if err != nil {
			t.Fatal(err)
		}
		data, read := s.read(t, info.Location, object.Whole, object.ReadOptions{})
		if info.Size != int64(len(data)) || info.ETag != read.ETag || info.Modified.IsZero() {
			t.Errorf("listed %+v, read %+v", info, read)
		}
		break // stopping early is legal
	}
}

// testListPages has more objects than one page of S3 holds.
func testListPages(t *testing.T, s *suite) {
	const n = 1005
	var wg sync.WaitGroup
	for g := range 5 {
		wg.Go(func() {
			for i := g; i < n; i += 5 {
				s.put(t, s.dir.Join(fmt.Sprintf("%04d", i)), []byte{byte(i)})
			}
		})
	}
	wg.Wait()
	got := s.list(t, s.dir.Join(""))
	if len(got) != n || !slices.IsSorted(got) || len(slices.Compact(got)) != n {
		t.Errorf("%d keys listed, want %d, sorted, each once", len(got), n)
	}
}

func testCreate(t *testing.T, s *suite) {
	loc := s.dir.Join("folder/object")
	w := s.Store.(object.Writer)
	u, err := w.Create(t.Context(), loc, "")
	if err != nil {
		t.Fatal(err)
	}
	buf := []byte("first ")
	if _, err := u.Write(buf); err != nil {
		t.Fatal(err)
	}
	copy(buf, "XXXXXX") // the caller's buffer is its own again
	if _, err := u.Write([]byte("second")); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Store.Read(t.Context(), loc, object.Whole, nil, object.ReadOptions{})
	wantError(t, err, object.ErrNotFound, loc) // nothing before Commit
	info, err := u.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u.Abort() // without effect
	data, read := s.read(t, loc, object.Whole, object.ReadOptions{Size: info.Size, ETag: info.ETag})
	if string(data) != "first second" || info.Size != 12 || info.Location != loc || info.ETag != read.ETag {
		t.Errorf("holds %q, committed %+v, read %+v", data, info, read)
	}
	if _, err := u.Write([]byte("more")); err == nil {
		t.Error("a write after Commit passed")
	}
	if _, err := u.Commit(t.Context()); err == nil {
		t.Error("a second Commit passed")
	}
	s.put(t, loc, []byte("over"))
	if data, _ := s.read(t, loc, object.Whole, object.ReadOptions{}); string(data) != "over" {
		t.Errorf("after overwriting: %q", data)
	}
}

func testCreateLarge(t *testing.T, s *suite) {
	size := s.Large
	if size == 0 {
		size = 1 << 20
	}
	data := Bytes(size)
	loc := s.dir.Join("large")
	info, err := s.create(t, loc, data, "")
	if err != nil {
		t.Fatal(err)
	}
	got, read := s.read(t, loc, object.Whole, object.ReadOptions{})
	if !bytes.Equal(got, data) || read.ETag != info.ETag || info.Size != int64(size) {
		t.Errorf("%d bytes back of %d, committed %+v, read %+v", len(got), size, info, read)
	}
	// Conditions hold for uploads in parts too, and a refused one leaves what was there.
	if _, err = s.create(t, loc, Bytes(size+1), "*"); !errors.Is(err, object.ErrExists) {
		t.Errorf("created over an object that must not exist: %v", err)
	}
	s.read(t, loc, object.Suffix(1), object.ReadOptions{ETag: info.ETag})
}

func testAbort(t *testing.T, s *suite) {
	size := s.Large
	if size == 0 {
		size = 1 << 20
	}
	for _, n := range []int{10, size} {
		loc := s.dir.Join(fmt.Sprint(n))
		u, err := s.Store.(object.Writer).Create(t.Context(), loc, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Write(Bytes(n)); err != nil {
			t.Fatal(err)
		}
		u.Abort()
		u.Abort()
		if _, err := u.Commit(t.Context()); err == nil {
			t.Error("Commit after Abort passed")
		}
		_, _, err = s.Store.Read(t.Context(), loc, object.Whole, nil, object.ReadOptions{})
		wantError(t, err, object.ErrNotFound, loc)
	}
	if !s.NoList {
		if left := s.list(t, s.dir.Join("")); len(left) != 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

func testConditions(t *testing.T, s *suite) {
	loc := s.dir.Join("object")
	first, err := s.create(t, loc, []byte("one"), "*")
	if err != nil {
		t.Fatalf("must not exist, does not: %v", err)
	}
	_, err = s.create(t, loc, []byte("two"), "*")
	wantError(t, err, object.ErrExists, loc)
	second, err := s.create(t, loc, []byte("three"), first.ETag)
	if err != nil {
		t.Fatalf("right ETag: %v", err)
	}
	_, err = s.create(t, loc, []byte("four"), first.ETag)
	wantError(t, err, object.ErrChanged, loc)
	_, err = s.create(t, s.dir.Join("absent"), []byte("five"), first.ETag)
	wantError(t, err, object.ErrChanged, s.dir.Join("absent"))
	if data, _ := s.read(t, loc, object.Whole, object.ReadOptions{ETag: second.ETag}); string(data) != "three" {
		t.Errorf("holds %q", data)
	}
	// Of many that must be the first, one is.
	var wg sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wg.Go(func() { _, results[i] = s.create(t, s.dir.Join("race"), []byte{byte(i)}, "*") })
	}
	wg.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else if !errors.Is(err, object.ErrExists) {
			t.Errorf("loser's error %v, want ErrExists", err)
		}
	}
	if won != 1 {
		t.Errorf("%d writers created the object that must not exist", won)
	}
}

func testDelete(t *testing.T, s *suite) {
	w := s.Store.(object.Writer)
	loc := s.dir.Join("folder/object")
	s.put(t, loc, []byte("x"))
	for range 2 { // the second finds nothing, which is no error
		if err := w.Delete(t.Context(), loc); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.Store.Read(t.Context(), loc, object.Whole, nil, object.ReadOptions{})
		wantError(t, err, object.ErrNotFound, loc)
	}
}
