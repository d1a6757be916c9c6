package draw

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
)

func plot() *Plot {
	return &Plot{
		Title: "Time <over> depth", Subtitle: "70 files & 2 streams", X: Axis{Label: "depth", Scale: Slots, Names: []string{"0", "1", "auto"}}, Y: Axis{Label: "s", Scale: Log},
		Rules: []Rule{{Y: 2, Name: "limit"}},
		Series: []Series{
			{Name: "0 ms", Color: Of(0), Data: []Datum{{X: 0, Y: 10, Lo: 9, Hi: 11}, {X: 1, Y: 5}, {X: 2, Y: 1}}, Model: []Datum{{X: 0, Y: 9}, {X: 1, Y: 4}}, Level: 0.9},
			{Name: "50 ms", Color: Of(1), Marker: 1, Data: []Datum{{X: 0, Y: 10}, {X: 1, Y: 5}, {X: 2, Y: 1}}},
		},
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	t.Parallel()
	w := &Waterfall{Title: "w", Label: "ms", RowLabel: "file", RowNames: func(int) string { return "a<b" }, Kinds: []Kind{{"fetched & more", Series0}}, Rows: [][]Bar{{{0, 5, 0}}, {{1, 7, 0}}}, Notes: []Note{{0, 1, "planning"}}}
	for _, pic := range []*Picture{plot().Draw(), w.Draw(), (&Plot{Title: "nothing"}).Draw()} {
		text := pic.SVG()
		d := xml.NewDecoder(strings.NewReader(text))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, text)
			}
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("a place is no number: %s", text)
		}
	}
}

func TestPicturesAreTheSameAgain(t *testing.T) {
	t.Parallel()
	var pngs, svgs [2]string
	for i := range pngs {
		var out bytes.Buffer
		if err := plot().Draw().PNG(&out, Light); err != nil {
			t.Fatal(err)
		}
		pngs[i], svgs[i] = out.String(), plot().Draw().SVG()
	}
	if pngs[0] != pngs[1] || svgs[0] != svgs[1] {
		t.Error("the same plot has other bytes")
	}
}

// A mark has its series' colour at its place, in either theme, and the corner is paper.
func TestPNGShowsTheMarks(t *testing.T) {
	t.Parallel()
	for name, theme := range map[string]Theme{"light": Light, "dark": Dark} {
		pic := &Picture{W: 40, H: 20}
		pic.Mark(Of(2), 0, Point{20, 10}, 4, "")
		var out bytes.Buffer
		if err := pic.PNG(&out, theme); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&out)
		if err != nil {
			t.Fatal(err)
		}
		for at, c := range map[[2]int]Color{{40, 20}: Of(2), {1, 1}: Paper} {
			r, g, b, _ := img.At(at[0], at[1]).RGBA()
			if want := theme.rgb(c); uint8(r>>8) != want.R || uint8(g>>8) != want.G || uint8(b>>8) != want.B {
				t.Errorf("%s at %v: %d %d %d, want %v", name, at, r>>8, g>>8, b>>8, want)
			}
		}
	}
}

// Names that would lie on each other are moved apart.
func TestNamesDoNotTouch(t *testing.T) {
	t.Parallel()
	var ys []float64
	for _, s := range plot().Draw().shapes {
		if s.kind == textShape && strings.HasSuffix(s.text, " ms") {
			ys = append(ys, s.points[0].Y)
		}
	}
	if len(ys) != 2 || ys[1]-ys[0] < textSize {
		t.Errorf("names at %v", ys)
	}
}

// Colours of words and lines stand out from the paper: 4.5 to 1 for words, 3 to 1 for lines and marks (WCAG 2.2).
func TestContrast(t *testing.T) {
	t.Parallel()
	for name, theme := range map[string]Theme{"light": Light, "dark": Dark} {
		for c := Ink; c < Series0+SeriesColors; c++ {
			least := 3.0
			switch c {
			case Ink, Muted:
				least = 4.5
			case Grid, Wait, Turn:
				continue // areas behind or between others
			}
			if k := contrast(theme, c, Paper); k < least {
				t.Errorf("%s: colour %d has contrast %.1f, want %.1f", name, c, k, least)
			}
		}
	}
}

func contrast(t Theme, a, b Color) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t Theme, c Color) float64 {
	k := t.rgb(c)
	part := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*part(k.R) + 0.7152*part(k.G) + 0.0722*part(k.B)
}
