package draw

import (
	"fmt"
	"math"
)

// Bar is a stretch of time of one row.
type Bar struct {
	From, To float64
	Kind     int // index into Waterfall.Kinds
}

// Kind of bars, explained above the rows.
type Kind struct {
	Name  string
	Color Color
}

// Waterfall shows rows of bars over time, the first row on top.
type Waterfall struct {
	Title    string
	Subtitle string
	Label    string // of time, with its unit
	Rows     [][]Bar
	RowNames func(i int) string
	Kinds    []Kind
	Max      float64 // end of time; 0 = by the bars
	RowLabel string
	Notes    []Note
}

// Note names a stretch of time in which no row has a bar.
type Note struct {
	From, To float64
	Text     string
}

// Draw makes the picture; rows are thinner the more there are.
func (w *Waterfall) Draw() *Picture {
	row := min(max(300/float64(max(len(w.Rows), 1)), 2.5), 14)
	const left, top, below = 58.0, 82.0, 48.0
	pic := &Picture{W: plotWidth, H: top + row*float64(len(w.Rows)) + below, Title: w.Title + ". " + w.Subtitle}
	pic.Bold(Ink, 16, Start, 8, 22, w.Title)
	pic.Text(Muted, textSize, Start, 8, 42, w.Subtitle)
	x := 8.0
	for _, k := range w.Kinds {
		if k.Name == "" {
			continue
		}
		pic.Rect(k.Color, 1, "", x, 53, 14, 12)
		pic.Text(Ink, 12, Start, x+19, 63, k.Name)
		x += 19 + TextWidth(k.Name, 12, false)*1.1 + 12 // a page's font may be wider than the one measured
	}
	end := w.Max
	for _, r := range w.Rows {
		for _, b := range r {
			if w.Max == 0 {
				end = max(end, b.To)
			}
		}
	}
	f := &frame{x0: left, x1: plotWidth - 16, right: max(end, 1e-9)}
	bottom := top + row*float64(len(w.Rows))
	axis := Axis{}
	for _, v := range ticks(0, f.right, axis) {
		at := f.x(v)
		pic.Line(Grid, 1, Point{at, top - 6}, Point{at, bottom})
		pic.Text(Muted, textSize, Middle, at, bottom+19, Short(math.Round(v*1e6)/1e6))
	}
	for _, n := range w.Notes {
		pic.Rect(Grid, 0.5, n.Text, f.x(n.From), top, f.x(n.To)-f.x(n.From), bottom-top)
		if f.x(n.To)-f.x(n.From) > TextWidth(n.Text, textSize, false)+12 {
			pic.Text(Muted, textSize, Start, f.x(n.From)+8, top+18, n.Text)
		}
	}
	for i, r := range w.Rows {
		y := top + row*float64(i)
		for _, b := range r {
			if b.To <= b.From {
				continue
			}
			k := w.Kinds[b.Kind]
			pic.Rect(k.Color, 1, fmt.Sprintf("%s: %s %s", w.RowNames(i), k.Name, Short(b.To-b.From)), f.x(b.From), y+row*0.1, max(f.x(b.To)-f.x(b.From), 0.6), row*0.8)
		}
	}
	pic.Line(Ink, 1.2, Point{left, bottom}, Point{f.x1, bottom})
	pic.Text(Ink, textSize, Middle, (left+f.x1)/2, bottom+40, w.Label)
	pic.Upright(Ink, textSize, 16, (top+bottom)/2, w.RowLabel)
	steps := []int{1, 2, 5, 10, 20, 50, 100, 200, 500}
	step := steps[0]
	for _, step = range steps {
		if float64(step)*row >= 22 {
			break
		}
	}
	for i := 0; i < len(w.Rows); i += step {
		pic.Text(Muted, 12, End, left-8, top+row*(float64(i)+0.5)+4.5, w.RowNames(i))
	}
	return pic
}
