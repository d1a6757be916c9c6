// Package rowsel is the algebra of row selections: which rows of a file, of a row group or of a page are wanted.
//
// Rows are numbered from 0 without an end, so that All (the zero value) and its complement need no row count; whoever knows
// the count passes it where it matters (Count, Ranges). A selection is kept as sorted disjoint ranges, or as a bitmap once
// the ranges number more than the rows they span divided by 64; which of the two it is never shows.
//
//	file    0 ........ 1000 ........ 2000      positions absolute, as in Task.Select
//	group             [0 ........ 1000)        Cut(1000, 1000): relative to the row group
//	pages             |0   |300  |600  |       Pages: a column's own page starts
//
// Everything here is pure. A Selection is immutable and shared freely by goroutines; slices handed in by FromWords belong to it.
package rowsel
