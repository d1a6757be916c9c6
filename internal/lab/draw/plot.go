package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Datum is a point of a series with the range it may lie in; Lo = Hi = 0 means none.
type Datum struct {
	X, Y, Lo, Hi float64
	Tip          string
}

// Series is a line through points, named at its end.
type Series struct {
	Name   string
	Color  Color
	Marker int
	Data   []Datum // rising X
	Model  []Datum // a thin line beside the points
	Level  float64 // a short stroke at the right border, e.g. a limit; 0 = none
	Bare   float64 // a dotted stroke there
	Loose  bool    // points without a line between them
}

// Rule is a level line across the plot.
type Rule struct {
	Y    float64
	Name string
}

// Scale of an axis.
type Scale int

// Scales.
const (
	Linear Scale = iota
	Log
	Slots // X counts places, named by Axis.Names
)

// Axis with its unit in the label.
type Axis struct {
	Label string
	Scale Scale
	Names []string  // of Slots
	Place []float64 // of Names, rising; nil = 0, 1, 2, …
	Min   float64   // least end; Linear takes it as it is, Log when > 0
	Max   float64   // greatest end; 0 = by the data
	Ticks []float64
	Text  func(float64) string // of a tick; nil = short decimal
}

// Plot of series over two axes.
type Plot struct {
	Title    string
	Subtitle string
	X, Y     Axis
	Series   []Series
	Rules    []Rule
}

// Size of every plot, in CSS pixels: wide enough for a desk, and readable when a telephone shows it at two thirds.
const (
	plotWidth  = 560.0
	plotHeight = 384.0
	textSize   = 13.0
)

// frame maps values to places.
type frame struct {
	x0, x1, y0, y1         float64 // of the picture
	left, right, low, high float64 // of the axes, transformed
	xLog, yLog             bool
}

func lg(v float64, on bool) float64 {
	if on {
		return math.Log2(max(v, 1e-12))
	}
	return v
}

func (f *frame) x(v float64) float64 {
	return f.x0 + (lg(v, f.xLog)-f.left)/(f.right-f.left)*(f.x1-f.x0)
}

func (f *frame) y(v float64) float64 {
	t := (lg(v, f.yLog) - f.low) / (f.high - f.low)
	return f.y0 - min(max(t, -0.02), 1.02)*(f.y0-f.y1)
}

// Draw makes the picture.
func (p *Plot) Draw() *Picture {
	pic := &Picture{W: plotWidth, H: plotHeight, Title: p.Title + ". " + p.Subtitle}
	label := 0.0
	for _, s := range p.Series {
		if !s.Loose { // those stand beside their last point
			label = max(label, TextWidth(s.Name, textSize, true))
		}
	}
	top := 34.0
	if p.Subtitle != "" {
		top += 20
	}
	f := &frame{x0: 58, x1: plotWidth - label - 20, y0: plotHeight - 50, y1: top + 14}
	p.span(f)
	pic.Bold(Ink, 16, Start, 8, 22, p.Title)
	pic.Text(Muted, textSize, Start, 8, 42, p.Subtitle)
	p.grid(pic, f)
	for _, r := range p.Rules {
		pic.Dashed(Ink, 1.4, Point{f.x0, f.y(r.Y)}, Point{f.x1, f.y(r.Y)})
		pic.Text(Muted, 12, Start, f.x0+6, f.y(r.Y)-6, r.Name)
	}
	for _, s := range p.Series {
		p.line(pic, f, s)
	}
	for _, s := range p.Series {
		p.marks(pic, f, s)
	}
	p.names(pic, f)
	return pic
}

// span chooses the ends of the axes.
func (p *Plot) span(f *frame) {
	f.xLog, f.yLog = p.X.Scale == Log, p.Y.Scale == Log
	xs, ys := []float64{}, []float64{}
	for _, s := range p.Series {
		for _, d := range s.Data {
			xs, ys = append(xs, d.X), append(ys, d.Y)
			if d.Hi > 0 {
				ys = append(ys, d.Lo, d.Hi)
			}
		}
		for _, d := range s.Model {
			ys = append(ys, d.Y)
		}
		for _, v := range []float64{s.Level, s.Bare} {
			if v > 0 {
				ys = append(ys, v)
			}
		}
	}
	for _, r := range p.Rules {
		ys = append(ys, r.Y)
	}
	if p.X.Scale == Slots {
		f.left, f.right = p.X.place(0)-0.4, p.X.place(len(p.X.Names)-1)+0.4
	} else {
		f.left, f.right = ends(xs, p.X)
	}
	f.low, f.high = ends(ys, p.Y)
}

func ends(values []float64, a Axis) (low, high float64) {
	log := a.Scale == Log
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) || log && v <= 0 })
	if len(values) == 0 {
		return 0, 1
	}
	low, high = slices.Min(values), slices.Max(values)
	if log {
		if a.Min > 0 {
			low = min(low, a.Min)
		}
		l, h := lg(low, true), lg(high, true)
		room := max(h-l, 1) * 0.06
		return l - room, h + room
	}
	low = min(low, a.Min)
	if a.Min == 0 && low > 0 {
		low = 0
	}
	if a.Max != 0 {
		high = max(high, a.Max)
	}
	if high == low {
		high = low + 1
	}
	if a.Max == 0 {
		high += (high - low) * 0.06
	}
	return low, high
}

// ticks are round values within the axis.
func ticks(low, high float64, a Axis) []float64 {
	if len(a.Ticks) > 0 {
		return a.Ticks
	}
	var out []float64
	if a.Scale == Log {
		least, most := math.Exp2(low), math.Exp2(high)
		steps := []float64{1, 2, 5}
		if most/least > 30_000 {
			steps = []float64{1}
		}
		for e := math.Floor(math.Log10(least)); e <= math.Ceil(math.Log10(most)); e++ {
			for _, s := range steps {
				if v := s * math.Pow(10, e); v >= least*0.999 && v <= most*1.001 {
					out = append(out, v)
				}
			}
		}
		return out
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, k := range []float64{5, 2} {
		if (high-low)/(step*k) >= 4 {
			step *= k
			break
		}
	}
	for i := math.Ceil(low / step); i*step <= high*1.0001; i++ {
		out = append(out, i*step)
	}
	return out
}

// place is where the i-th name stands.
func (a Axis) place(i int) float64 {
	if i >= 0 && i < len(a.Place) {
		return a.Place[i]
	}
	return float64(i)
}

func (a Axis) text(v float64) string {
	if a.Text != nil {
		return a.Text(v)
	}
	return Short(v)
}

// Short is a number without needless places.
func Short(v float64) string {
	switch {
	case v == 0:
		return "0"
	case math.Abs(v) >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case math.Abs(v) >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	case math.Abs(v) >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func (p *Plot) grid(pic *Picture, f *frame) {
	for _, v := range ticks(f.low, f.high, p.Y) {
		y := f.y(v)
		pic.Line(Grid, 1, Point{f.x0, y}, Point{f.x1, y})
		pic.Text(Muted, textSize, End, f.x0-8, y+4.5, p.Y.text(v))
	}
	pic.Line(Ink, 1.2, Point{f.x0, f.y0}, Point{f.x1, f.y0})
	if p.X.Scale == Slots {
		for i, name := range p.X.Names {
			x := f.x(p.X.place(i))
			pic.Line(Ink, 1.2, Point{x, f.y0}, Point{x, f.y0 + 4})
			pic.Text(Muted, textSize, Middle, x, f.y0+19, name)
		}
	} else {
		for _, v := range ticks(f.left, f.right, p.X) {
			x := f.x(v)
			pic.Line(Ink, 1.2, Point{x, f.y0}, Point{x, f.y0 + 4})
			pic.Text(Muted, textSize, Middle, x, f.y0+19, p.X.text(v))
		}
	}
	pic.Text(Ink, textSize, Middle, (f.x0+f.x1)/2, f.y0+40, p.X.Label)
	pic.Upright(Ink, textSize, 16, (f.y0+f.y1)/2, p.Y.Label)
}

func (p *Plot) line(pic *Picture, f *frame, s Series) {
	if len(s.Model) > 1 {
		var points []Point
		for _, d := range s.Model {
			points = append(points, Point{f.x(d.X), f.y(d.Y)})
		}
		pic.Line(s.Color, 1, points...)
	}
	if s.Level > 0 {
		pic.Line(s.Color, 3, Point{f.x1 - 14, f.y(s.Level)}, Point{f.x1, f.y(s.Level)})
	}
	if s.Bare > 0 {
		for x := f.x1 - 14; x <= f.x1; x += 4.6 {
			pic.Line(s.Color, 3, Point{x, f.y(s.Bare)}, Point{x + 0.1, f.y(s.Bare)})
		}
	}
	if s.Loose {
		return
	}
	var points []Point
	for _, d := range s.Data {
		points = append(points, Point{f.x(d.X), f.y(d.Y)})
	}
	if len(points) > 1 {
		pic.Line(s.Color, 2.2, points...)
	}
}

func (p *Plot) marks(pic *Picture, f *frame, s Series) {
	for _, d := range s.Data {
		at := Point{f.x(d.X), f.y(d.Y)}
		if d.Hi > d.Lo {
			pic.Line(s.Color, 1.3, Point{at.X, f.y(d.Lo)}, Point{at.X, f.y(d.Hi)})
		}
		tip := d.Tip
		if tip == "" {
			tip = fmt.Sprintf("%s: %s", s.Name, Short(d.Y))
		}
		pic.Mark(s.Color, s.Marker, at, 4, tip)
	}
}

// names writes each series' name at its end, moved apart where they would touch.
func (p *Plot) names(pic *Picture, f *frame) {
	type name struct {
		y float64
		s Series
	}
	var list []name
	for _, s := range p.Series {
		if n := len(s.Data); n > 0 && s.Loose && f.x(s.Data[n-1].X) < f.x1-TextWidth(s.Name, textSize, true)-30 {
			pic.Bold(s.Color, textSize, Start, f.x(s.Data[n-1].X)+10, f.y(s.Data[n-1].Y)+4.5, s.Name)
		} else if n > 0 && s.Name != "" {
			list = append(list, name{f.y(s.Data[n-1].Y), s})
		}
	}
	slices.SortStableFunc(list, func(a, b name) int { return cmp.Compare(a.y, b.y) })
	const gap = textSize + 3
	for i := range list {
		if i > 0 {
			list[i].y = max(list[i].y, list[i-1].y+gap)
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		limit := f.y0
		if i < len(list)-1 {
			limit = list[i+1].y - gap
		}
		list[i].y = min(list[i].y, limit)
	}
	for _, n := range list {
		pic.Bold(n.s.Color, textSize, Start, f.x1+10, n.y+4.5, n.s.Name)
	}
}
