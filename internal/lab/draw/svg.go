package draw

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

var classes = map[Color]string{Paper: "paper", Ink: "ink", Muted: "muted", Grid: "grid", Wait: "wait", Turn: "turn"}

func class(c Color) string {
	if name := classes[c]; name != "" {
		return name
	}
	return "s" + strconv.Itoa(int(c-Series0))
}

// CSS gives the classes that SVG uses, for both themes, under a page's :root variables.
func CSS() string {
	var b strings.Builder
	vars := func(t Theme) string {
		var v strings.Builder
		for c := Paper; c < Series0+SeriesColors; c++ {
			k := t.rgb(c)
			fmt.Fprintf(&v, "--%s:#%02x%02x%02x;", class(c), k.R, k.G, k.B)
		}
		return v.String()
	}
	fmt.Fprintf(&b, ":root{color-scheme:light dark;%s}\n@media(prefers-color-scheme:dark){:root{%s}}\n", vars(Light), vars(Dark))
	for c := Paper; c < Series0+SeriesColors; c++ {
		fmt.Fprintf(&b, ".f-%s{fill:var(--%s)}.k-%s{stroke:var(--%s)}\n", class(c), class(c), class(c), class(c))
	}
	return b.String()
}

// SVG is the picture for the inside of a page that has CSS.
func (p *Picture) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %s %s" role="img" aria-label="%s" font-family="inherit">`, num(p.W), num(p.H), html.EscapeString(p.Title))
	for _, s := range p.shapes {
		switch s.kind {
		case lineShape:
			fmt.Fprintf(&b, `<path class="k-%s" d="%s" fill="none" stroke-width="%s" stroke-linejoin="round" stroke-linecap="round"`, class(s.color), path(s.points), num(s.width))
			if s.dash {
				b.WriteString(` stroke-dasharray="1 4"`)
			}
			b.WriteString("/>")
		case areaShape:
			fmt.Fprintf(&b, `<path class="f-%s" d="%sZ"`, class(s.color), path(s.points))
			if s.opacity != 0 && s.opacity != 1 {
				fmt.Fprintf(&b, ` opacity="%s"`, num(s.opacity))
			}
			if s.tip == "" {
				b.WriteString("/>")
			} else {
				fmt.Fprintf(&b, "><title>%s</title></path>", html.EscapeString(s.tip))
			}
		case textShape:
			at := s.points[0]
			fmt.Fprintf(&b, `<text class="f-%s" x="%s" y="%s" font-size="%s"`, class(s.color), num(at.X), num(at.Y), num(s.size))
			if s.anchor != Start {
				fmt.Fprintf(&b, ` text-anchor="%s"`, [...]string{"", "middle", "end"}[s.anchor])
			}
			if s.bold {
				b.WriteString(` font-weight="600"`)
			}
			if s.turn {
				fmt.Fprintf(&b, ` transform="rotate(-90 %s %s)"`, num(at.X), num(at.Y))
			}
			fmt.Fprintf(&b, ">%s</text>", html.EscapeString(s.text))
		}
	}
	b.WriteString("</svg>")
	return b.String()
}

func path(points []Point) string {
	var b strings.Builder
	for i, q := range points {
		b.WriteByte("ML"[min(i, 1)])
		b.WriteString(num(q.X) + " " + num(q.Y))
	}
	return b.String()
}

// num is short: two places at most.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
