// Package build turns the pages of a column chunk into Arrow arrays.
//
// A Column is a cursor over one flat chunk: Append decodes the next rows, Skip passes over rows (whole pages without
// decompressing them), Finish hands out what was appended. It stops and resumes anywhere, within a page too, so a row
// group of any size is read in windows at the cost of one page and one dictionary a column.
//
// Page bytes go straight into Arrow buffers: fixed-width pages are decompressed in place, definition levels become the
// validity bitmap, dictionary indices are unpacked and looked up in one pass, conversions happen while values are copied.
//
// A Column belongs to one goroutine at a time. Arrays handed out are the caller's and immutable. Memory of arrays comes
// from the allocator given; scratch memory is pooled in the process and charged to the account given.
package build
