package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/lakescan/lakescan/object"
)

// piece is what one system call reads at most, so that a context is looked at now and then.
const piece = 8 << 20

// Config of a Store.
type Config struct {
	// Root confines the store to one folder: nothing outside is opened, whatever symbolic links say. "" = no bounds. Set it
	// where tables come from strangers: a manifest may name any path.
	Root string
}

// Store reads and writes local files.
type Store struct {
	root string // absolute, with a trailing slash; "" = none
	dir  *os.Root
}

// New opens the root, if there is one.
func New(cfg Config) (*Store, error) {
	if cfg.Root == "" {
		return &Store{}, nil
	}
	abs, err := filepath.Abs(cfg.Root)
	if err != nil {
		return nil, fmt.Errorf("file: root: %w", err)
	}
	dir, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("file: root: %w", err)
	}
	return &Store{root: strings.TrimSuffix(filepath.ToSlash(abs), "/") + "/", dir: dir}, nil
}

// Close releases the root.
func (s *Store) Close() error {
	if s.dir == nil {
		return nil
	}
	return s.dir.Close()
}

// path turns a location into a name for the methods below: absolute, or relative to the root.
func (s *Store) path(loc object.Location) (string, error) {
	switch {
	case loc.Scheme == "file" && loc.Bucket != "":
		return "", fmt.Errorf("%w: %q names the host %q: only local files are read", object.ErrInvalid, loc.Recorded, loc.Bucket)
	case loc.Scheme != "file" || !strings.HasPrefix(loc.Key, "/"):
		return "", fmt.Errorf("%w: %q is no local file", object.ErrInvalid, loc.Recorded)
	case s.dir == nil:
		return filepath.FromSlash(loc.Key), nil
	}
	rel, ok := strings.CutPrefix(filepath.ToSlash(filepath.Clean(loc.Key))+"/", s.root)
	if !ok {
		return "", fmt.Errorf("%w: outside of the root %s", object.ErrDenied, s.root)
	}
	if rel = strings.TrimSuffix(rel, "/"); rel == "" {
		rel = "."
	}
	return rel, nil
}

func (s *Store) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if s.dir != nil {
		return s.dir.OpenFile(name, flag, perm)
	}
	return os.OpenFile(name, flag, perm)
}

func (s *Store) stat(name string) (fs.FileInfo, error) {
	if s.dir != nil {
		return s.dir.Stat(name)
	}
	return os.Stat(name)
}

// AtHand is true: files lie on this machine, as far as anybody can tell.
func (s *Store) AtHand(object.Location, object.Range, object.ReadOptions) bool { return true }

// Read reads a range with one open, two stats and the reads.
func (s *Store) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	data, info, err := s.read(ctx, loc, r, dst, o)
	if err != nil {
		err = object.Fail(ctx, "read", loc, r, classify(err))
	}
	return data, info, err
}

func (s *Store) read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	none := object.Info{Location: loc, Size: -1}
	if err := ctx.Err(); err != nil {
		return nil, none, err
	}
	if err := r.Check(); err != nil {
		return nil, none, err
	}
	f, info, err := s.openRegular(loc)
	if err != nil {
		return nil, none, err
	}
	defer f.Close()
	if err := o.Verify(info); err != nil {
		return nil, info, err
	}
	off, n, err := r.Resolve(info.Size)
	if err != nil {
		return nil, info, err
	}
	if err := o.Admit(r, n); err != nil {
		return nil, info, err
	}
	out := object.Buffer(dst, n)
	for done := int64(0); done < n; {
		m, err := f.ReadAt(out[done:min(n, done+piece)], off+done)
		done += int64(m)
		switch {
		case done == n:
		case errors.Is(err, io.EOF):
			return out[:done], info, fmt.Errorf("%w: cut to %d bytes", object.ErrChanged, off+done)
		case err != nil:
			return out[:done], info, err
		}
		if err := ctx.Err(); err != nil {
			return out[:done], info, err
		}
	}
	after, err := f.Stat()
	if err != nil {
		return out[:0], info, err
	}
	if etag(after) != info.ETag {
		return out[:0], info, fmt.Errorf("%w: written during the read", object.ErrChanged)
	}
	return out, info, nil
}

// openRegular refuses folders, devices and pipes before opening: the latter would block.
func (s *Store) openRegular(loc object.Location) (*os.File, object.Info, error) {
	name, err := s.path(loc)
	if err != nil {
		return nil, object.Info{}, err
	}
	st, err := s.stat(name)
	if err != nil {
		return nil, object.Info{}, err
	}
	if !st.Mode().IsRegular() {
		return nil, object.Info{}, fmt.Errorf("%w: not a regular file (%s)", object.ErrNotFound, st.Mode().Type())
	}
	f, err := s.open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, object.Info{}, err
	}
	if st, err = f.Stat(); err != nil {
		f.Close()
		return nil, object.Info{}, err
	}
	return f, infoOf(loc, st), nil
}

func infoOf(loc object.Location, st fs.FileInfo) object.Info {
	return object.Info{Location: loc, Size: st.Size(), ETag: etag(st), Modified: st.ModTime()}
}

func etag(st fs.FileInfo) string {
	return strconv.FormatInt(st.ModTime().UnixNano(), 36) + "-" + strconv.FormatInt(st.Size(), 36) + "-" + strconv.FormatUint(inode(st), 36)
}

// classify maps system errors to the classes of package object.
func classify(err error) error {
	class := object.ErrUnavailable // EIO, EMFILE, ESTALE of a network file system, …
	switch {
	case err == nil || hasClass(err):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		class = object.ErrNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), strings.Contains(err.Error(), "path escapes from parent"):
		class = object.ErrDenied
	case errors.Is(err, fs.ErrExist):
		class = object.ErrExists
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTEMPTY):
		class = object.ErrInvalid
	}
	return fmt.Errorf("%w: %w", class, err)
}

func hasClass(err error) bool {
	for _, c := range []error{
		object.ErrNotFound, object.ErrDenied, object.ErrChanged, object.ErrRange, object.ErrTooLarge, object.ErrExists,
		object.ErrInvalid, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}
