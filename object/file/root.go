package file

import (
	"io/fs"
	"os"
)

// The same calls, confined or not.

func (s *Store) lstat(name string) (fs.FileInfo, error) {
	if s.dir != nil {
		return s.dir.Lstat(name)
	}
	return os.Lstat(name)
}

func (s *Store) mkdirAll(name string) error {
	if s.dir != nil {
		return s.dir.MkdirAll(name, 0o777)
	}
	return os.MkdirAll(name, 0o777)
}

func (s *Store) remove(name string) error {
	if s.dir != nil {
		return s.dir.Remove(name)
	}
	return os.Remove(name)
}

func (s *Store) link(from, to string) error {
	if s.dir != nil {
		return s.dir.Link(from, to)
	}
	return os.Link(from, to)
}

func (s *Store) rename(from, to string) error {
	if s.dir != nil {
		return s.dir.Rename(from, to)
	}
	return os.Rename(from, to)
}
