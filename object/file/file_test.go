package file_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/file"
	"github.com/lakescan/lakescan/object/objecttest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, confined := range []bool{false, true} {
		name := map[bool]string{false: "free", true: "confined"}[confined]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objecttest.Run(t, func(t *testing.T) objecttest.Harness {
				dir := t.TempDir()
				var cfg file.Config
				if confined {
					cfg.Root = dir
				}
				return objecttest.Harness{Store: open(t, cfg), Root: local(t, dir), PlainKeys: true}
			})
		})
	}
}

func open(t *testing.T, cfg file.Config) *file.Store {
	t.Helper()
	s, err := file.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func local(t *testing.T, path string) object.Location {
	t.Helper()
	loc, err := object.LocalPath(path)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestSystemErrorsBecomeClasses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, file.Config{})
	secret := filepath.Join(dir, "secret")
	write(t, secret, "x")
	if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, path string
		want       error
	}{
		{"missing", filepath.Join(dir, "none"), object.ErrNotFound},
		{"a file as a folder", filepath.Join(secret, "x"), object.ErrNotFound},
		{"a folder", dir, object.ErrNotFound},
		{"a device", "/dev/zero", object.ErrNotFound},
		{"a name too long", filepath.Join(dir, strings.Repeat("x", 5000)), object.ErrInvalid},
	}
	if os.Geteuid() != 0 { // root reads everything
		cases = append(cases, struct {
			name, path string
			want       error
		}{"no permission", secret, object.ErrDenied})
	}
	for _, c := range cases {
		_, _, err := s.Read(t.Context(), local(t, c.path), object.Whole, nil, object.ReadOptions{})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
}

// meddler is a context that does something when the store looks at it for the n-th time: at the start, then after each piece.
type meddler struct {
	context.Context
	n  int
	do func()
}

func (m *meddler) Err() error {
	if m.n--; m.n == 0 {
		m.do()
	}
	return m.Context.Err()
}

// L61 for files: what changes while it is read is an error, whether it is cut, grown, or rewritten in place.
func TestL61_ChangedDuringTheRead(t *testing.T) {
	t.Parallel()
	const size = 20 << 20 // three pieces
	for name, change := range map[string]func(string) error{
		"cut":       func(p string) error { return os.Truncate(p, 9<<20) },
		"grown":     func(p string) error { return os.Truncate(p, size+1) },
		"rewritten": func(p string) error { return os.Chtimes(p, time.Now(), time.Now().Add(time.Hour)) },
	} {
		path := filepath.Join(t.TempDir(), "f")
		write(t, path, strings.Repeat("x", size))
		s := open(t, file.Config{})
		ctx := &meddler{t.Context(), 2, func() {
			if err := change(path); err != nil {
				t.Error(err)
			}
		}}
		data, _, err := s.Read(ctx, local(t, path), object.Whole, nil, object.ReadOptions{})
		if !errors.Is(err, object.ErrChanged) {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}

// A cancel is seen between pieces.
func TestCancelBetweenPieces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, strings.Repeat("x", 20<<20))
	inner, cancel := context.WithCancel(t.Context())
	_, _, err := open(t, file.Config{}).Read(&meddler{inner, 2, cancel}, local(t, path), object.Whole, nil, object.ReadOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRootConfines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in/ok"), "ok")
	write(t, filepath.Join(dir, "out/secret"), "secret")
	if err := os.Symlink(filepath.Join(dir, "out"), filepath.Join(dir, "in/link")); err != nil {
		t.Fatal(err)
	}
	s := open(t, file.Config{Root: filepath.Join(dir, "in")})
	for path, want := range map[string]error{
		"in/ok": nil, "in/../in/ok": nil, "out/secret": object.ErrDenied, "in/link/secret": object.ErrDenied, "in/../out/secret": object.ErrDenied,
	} {
		_, _, err := s.Read(t.Context(), object.Location{Recorded: path, Scheme: "file", Key: dir + "/" + path}, object.Whole, nil, object.ReadOptions{})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if _, err := s.Create(t.Context(), local(t, filepath.Join(dir, "out/new")), ""); !errors.Is(err, object.ErrDenied) {
		t.Errorf("create outside: %v", err)
	}
}

func TestListFollowsLinksOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "table/a.parquet"), "a")
	write(t, filepath.Join(dir, "elsewhere/b.parquet"), "b")
	link(t, filepath.Join(dir, "elsewhere"), filepath.Join(dir, "table/part"))
	link(t, filepath.Join(dir, "table"), filepath.Join(dir, "table/loop"))
	link(t, filepath.Join(dir, "nowhere"), filepath.Join(dir, "table/dangling"))
	s := open(t, file.Config{})
	var got []string
	for info, err := range s.List(t.Context(), local(t, dir+"/table").Join("")) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimPrefix(info.Location.Key, dir+"/table/"))
	}
	if want := []string{"a.parquet", "part/b.parquet"}; !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Symlink(from, to); err != nil {
		t.Fatal(err)
	}
}
