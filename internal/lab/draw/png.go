package draw

import (
	"fmt"
	"image"
	"image/color"
	idraw "image/draw"
	"image/png"
	"io"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Theme gives colours their values.
type Theme struct {
	hex [int(Series0) + SeriesColors]uint32
}

// The themes of pages and pictures.
var (
	Light = Theme{[...]uint32{0xffffff, 0x1b1f24, 0x59636e, 0xe3e7eb, 0xc3c9d0, 0xe4e8ec, 0x0067a8, 0xc8501a, 0x00815f, 0x9a4a8b, 0xb07500, 0x3f4a56}}
	Dark  = Theme{[...]uint32{0x14181d, 0xe9edf1, 0x9ba6b2, 0x2c333b, 0x4b5560, 0x2a3138, 0x5cb3f2, 0xf58b54, 0x36c79c, 0xdc94cd, 0xe9b23f, 0xc3ccd6}}
)

func (t Theme) rgb(c Color) color.RGBA {
	v := t.hex[c]
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// scale is device pixels to a CSS pixel.
const scale = 2

// PNG writes the picture with a theme's colours, two pixels to each of the picture's.
func (p *Picture) PNG(w io.Writer, t Theme) error {
	img := image.NewRGBA(image.Rect(0, 0, int(math.Ceil(p.W*scale)), int(math.Ceil(p.H*scale))))
	idraw.Draw(img, img.Bounds(), image.NewUniform(t.rgb(Paper)), image.Point{}, idraw.Src)
	c := canvas{img: img, theme: t, faces: map[faceKey]font.Face{}}
	defer c.close()
	for _, s := range p.shapes {
		if err := c.shape(s); err != nil {
			return err
		}
	}
	return (&png.Encoder{}).Encode(w, img)
}

type faceKey struct {
	size float64
	bold bool
}

type canvas struct {
	img   *image.RGBA
	theme Theme
	faces map[faceKey]font.Face
}

func (c *canvas) close() {
	for _, f := range c.faces {
		_ = f.Close()
	}
}

func (c *canvas) shape(s shape) error {
	switch s.kind {
	case areaShape:
		c.fill(s, func(r *raster) { r.polygon(s.points) })
	case lineShape:
		c.fill(s, func(r *raster) {
			if s.dash {
				dashes(s.points, func(a, b Point) { r.segment(a, b, s.width) })
				return
			}
			for i := range len(s.points) - 1 {
				r.segment(s.points[i], s.points[i+1], s.width)
			}
		})
	case textShape:
		return c.text(s)
	}
	return nil
}

// raster is the part of the picture that a shape touches.
type raster struct {
	*vector.Rasterizer
	at image.Point
}

func (c *canvas) fill(s shape, draw func(*raster)) {
	box := bounds(s.points, s.width).Intersect(c.img.Bounds())
	if box.Empty() {
		return
	}
	r := &raster{vector.NewRasterizer(box.Dx(), box.Dy()), box.Min}
	draw(r)
	k, opacity := c.theme.rgb(s.color), s.opacity
	if opacity == 0 {
		opacity = 1
	}
	a := func(v uint8) uint8 { return uint8(float64(v) * opacity) }
	r.Draw(c.img, box, image.NewUniform(color.RGBA{a(k.R), a(k.G), a(k.B), a(255)}), image.Point{})
}

func bounds(points []Point, width float64) image.Rectangle {
	low, high := points[0], points[0]
	for _, q := range points {
		low, high = Point{min(low.X, q.X), min(low.Y, q.Y)}, Point{max(high.X, q.X), max(high.Y, q.Y)}
	}
	room := width + 1
	return image.Rect(int((low.X-room)*scale), int((low.Y-room)*scale), int((high.X+room)*scale)+1, int((high.Y+room)*scale)+1)
}

func (r *raster) polygon(points []Point) {
	for i, q := range points {
		x, y := float32(q.X*scale)-float32(r.at.X), float32(q.Y*scale)-float32(r.at.Y)
		if i == 0 {
			r.MoveTo(x, y)
		} else {
			r.LineTo(x, y)
		}
	}
	r.ClosePath()
}

// segment adds a line with round ends. All parts turn the same way, so that where they overlap nothing is taken away.
func (r *raster) segment(a, b Point, width float64) {
	const corners = 8
	turn := math.Atan2(b.Y-a.Y, b.X-a.X)
	var out []Point
	for i := range corners + 1 {
		t := turn + math.Pi/2 + math.Pi*float64(i)/corners
		out = append(out, Point{a.X + width/2*math.Cos(t), a.Y + width/2*math.Sin(t)})
	}
	for i := range corners + 1 {
		t := turn - math.Pi/2 + math.Pi*float64(i)/corners
		out = append(out, Point{b.X + width/2*math.Cos(t), b.Y + width/2*math.Sin(t)})
	}
	r.polygon(out)
}

// dashes cuts a line as SVG's stroke-dasharray "1 4" does.
func dashes(points []Point, draw func(a, b Point)) {
	const on, period = 1.0, 5.0
	at := 0.0
	for i := range len(points) - 1 {
		a, b := points[i], points[i+1]
		l := math.Hypot(b.X-a.X, b.Y-a.Y)
		if l == 0 {
			continue
		}
		point := func(d float64) Point { return Point{a.X + (b.X-a.X)*d/l, a.Y + (b.Y-a.Y)*d/l} }
		for d := -math.Mod(at, period); d < l; d += period {
			if d+on > 0 {
				draw(point(max(d, 0)), point(min(d+on, l)))
			}
		}
		at += l
	}
}

var fonts = sync.OnceValues(func() ([2]*opentype.Font, error) {
	var out [2]*opentype.Font
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		f, err := opentype.Parse(ttf)
		if err != nil {
			return out, fmt.Errorf("draw: font: %w", err)
		}
		out[i] = f
	}
	return out, nil
})

func newFace(k faceKey, scale float64) (font.Face, error) {
	all, err := fonts()
	if err != nil {
		return nil, err
	}
	f := all[0]
	if k.bold {
		f = all[1]
	}
	return opentype.NewFace(f, &opentype.FaceOptions{Size: k.size * scale, DPI: 72, Hinting: font.HintingNone})
}

func (c *canvas) text(s shape) error {
	k := faceKey{s.size, s.bold}
	face := c.faces[k]
	if face == nil {
		var err error
		if face, err = newFace(k, scale); err != nil {
			return err
		}
		c.faces[k] = face
	}
	width := font.MeasureString(face, s.text)
	src := image.NewUniform(c.theme.rgb(s.color))
	at := s.points[0]
	shift := fixed.Int26_6(0)
	switch s.anchor {
	case Middle:
		shift = width / 2
	case End:
		shift = width
	}
	if !s.turn {
		d := font.Drawer{Dst: c.img, Src: src, Face: face, Dot: fixed.Point26_6{X: fix(at.X*scale) - shift, Y: fix(at.Y * scale)}}
		d.DrawString(s.text)
		return nil
	}
	m := face.Metrics()
	h := (m.Ascent + m.Descent).Ceil()
	mask := image.NewAlpha(image.Rect(0, 0, width.Ceil()+1, h+1))
	d := font.Drawer{Dst: mask, Src: image.Opaque, Face: face, Dot: fixed.Point26_6{Y: m.Ascent}}
	d.DrawString(s.text)
	turned := image.NewAlpha(image.Rect(0, 0, mask.Rect.Dy(), mask.Rect.Dx()))
	for y := range mask.Rect.Dy() {
		for x := range mask.Rect.Dx() {
			turned.SetAlpha(y, mask.Rect.Dx()-1-x, mask.AlphaAt(x, y))
		}
	}
	corner := image.Pt(int(at.X*scale)-m.Ascent.Ceil(), int(at.Y*scale)-width.Ceil()/2)
	idraw.DrawMask(c.img, turned.Rect.Add(corner), src, image.Point{}, turned, image.Point{}, idraw.Over)
	return nil
}

func fix(v float64) fixed.Int26_6 { return fixed.Int26_6(math.Round(v * 64)) }

var measuring struct {
	sync.Mutex
	faces map[faceKey]font.Face
}

// TextWidth is about how wide a text will be, in CSS pixels.
func TextWidth(text string, size float64, bold bool) float64 {
	measuring.Lock()
	defer measuring.Unlock()
	if measuring.faces == nil {
		measuring.faces = map[faceKey]font.Face{}
	}
	k := faceKey{size, bold}
	face := measuring.faces[k]
	if face == nil {
		var err error
		if face, err = newFace(k, 1); err != nil {
			return float64(len(text)) * size * 0.55
		}
		measuring.faces[k] = face
	}
	return float64(font.MeasureString(face, text)) / 64
}
