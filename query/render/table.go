package render

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/mattn/go-runewidth"
)

// table draws a box when the result has ended. It keeps the first MaxRows rows and the last half of that; of the rows between
// them only those at the end of a batch are ever formatted.
type table struct {
	checked
	w     io.Writer
	o     Options
	first [][]shown
	last  [][]shown
	total int64
	buf   []byte
}

// shown is one value as it is drawn.
type shown struct {
	text string
	null bool
}

func (t *table) Begin(s *arrow.Schema) error { return t.begin(s) }

func (t *table) Write(rec arrow.RecordBatch) error {
	if err := t.check(rec); err != nil {
		return err
	}
	var fault error
	cols := bindAll(style{zone: t.o.Zone, fault: &fault}, t.schema, rec)
	n := int(rec.NumRows())
	i := 0
	for ; i < n && (t.o.MaxRows <= 0 || len(t.first) < t.o.MaxRows); i++ {
		t.first = append(t.first, t.row(cols, i))
	}
	for i = max(i, n-t.tail()); i < n; i++ {
		t.last = append(t.last, t.row(cols, i))
	}
	if over := len(t.last) - t.tail(); over > 0 {
		t.last = slices.Delete(t.last, 0, over)
	}
	if fault != nil {
		return fault
	}
	t.total += int64(n)
	return nil
}

func (t *table) tail() int { return max(t.o.MaxRows, 0) / 2 }

func (t *table) row(cols []column, i int) []shown {
	out := make([]shown, len(cols))
	for c, col := range cols {
		if isNull(col.a, i) {
			out[c] = shown{t.o.Null, true}
			continue
		}
		t.buf = col.cell(t.buf[:0], i)
		out[c] = shown{string(appendVisible(nil, t.buf)), false}
	}
	return out
}

// parts are the rows above and below the line that stands for the hidden ones.
func (t *table) parts() (above, below [][]shown, hidden int64) {
	if t.o.MaxRows <= 0 || t.total <= int64(t.o.MaxRows) {
		return t.first, nil, 0
	}
	all := append(slices.Clone(t.first), t.last...)
	above = t.first[:t.o.MaxRows-t.tail()]
	below = all[len(all)-t.tail():]
	return above, below, t.total - int64(len(above)+len(below))
}

func (t *table) Close() error {
	above, below, hidden := t.parts()
	var b strings.Builder
	if t.o.Expanded {
		t.expanded(&b, above, 1)
		if hidden > 0 {
			b.WriteString(t.dim("… " + rows(hidden) + " …\n"))
			t.expanded(&b, below, t.total-int64(len(below))+1)
		}
	} else {
		t.box(&b, above, below, hidden)
	}
	if t.total == 0 && t.o.Expanded {
		b.WriteString("0 rows\n")
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

func rows(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return Thousands(n) + " rows"
}

// Thousands writes n with commas between groups of three digits.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (t *table) dim(s string) string {
	if !t.o.Color || s == "" {
		return s
	}
	return "\x1b[2m" + s + "\x1b[0m"
}

// measure counts terminal cells. The width of ambiguous characters must not depend on the locale of a test or a build.
var measure = &runewidth.Condition{StrictEmojiNeutral: true}

func (t *table) expanded(b *strings.Builder, part [][]shown, number int64) {
	names := make([]string, t.schema.NumFields())
	width := 0
	for i, f := range t.schema.Fields() {
		names[i] = Visible(f.Name)
		width = max(width, measure.StringWidth(names[i]))
	}
	for _, row := range part {
		head := "─ row " + Thousands(number) + " "
		rule := max(0, min(max(t.o.Width, 40), 60)-measure.StringWidth(head))
		b.WriteString(t.dim(head+strings.Repeat("─", rule)) + "\n")
		for i, v := range row {
			b.WriteString(names[i] + strings.Repeat(" ", width-measure.StringWidth(names[i])) + " │ ")
			if v.null {
				b.WriteString(t.dim(v.text) + "\n")
			} else {
				b.WriteString(v.text + "\n")
			}
		}
		number++
	}
}

// boxColumn is a column that is drawn: index -1 stands for those left out.
type boxColumn struct {
	index int
	width int
	least int // cutting leaves this
	right bool
	name  string
	typ   string
}

func (t *table) box(b *strings.Builder, above, below [][]shown, hidden int64) {
	cols, all := t.layout(append(slices.Clone(above), below...))
	rule := func(left, middle, right string) {
		parts := make([]string, len(cols))
		for i, c := range cols {
			parts[i] = strings.Repeat("─", c.width+2)
		}
		b.WriteString(left + strings.Join(parts, middle) + right + "\n")
	}
	line := func(cell func(c boxColumn) string) {
		b.WriteString("│")
		for _, c := range cols {
			b.WriteString(" " + cell(c) + " │")
		}
		b.WriteString("\n")
	}
	rule("┌", "┬", "┐")
	line(func(c boxColumn) string { return pad(c.name, c.width, c.right) })
	line(func(c boxColumn) string { return t.dim(pad(c.typ, c.width, c.right)) })
	rule("├", "┼", "┤")
	draw := func(part [][]shown) {
		for _, row := range part {
			line(func(c boxColumn) string {
				if c.index < 0 {
					return "…"
				}
				v := row[c.index]
				if v.null {
					return t.dim(pad(v.text, c.width, c.right))
				}
				return pad(v.text, c.width, c.right)
			})
		}
	}
	draw(above)
	if hidden > 0 {
		inner := len(cols)*3 - 1
		for _, c := range cols {
			inner += c.width
		}
		b.WriteString("│" + t.dim(center("… "+rows(hidden)+" …", inner)) + "│\n")
		draw(below)
	}
	rule("└", "┴", "┘")
	b.WriteString(t.dim(t.foot(hidden, len(cols), all)))
}

func (t *table) foot(hidden int64, drawn int, all bool) string {
	var parts []string
	if hidden > 0 {
		parts = append(parts, rows(t.total)+" ("+Thousands(t.total-hidden)+" shown)")
	} else if t.total == 0 {
		parts = append(parts, "0 rows")
	}
	if !all {
		parts = append(parts, Thousands(int64(t.schema.NumFields()))+" columns ("+strconv.Itoa(drawn-1)+" shown; -x shows one a line)")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "\n"
}

// The least width that cutting leaves a column, the same of a head alone over values that stay whole, and the width that a text gets where columns are
// left out.
const (
	minWidth  = 6
	minHead   = 4
	cropWidth = 14
)

// whole tells values that say something else once they are cut: an id or a time without its end.
func whole(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.BOOL, arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP:
		return true
	}
	return isNumber(t)
}

// layout gives each column its natural width, cuts the widest texts and heads until all fit, or leaves out columns in the middle.
func (t *table) layout(part [][]shown) (cols []boxColumn, all bool) {
	for i, f := range t.schema.Fields() {
		c := boxColumn{index: i, right: isNumber(f.Type), name: Visible(f.Name), typ: typeName(f)}
		c.width = max(measure.StringWidth(c.name), measure.StringWidth(c.typ), 1)
		data := 0
		for _, row := range part {
			data = max(data, measure.StringWidth(row[i].text))
		}
		c.width = max(c.width, data)
		c.least = min(c.width, minWidth)
		if whole(f.Type) {
			c.least = min(c.width, max(data, minHead), max(t.o.Width-8, minWidth))
		}
		cols = append(cols, c)
	}
	if t.o.Width <= 0 || boxWidth(cols, 1<<30) <= t.o.Width {
		return cols, true
	}
	if limit := 1 << 12; boxWidth(cols, 0) <= t.o.Width {
		for boxWidth(cols, limit) > t.o.Width {
			limit--
		}
		for i, c := range cols {
			cols[i].width = c.within(limit)
		}
		return cols, true
	}
	return t.crop(cols), false
}

func (c boxColumn) within(limit int) int { return max(c.least, min(c.width, limit)) }

func boxWidth(cols []boxColumn, limit int) int {
	w := 1
	for _, c := range cols {
		w += c.within(limit) + 3
	}
	return w
}

// crop keeps columns from both ends, in turn, while they fit beside the column of dots.
func (t *table) crop(cols []boxColumn) []boxColumn {
	for i, c := range cols {
		cols[i].width = c.within(cropWidth)
	}
	left, right := 0, len(cols)
	room := t.o.Width - 1 - 4
	for left < right {
		next := left
		if left > len(cols)-right {
			next = right - 1
		}
		if room -= cols[next].width + 3; room < 0 && left > 0 {
			break
		}
		if next == left {
			left++
		} else {
			right--
		}
	}
	dots := boxColumn{index: -1, width: 1, name: "…", typ: "…"}
	return slices.Concat(cols[:left], []boxColumn{dots}, cols[right:])
}

func pad(s string, width int, right bool) string {
	if measure.StringWidth(s) > width {
		s = measure.Truncate(s, width, "…")
	}
	space := strings.Repeat(" ", max(0, width-measure.StringWidth(s)))
	if right {
		return space + s
	}
	return s + space
}

func center(s string, width int) string {
	s = pad(s, min(width, measure.StringWidth(s)), false)
	free := width - measure.StringWidth(s)
	return strings.Repeat(" ", free/2) + s + strings.Repeat(" ", free-free/2)
}
