// Package lint holds the rules of the repository that a compiler does not check, as tests: who imports whom, a doc.go in every package,
// the size of files, and words that have no place here.
package lint
