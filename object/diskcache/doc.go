// Package diskcache keeps ranges of objects on disk, so that a second process, or a second day, asks the store for less.
//
// # When an entry answers
//
// Entries are keyed by the store's address, the object's location, its ETag and its size. A read is answered from disk only if it says which
// object it means: by ETag, by size (Iceberg's manifests record it), or by ReadOptions.Immutable. Whatever may be replaced in place (a version
// hint, a file named by hand) always goes to the store. An answer from disk has Info.Cached set and the ETag of when it was written, which pins
// the reads that follow it: versions cannot mix. When the store says that an object has changed or has gone, all its entries go too.
//
// # What is on disk
//
//	DIR/v1/HH/HASH/ETAG-SIZE-OFF-LEN     HASH of address and location, HH its first two digits
//	DIR/v1/tmp/…                         being written
//
// An entry is a header (magic, version, location, ETag, place, a CRC of each block of 64 KiB, a CRC of the header) and the bytes. It is written to a
// temporary name and renamed, so nobody sees half of one; what a crash or a bad disk leaves is found by the checksums, is a miss, and is
// removed. Nothing is synced: losing an entry costs a request.
//
// # Several processes
//
// The directory is the only state that is shared. Entries are looked up in it, not in an index, so one process sees what another wrote at
// once. Each counts what it writes and looks at the whole directory again after a sixteenth of the limit: the bytes on disk are bounded by the limit
// and a sixteenth of it for each further process. What was used longest ago goes first.
//
// # Failure
//
// A disk that cannot be read is a miss; one that cannot be written (full, read-only) stops being written for a minute. A scan never fails
// because of its cache. There is no goroutine, and nothing to close. A Cache is safe for concurrent use.
package diskcache
