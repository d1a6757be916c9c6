// Package file is a store of local files: the scheme file and absolute paths.
//
// A pin is made of modification time, size and inode, taken before and after each read; so a file replaced or truncated
// in between is object.ErrChanged, while a rewrite in place within one clock tick, to the same size, goes unseen. Files
// of tables are immutable, so this is a guard, not a lock.
//
// Create writes a hidden temporary file beside the target (listings pass over it) and publishes it by link or rename after a
// sync; conditions are checked under an advisory lock on the folder, which holds between processes on Unix.
//
// A local read cannot be cancelled in the kernel: contexts are looked at between pieces of 8 MiB. A Store is safe for
// concurrent use and starts no goroutine.
package file
