//go:build unix

package file

import (
	"io/fs"
	"os"
	"syscall"
)

func inode(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino) //nolint:unconvert // the width differs between systems
	}
	return 0
}

// lockDir takes the advisory lock of a folder, released by Close or with the process. It belongs to the open file, so it also
// holds between goroutines.
func lockDir(dir *os.File) error {
	for {
		err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			return err
		}
	}
}
