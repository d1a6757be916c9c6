package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Classes of errors: a text that does not parse, and a tree that does not fit the schema.
var (
	ErrSyntax = errors.New("expr: syntax error")
	ErrBind   = errors.New("expr: does not fit the schema")
)

// SyntaxError is a fault in the text; it is ErrSyntax.
type SyntaxError struct {
	Text   string
	Offset int // in bytes
	Msg    string
}

func (e *SyntaxError) Error() string {
	at := min(e.Offset, len(e.Text))
	near := e.Text[at:]
	if len(near) > 20 {
		near = strings.ToValidUTF8(near[:20], "") + "…"
	}
	where := fmt.Sprintf("near %q", near)
	if near == "" {
		where = "at the end"
	}
	return fmt.Sprintf("filter: column %d, %s: %s", utf8.RuneCountInString(e.Text[:at])+1, where, e.Msg)
}

func (e *SyntaxError) Unwrap() error { return ErrSyntax }

// BindError is a name or a literal that does not fit the schema; it is ErrBind.
type BindError struct {
	Column     string   // as written
	Msg        string   // what is wrong
	Candidates []string // the columns an ambiguous name may mean
	Near       []string // the nearest names of an unknown one
}

func (e *BindError) Error() string {
	s := fmt.Sprintf("filter: column %s: %s", e.Column, e.Msg)
	switch {
	case len(e.Candidates) > 0:
		s += ": " + strings.Join(e.Candidates, ", ")
	case len(e.Near) > 0:
		s += ": did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return s
}

func (e *BindError) Unwrap() error { return ErrBind }

// Nearest returns the at most three names closest to name by edit distance, ignoring case, nearest first; names
// farther than a third of the length (at least two edits) are left out.
func Nearest(name string, names []string) []string {
	type near struct {
		name string
		d    int
	}
	low := strings.ToLower(name)
	limit := max(2, utf8.RuneCountInString(name)/3)
	var found []near
	for _, n := range names {
		if d := distance(low, strings.ToLower(n), limit); d <= limit && d < max(utf8.RuneCountInString(n), 1) {
			found = append(found, near{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.d - b.d })
	var out []string
	for _, f := range found[:min(3, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// distance is the optimal string alignment distance (edits and swaps of neighbours), or limit+1 if it is larger than limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d > limit || -d > limit {
		return limit + 1
	}
	before, prev, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return min(prev[len(y)], limit+1)
}
