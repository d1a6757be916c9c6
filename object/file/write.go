package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/lakescan/lakescan/object"
)

// Temporary files are named .NAME.RANDOM.lakescan-tmp, in the folder of the target.
const tempSuffix = ".lakescan-tmp"

func isTemp(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, tempSuffix)
}

// Create makes missing folders and opens a temporary file beside the target.
func (s *Store) Create(ctx context.Context, loc object.Location, ifMatch string) (object.Upload, error) {
	u, err := s.create(ctx, loc, ifMatch)
	if err != nil {
		return nil, object.Fail(ctx, "create", loc, object.Range{}, classify(err))
	}
	return u, nil
}

func (s *Store) create(ctx context.Context, loc object.Location, ifMatch string) (*upload, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name, err := s.path(loc)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(loc.Key, "/") {
		return nil, fmt.Errorf("%w: %q names a folder", object.ErrInvalid, loc.Key)
	}
	dir, base := path.Split(name)
	if dir = path.Clean(dir); dir == "" {
		dir = "."
	}
	if err := s.mkdirAll(dir); err != nil {
		return nil, err
	}
	temp := path.Join(dir, "."+base+"."+rand.Text()+tempSuffix)
	f, err := s.open(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &upload{store: s, ctx: ctx, loc: loc, ifMatch: ifMatch, f: f, dir: dir, temp: temp, target: name}, nil
}

// Delete removes a file; a missing one is no error, a folder is refused.
func (s *Store) Delete(ctx context.Context, loc object.Location) error {
	name, err := s.path(loc)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = s.removeFile(name)
	}
	return object.Fail(ctx, "delete", loc, object.Range{}, classify(err))
}

func (s *Store) removeFile(name string) error {
	st, err := s.lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.IsDir():
		return fmt.Errorf("%w: a folder", object.ErrInvalid)
	}
	if err := s.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

type upload struct {
	store             *Store
	ctx               context.Context
	loc               object.Location
	ifMatch           string
	f                 *os.File // nil once ended
	dir, temp, target string
	err               error // of the first failed Write; Commit refuses
}

func (u *upload) Write(p []byte) (int, error) {
	err := u.ctx.Err()
	n := 0
	switch {
	case u.f == nil:
		err = fmt.Errorf("%w: write after the end", object.ErrInvalid)
	case u.err != nil:
		err = u.err
	case err == nil:
		n, err = u.f.Write(p)
	}
	if err != nil {
		u.err = object.Fail(u.ctx, "write", u.loc, object.Range{}, classify(err))
		return n, u.err
	}
	return n, nil
}

// Commit syncs the bytes, checks the condition under the folder's lock and publishes.
func (u *upload) Commit(ctx context.Context) (object.Info, error) {
	info, err := u.commit(ctx)
	if err != nil {
		u.Abort()
		return object.Info{Location: u.loc, Size: -1}, object.Fail(ctx, "commit", u.loc, object.Range{}, classify(err))
	}
	return info, nil
}

func (u *upload) commit(ctx context.Context) (object.Info, error) {
	switch {
	case u.f == nil:
		return object.Info{}, fmt.Errorf("%w: commit after the end", object.ErrInvalid)
	case u.err != nil:
		return object.Info{}, u.err
	case ctx.Err() != nil:
		return object.Info{}, ctx.Err()
	}
	if err := u.f.Sync(); err != nil {
		return object.Info{}, err
	}
	st, err := u.f.Stat()
	if err != nil {
		return object.Info{}, err
	}
	if err := u.publish(); err != nil {
		return object.Info{}, err
	}
	err = u.f.Close()
	u.f = nil
	return infoOf(u.loc, st), err
}

func (u *upload) publish() error {
	s := u.store
	dir, err := s.open(u.dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer dir.Close() // the lock ends here
	if u.ifMatch != "" {
		if err := lockDir(dir); err != nil {
			return err
		}
		st, err := s.stat(u.target)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		found := ""
		if err == nil {
			found = etag(st)
		}
		if err := object.CheckCondition(u.ifMatch, err == nil, found); err != nil {
			return err
		}
	}
	if err := u.move(); err != nil {
		return err
	}
	// The data is synced and named; a folder that cannot be synced (some network file systems) costs durability of the name.
	_ = dir.Sync()
	return nil
}

// move names the file. For "must not exist" a hard link is atomic against writers that know no lock; where links are not
// supported, the lock alone has to do.
func (u *upload) move() error {
	s := u.store
	if u.ifMatch == "*" {
		err := s.link(u.temp, u.target)
		if err == nil {
			return s.remove(u.temp)
		}
		if errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return s.rename(u.temp, u.target)
}

// Abort removes the temporary file.
func (u *upload) Abort() {
	if u.f == nil {
		return
	}
	u.f.Close()
	u.f = nil
	_ = u.store.remove(u.temp) // best effort: a left-over is hidden from listings
}
