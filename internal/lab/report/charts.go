package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lakescan/lakescan/internal/lab"
	"github.com/lakescan/lakescan/internal/lab/draw"
)

// chart is a picture with what it says.
type chart struct {
	name    string // of its files
	caption string
	pic     *draw.Picture
}

// facet is a part of the groups in which nothing varies but the axes of a plot.
type facet struct {
	name   string // "" = there is only one
	groups []*group
}

// facets cuts groups by all axes that vary, but for these.
func facets(groups []*group, but ...string) []facet {
	out := []facet{{groups: groups}}
	for _, axis := range lab.Axes() {
		if slices.Contains(but, axis) || len(values(groups, axis)) < 2 {
			continue
		}
		var next []facet
		for _, f := range out {
			for _, v := range values(f.groups, axis) {
				name := axis + " " + v
				if f.name != "" {
					name = f.name + ", " + name
				}
				next = append(next, facet{name, with(f.groups, axis, v)})
			}
		}
		out = next
	}
	return out
}

// seriesAxis is the axis whose values are lines over depth: latency if it varies, else the first that does.
func seriesAxis(groups []*group) string {
	for _, axis := range append([]string{"latency"}, lab.Axes()...) {
		if axis != "depth" && len(values(groups, axis)) > 1 {
			return axis
		}
	}
	return "latency"
}

// what names the data and the link of a facet, as far as they are one.
func what(f facet, but string) string {
	c := f.groups[0].cell
	var parts []string
	if c.Table != "" {
		parts = append(parts, c.Table)
	} else if but != "files" && but != "size" {
		parts = append(parts, fmt.Sprintf("%d files of %s", c.Files, lab.HumanKiB(c.SizeKiB)))
	}
	for _, axis := range []string{"columns", "streams", "latency", "rate", "jitter"} {
		if axis == but || len(values(f.groups, axis)) > 1 {
			continue
		}
		switch v := c.Value(axis); {
		case axis == "columns" && v != "all":
			parts = append(parts, fmt.Sprintf("%d columns", strings.Count(v, "+")+1))
		case axis == "columns":
			parts = append(parts, "all columns")
		case axis == "streams" && v != "1":
			parts = append(parts, v+" streams")
		case axis == "latency":
			parts = append(parts, v)
		case axis == "rate" && c.RateMBps > 0, axis == "jitter" && c.JitterMS > 0:
			parts = append(parts, v)
		}
	}
	for _, axis := range []string{"cache", "neighbour", "order", "memory"} {
		if axis != but && strings.Contains(f.name, axis+" ") {
			parts = append(parts, axis+" "+c.Value(axis))
		}
	}
	return strings.Join(parts, ", ")
}

func slug(s string) string {
	keep := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 'A' && r <= 'Z':
			return r
		}
		return '-'
	}
	return strings.Trim(strings.Map(keep, s), "-")
}

func fileName(plot string, f facet) string {
	if f.name == "" {
		return plot
	}
	return plot + "-" + slug(f.name)
}

// depthAxis places depths by their binary logarithm, 0 a step before 1, auto a step after the greatest.
func depthAxis(groups []*group) (draw.Axis, func(string) float64) {
	a := draw.Axis{Label: "max-files-to-prefetch (log₂; 0 = off)", Scale: draw.Slots, Names: values(groups, "depth")}
	for _, d := range a.Names {
		n := depthNumber(d)
		switch {
		case n == 0:
			a.Place = append(a.Place, -1)
		case !math.IsInf(n, 1):
			a.Place = append(a.Place, math.Log2(n))
		case len(a.Place) == 0:
			a.Place = append(a.Place, 0)
		default:
			a.Place = append(a.Place, a.Place[len(a.Place)-1]+1)
		}
	}
	return a, func(d string) float64 {
		if i := slices.Index(a.Names, d); i >= 0 {
			return a.Place[i]
		}
		return math.NaN()
	}
}

// nameOf is a value of an axis as the name of a line.
func nameOf(axis, v string) string {
	switch axis {
	case "files", "streams":
		return v + " " + axis
	case "neighbour":
		if v == "none" {
			return "alone"
		}
		return "beside " + v
	case "memory":
		return v + " budget"
	}
	return v
}

// charts makes all that the groups allow, the most telling first.
func charts(r *lab.Run, groups []*group) []chart {
	var out []chart
	axis := seriesAxis(groups)
	depths := len(values(groups, "depth")) > 1
	if depths {
		for _, f := range facets(groups, "depth", axis) {
			out = append(out, wallOverDepth(r, f, axis), speedup(f, axis))
		}
	}
	if len(values(groups, "latency")) > 1 {
		for _, f := range facets(groups, "depth", "latency") {
			out = append(out, etaOverLatency(f))
		}
	}
	for _, axis := range lab.Axes() {
		if axis != "depth" && axis != "latency" && len(values(groups, axis)) > 1 {
			for _, f := range facets(groups, "depth", axis) {
				out = append(out, wallOver(f, axis))
			}
		}
	}
	if len(values(groups, "files")) > 1 {
		for _, f := range facets(groups, "depth", "files", "latency") {
			out = append(out, requestsOverFiles(f))
		}
	}
	out = append(out, waterfalls(groups)...)
	if depths {
		for _, f := range facets(groups, "depth", axis) {
			out = append(out, memoryOverDepth(f, axis), requestsOverDepth(f, axis))
		}
	}
	for _, f := range facets(with(groups, "depth", "auto"), "latency") {
		if c, ok := depthOverTime(f); ok {
			out = append(out, c)
		}
	}
	return out
}

func overDepth(f facet, axis string, value func(*group) spread, add func(s *draw.Series, gs []*group)) (list []draw.Series, x draw.Axis) {
	x, place := depthAxis(f.groups)
	for i, v := range values(f.groups, axis) {
		gs := with(f.groups, axis, v)
		slices.SortFunc(gs, func(a, b *group) int { return cmp.Compare(place(a.cell.Depth), place(b.cell.Depth)) })
		s := draw.Series{Name: nameOf(axis, v), Color: draw.Of(i), Marker: i}
		if len(values(f.groups, axis)) == 1 {
			s.Name = ""
		}
		for _, g := range gs {
			y := value(g)
			if math.IsNaN(y.mid) {
				continue
			}
			d := draw.Datum{X: place(g.cell.Depth), Y: y.mid, Tip: fmt.Sprintf("%s, depth %s: %s (%s to %s, %d runs)", v, g.cell.Depth, draw.Short(y.mid), draw.Short(y.low), draw.Short(y.high), len(g.runs))}
			if y.high > y.low {
				d.Lo, d.Hi = y.low, y.high
			}
			s.Data = append(s.Data, d)
		}
		if add != nil {
			add(&s, gs)
		}
		list = append(list, s)
	}
	return list, x
}

func wallOverDepth(r *lab.Run, f facet, axis string) chart {
	_, place := depthAxis(f.groups)
	list, x := overDepth(f, axis, (*group).wall, func(s *draw.Series, gs []*group) {
		for _, g := range gs {
			if d := depthNumber(g.cell.Depth); !math.IsInf(d, 1) {
				s.Model = append(s.Model, draw.Datum{X: place(g.cell.Depth), Y: g.plan + g.physics.Wall(d)})
			}
		}
		s.Level = gs[len(gs)-1].limit()
		if last := gs[len(gs)-1]; !math.IsNaN(last.bare) {
			s.Bare = last.plan + last.bare
		}
	})
	for _, ref := range r.Matrix.References {
		name := fmt.Sprintf("%s, %d ms", ref.Name, ref.LatencyMS)
		i := slices.IndexFunc(list, func(s draw.Series) bool { return s.Name == name })
		if i < 0 {
			list = append(list, draw.Series{Name: name, Color: draw.Of(5), Marker: 5, Loose: true})
			i = len(list) - 1
		}
		if x := place(ref.Depth); !math.IsNaN(x) {
			list[i].Data = append(list[i].Data, draw.Datum{X: x, Y: ref.Seconds, Tip: fmt.Sprintf("%s, %d ms, depth %s: %s s (%s)", ref.Name, ref.LatencyMS, ref.Depth, draw.Short(ref.Seconds), ref.Source)})
		}
	}
	p := draw.Plot{
		Title: "Time of a scan over look-ahead depth", Subtitle: what(f, axis), Series: list,
		X: x, Y: draw.Axis{Label: "wall time, s (log)", Scale: draw.Log},
	}
	return chart{fileName("wall-over-depth", f), "Points are medians, bars the middle 80 % of the runs, one line for each " + axis + ". The thin line is the model W(J), with planning as measured; the short stroke at the right border is the physical limit, planning + W*; the dotted one, if there is one, what the bare requests took, all files at once and nothing decoded.", p.Draw()}
}

// gain is how many times faster a cell is than the same at another depth; NaN if that was not measured.
func gain(all []*group, g *group, over string) spread {
	for _, o := range all {
		c := o.cell
		c.Depth = g.cell.Depth
		if c == g.cell && o.cell.Depth == over {
			b, w := o.wall().mid, g.wall()
			return spread{b / w.mid, b / w.high, b / w.low}
		}
	}
	return spread{math.NaN(), math.NaN(), math.NaN()}
}

// speedup compares with depth 1 where that was measured: it has the streams and the requests of the greater depths, which 0 has not.
func speedup(f facet, axis string) chart {
	least := values(f.groups, "depth")[0]
	if slices.Contains(values(f.groups, "depth"), "1") {
		least = "1"
	}
	list, x := overDepth(f, axis, func(g *group) spread { return gain(f.groups, g, least) }, func(s *draw.Series, gs []*group) {
		last := gs[len(gs)-1]
		if k := gain(f.groups, last, least); !math.IsNaN(k.mid) {
			s.Level = k.mid * last.wall().mid / last.limit()
		}
	})
	p := draw.Plot{
		Title: "Speed-up over depth " + least, Subtitle: what(f, axis), Series: list,
		X: x, Y: draw.Axis{Label: "times faster (log)", Scale: draw.Log, Text: times},
	}
	note := " Depth 0 reads inline: one stream, one request at a time."
	return chart{fileName("speed-up", f), "How many times faster than depth " + least + " of the same line; the stroke at the right border is what the physical limit allows." + note, p.Draw()}
}

func times(v float64) string { return draw.Short(v) + "×" }

// someDepths picks at most six, both ends among them.
func someDepths(groups []*group) []string {
	all := values(groups, "depth")
	if len(all) <= draw.SeriesColors {
		return all
	}
	out := []string{}
	for i := range draw.SeriesColors {
		out = append(out, all[i*(len(all)-1)/(draw.SeriesColors-1)])
	}
	return out
}

func etaOverLatency(f facet) chart {
	names := values(f.groups, "latency")
	p := draw.Plot{
		Title: "How near to the physical limit", Subtitle: what(f, "latency"),
		X: draw.Axis{Label: "latency of each answer", Scale: draw.Slots, Names: names}, Y: draw.Axis{Label: "η = limit / measured", Max: 1.05, Ticks: []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		Rules: []draw.Rule{{Y: 1 / 1.15, Name: "15 % above the limit"}},
	}
	for i, d := range someDepths(f.groups) {
		s := draw.Series{Name: depthName(d), Color: depthColor(d, i), Marker: i}
		for _, g := range with(f.groups, "depth", d) {
			e := g.eta()
			s.Data = append(s.Data, draw.Datum{X: float64(slices.Index(names, g.cell.Value("latency"))), Y: e.mid, Lo: e.low, Hi: e.high, Tip: fmt.Sprintf("%s, %s: η %.2f, limit %.2f s", s.Name, g.cell.Value("latency"), e.mid, g.physics.Floor())})
		}
		p.Series = append(p.Series, s)
	}
	return chart{fileName("eta-over-latency", f), "η = W*/W of the files, planning left out on both sides: 1 is the limit that latency, bytes and decoding set, whoever reads. Decoding counts with the least time that any run of the same data took, and neither kernel, HTTP nor the consumer count at all, so at 0 ms, where nothing but processors limits, η is below what can be had.", p.Draw()}
}

// depthColor keeps the strongest colour for auto.
func depthColor(d string, i int) draw.Color {
	if d == "auto" {
		return draw.Of(0)
	}
	return draw.Of(1 + i%(draw.SeriesColors-1))
}

func depthName(d string) string {
	switch d {
	case "auto":
		return "auto"
	case "0":
		return "off"
	}
	return "depth " + d
}

// wallOver shows any other axis, a line for each depth.
func wallOver(f facet, axis string) chart {
	names := values(f.groups, axis)
	p := draw.Plot{
		Title: "Time of a scan over " + axis, Subtitle: what(f, axis),
		X: draw.Axis{Label: axisLabel[axis], Scale: draw.Slots, Names: names}, Y: draw.Axis{Label: "wall time, s (log)", Scale: draw.Log},
	}
	for i, d := range someDepths(f.groups) {
		s := draw.Series{Name: depthName(d), Color: depthColor(d, i), Marker: i}
		gs := with(f.groups, "depth", d)
		for _, g := range gs {
			w := g.wall()
			x := float64(slices.Index(names, g.cell.Value(axis)))
			s.Data = append(s.Data, draw.Datum{X: x, Y: w.mid, Lo: w.low, Hi: w.high, Tip: fmt.Sprintf("%s, %s: %.2f s", s.Name, g.cell.Value(axis), w.mid)})
			if d == "auto" {
				s.Model = append(s.Model, draw.Datum{X: x, Y: g.limit()})
			}
		}
		p.Series = append(p.Series, s)
	}
	return chart{fileName("wall-over-"+axis, f), "Medians with the middle 80 % of the runs; the thin line without points is the physical limit, planning + W*.", p.Draw()}
}

var axisLabel = map[string]string{
	"table": "table", "files": "files of the table", "size": "size of each file", "columns": "columns read", "jitter": "jitter of the latency", "rate": "bandwidth of the whole link",
	"streams": "streams that consume", "order": "order of rows", "cache": "metadata cache", "neighbour": "depth of the scan beside it", "memory": "memory budget",
}

func requestsOverFiles(f facet) chart {
	p := draw.Plot{
		Title: "Requests over files", Subtitle: what(f, "files"),
		X: draw.Axis{Label: "files of the table (log)", Scale: draw.Log}, Y: draw.Axis{Label: "requests of a scan (log)", Scale: draw.Log},
	}
	var ticks []float64
	for i, d := range someDepths(f.groups) {
		s := draw.Series{Name: depthName(d), Color: depthColor(d, i), Marker: i}
		for _, v := range values(f.groups, "files") {
			gs := with(with(f.groups, "depth", d), "files", v)
			if len(gs) == 0 {
				continue
			}
			n := gs[0].of(func(s *lab.Sample) float64 { return float64(s.Sent()) })
			s.Data = append(s.Data, draw.Datum{X: gs[0].physics.Files, Y: n.mid, Tip: fmt.Sprintf("%s, %s files: %s requests", s.Name, v, draw.Short(n.mid))})
			if i == 0 {
				s.Model = append(s.Model, draw.Datum{X: gs[0].physics.Files, Y: gs[0].physics.Files})
				ticks = append(ticks, gs[0].physics.Files)
			}
		}
		p.Series = append(p.Series, s)
	}
	p.X.Ticks = ticks
	return chart{fileName("requests-over-files", f), "All requests of a scan, those of planning included. The thin line is one request a file. The points of all depths lie on each other: look-ahead asks earlier, not more.", p.Draw()}
}

func requestsOverDepth(f facet, axis string) chart {
	list, x := overDepth(f, axis, func(g *group) spread { return g.of(func(s *lab.Sample) float64 { return float64(s.Sent()) }) }, nil)
	p := draw.Plot{
		Title: "Requests of a scan over look-ahead depth", Subtitle: what(f, axis), Series: list,
		X: x, Y: draw.Axis{Label: "requests"},
	}
	return chart{fileName("requests-over-depth", f), "All requests, those of planning included: depth changes when they are sent, hardly how many.", p.Draw()}
}

func memoryOverDepth(f facet, axis string) chart {
	list, x := overDepth(f, axis, func(g *group) spread { return g.of(func(s *lab.Sample) float64 { return float64(s.RSS) / (1 << 20) }) }, nil)
	p := draw.Plot{
		Title: "Peak memory over look-ahead depth", Subtitle: what(f, axis), Series: list,
		X: x, Y: draw.Axis{Label: "peak resident memory, MiB"},
	}
	return chart{fileName("memory-over-depth", f), "The high-water mark of the process that scanned, program and runtime included.", p.Draw()}
}

// depthOverTime shows what auto decided.
func depthOverTime(f facet) (chart, bool) {
	p := draw.Plot{
		Title: "What auto decides", Subtitle: what(f, "latency"),
		X: draw.Axis{Label: "time since the scan was opened, ms"}, Y: draw.Axis{Label: "files ahead"},
	}
	for i, g := range f.groups {
		s := g.typical()
		if s == nil || len(s.Depths) == 0 {
			continue
		}
		line := draw.Series{Name: g.cell.Value("latency"), Color: draw.Of(i), Marker: i}
		last := 0.0
		for k, d := range s.Depths {
			if k > 0 {
				line.Data = append(line.Data, draw.Datum{X: d.At, Y: last})
			}
			line.Data = append(line.Data, draw.Datum{X: d.At, Y: float64(d.Depth), Tip: fmt.Sprintf("%.0f ms: depth %d, %s", d.At, d.Depth, d.Reason)})
			last = float64(d.Depth)
		}
		line.Data = append(line.Data, draw.Datum{X: s.Wall, Y: last})
		p.Series = append(p.Series, line)
	}
	if len(p.Series) == 0 {
		return chart{}, false
	}
	return chart{fileName("depth-over-time", f), "The depth that the controller chose, in the run with the median time of each latency.", p.Draw()}, true
}
