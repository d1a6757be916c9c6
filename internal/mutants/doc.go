// Command mutants makes small wrong changes to the tree, one at a time, and demands that the tests catch each.
//
// A mutant is a text file of this folder, *.mutant, embedded in the program. Lines of a header (name, file, test), then the text
// to replace and what replaces it:
//
//	name: stop at the first empty slot
//	file: source/window.go
//	test: ./source -run ^TestI2_SameRowsAtEveryDepth$
//	--- old
//	the text as it stands in the file, whole lines, exactly once
//	+++ new
//	the wrong text
//
// file is a path from the root of the module; test is a package of it, -run with a pattern, and flags of the build such as
// -tags=duckdb_arrow. Lines before the first key that start with # are comments.
//
// The tree is never touched: the changed file lies in a temporary directory and the build is told by go test -overlay. Five ends are
// possible. killed: the package builds with the change and the test fails. SURVIVED: the test passes. NO LONGER APPLIES: the old text
// is not there exactly once, so the mutant must be written anew. DOES NOT BUILD: a compile error is not a test that failed, nor is a
// test that does not exist. FAILS UNCHANGED: the test fails without the change too, so it shows nothing. A line is printed for each
// with its seconds, then one line for all; the exit status is 1 unless all that were tried are killed.
//
// Without arguments it tries as many as fit into a minute and a half, beginning at another one each day; MUTANTS=all in the environment tries
// all. Arguments choose the mutants whose file name contains one of them. Run it from the root of the module. One mutant runs
// at a time; an interrupt ends the test that runs and removes what was written.
package main
