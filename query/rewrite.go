package query

import (
	"sort"
	"strings"
)

// Rewrite is a text made from another one by edits, with the way back for positions.
type Rewrite struct {
	Text   string
	pieces []piece
}

// piece maps out[at : at+n] to the original: byte by byte from orig if copied, to orig as a whole if not.
type piece struct {
	at, orig, n int
	copied      bool
}

// Edit replaces original[Start:End] by Text.
type Edit struct {
	Start, End int
	Text       string
}

// NewRewrite applies edits that do not overlap; edits at one place keep their order.
func NewRewrite(original string, edits []Edit) Rewrite {
	edits = append([]Edit(nil), edits...)
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].Start < edits[j].Start })
	var r Rewrite
	var b strings.Builder
	add := func(text string, orig int, copied bool) {
		if text != "" {
			r.pieces = append(r.pieces, piece{b.Len(), orig, len(text), copied})
			b.WriteString(text)
		}
	}
	at := 0
	for _, e := range edits {
		add(original[at:e.Start], at, true)
		add(e.Text, e.Start, false)
		at = e.End
	}
	add(original[at:], at, true)
	r.Text = b.String()
	return r
}

// Original is the offset in the original text that an offset in Text stands for.
func (r Rewrite) Original(offset int) int {
	i := sort.Search(len(r.pieces), func(i int) bool { return r.pieces[i].at > offset }) - 1
	if i < 0 {
		return offset
	}
	p := r.pieces[i]
	if p.copied {
		return p.orig + min(offset-p.at, p.n)
	}
	return p.orig
}
