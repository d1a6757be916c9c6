package draw

import "math"

// Color is a colour by its job; a Theme gives it a value.
type Color int

// The jobs. Series colours follow from Series0.
const (
	Paper   Color = iota // behind everything
	Ink                  // words, axes
	Muted                // lesser words
	Grid                 // lines behind the data
	Wait                 // of a waterfall: waits for a slot
	Turn                 // of a waterfall: ready, waits for its turn
	Series0              // and the following
)

// SeriesColors is how many there are; more series take them again, with another marker.
const SeriesColors = 6

// Of gives the colour of the n-th series.
func Of(n int) Color { return Series0 + Color(n%SeriesColors) }

// Point in a picture: to the right and down, in CSS pixels.
type Point struct{ X, Y float64 }

// Anchor of a text: which part of it lies at its point.
type Anchor int

// Anchors.
const (
	Start Anchor = iota
	Middle
	End
)

// Picture is a list of shapes, the later ones above. Its zero value is empty.
type Picture struct {
	W, H   float64
	Title  string // told to those who do not see it
	shapes []shape
}

type shapeKind int

const (
	lineShape shapeKind = iota
	areaShape
	textShape
)

type shape struct {
	kind    shapeKind
	points  []Point
	color   Color
	width   float64 // of a line
	dash    bool
	opacity float64 // 0 = 1
	text    string
	size    float64
	anchor  Anchor
	bold    bool
	turn    bool   // read from below to above
	tip     string // shown when pointed at
}

// Line through points.
func (p *Picture) Line(c Color, width float64, points ...Point) {
	p.shapes = append(p.shapes, shape{kind: lineShape, points: points, color: c, width: width})
}

// Dashed line through points.
func (p *Picture) Dashed(c Color, width float64, points ...Point) {
	p.shapes = append(p.shapes, shape{kind: lineShape, points: points, color: c, width: width, dash: true})
}

// Area within points. A tip is shown where the page allows it.
func (p *Picture) Area(c Color, opacity float64, tip string, points ...Point) {
	p.shapes = append(p.shapes, shape{kind: areaShape, points: points, color: c, opacity: opacity, tip: tip})
}

// Rect is an area with upright sides.
func (p *Picture) Rect(c Color, opacity float64, tip string, x, y, w, h float64) {
	p.Area(c, opacity, tip, Point{x, y}, Point{x + w, y}, Point{x + w, y + h}, Point{x, y + h})
}

// Text on one line; its base line is at y.
func (p *Picture) Text(c Color, size float64, a Anchor, x, y float64, text string) {
	p.shapes = append(p.shapes, shape{kind: textShape, points: []Point{{x, y}}, color: c, size: size, anchor: a, text: text})
}

// Bold text on one line.
func (p *Picture) Bold(c Color, size float64, a Anchor, x, y float64, text string) {
	p.shapes = append(p.shapes, shape{kind: textShape, points: []Point{{x, y}}, color: c, size: size, anchor: a, text: text, bold: true})
}

// Upright text is read from below to above; x, y is the middle of its base line.
func (p *Picture) Upright(c Color, size, x, y float64, text string) {
	p.shapes = append(p.shapes, shape{kind: textShape, points: []Point{{x, y}}, color: c, size: size, anchor: Middle, text: text, turn: true})
}

// Mark is a small figure around a point: disc, square, triangle, diamond, inverted triangle, hexagon by number.
func (p *Picture) Mark(c Color, n int, at Point, r float64, tip string) {
	sides, turn := 20, 0.0
	switch n % 6 {
	case 1:
		sides, turn, r = 4, math.Pi/4, r*1.2
	case 2:
		sides, turn, r = 3, -math.Pi/2, r*1.35
	case 3:
		sides, turn, r = 4, 0, r*1.3
	case 4:
		sides, turn, r = 3, math.Pi/2, r*1.35
	case 5:
		sides, turn, r = 6, 0, r*1.15
	}
	around := func(r float64) []Point {
		out := make([]Point, sides)
		for i := range out {
			a := turn + 2*math.Pi*float64(i)/float64(sides)
			out[i] = Point{at.X + r*math.Cos(a), at.Y + r*math.Sin(a)}
		}
		return out
	}
	p.Area(Paper, 1, "", around(r+1.6)...)
	p.Area(c, 1, tip, around(r)...)
}
