// Package canon renders Arrow data as the canonical rows of the test corpus and computes its digests, so that what a reader
// returns can be compared with results computed by other readers.
//
// The rules are those of the corpus (README.md, "Canonical rows"): a row is one line of text, its columns in schema order,
// with one spelling for every value. TypeName, AppendValue and Table follow them; Corpus finds and loads the manifest.
//
// Nothing here is fast on purpose: a Table keeps the text of every cell, since its digests are over sorted lines.
// Arrays are only read, never retained. A Table belongs to one goroutine.
package canon
