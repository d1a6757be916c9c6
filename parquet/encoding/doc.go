// Package encoding decodes the encodings of Parquet data pages (apache/parquet-format, Encodings.md): the run-length and
// bit-packing hybrid, delta binary packed, byte stream split, and the copying kernels under all of them.
//
// Decoders are plain structs over bytes at hand. They are resumable, so a page can be read in pieces of any size, and they
// allocate nothing; a copy of the struct is a bookmark. Counts and lengths found in the bytes are checked against the
// bytes that are left before they are used.
//
// Kernels that use unsafe state what must hold before them and have a safe twin, which the build tag purego selects and
// tests compare with. Bytes are little-endian throughout, as in the format and in Arrow.
package encoding
