package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/lakescan/lakescan/internal/lab"
	"github.com/lakescan/lakescan/internal/lab/draw"
)

const (
	barSlot = iota
	barOpen
	barFetch
	barDecode
	barTurn
	barUse
)

// waterfalls shows one scan with the most look-ahead and one with the least, where the link is slow.
func waterfalls(groups []*group) []chart {
	best := slices.MinFunc(groups, func(a, b *group) int { // 100 ms if there is one, else the slowest
		return cmp.Compare(math.Abs(float64(a.cell.LatencyMS)-100), math.Abs(float64(b.cell.LatencyMS)-100))
	})
	var same []*group
	for _, g := range groups {
		c := g.cell
		c.Depth = best.cell.Depth
		if c == best.cell {
			same = append(same, g)
		}
	}
	depths := values(same, "depth")
	out := []chart{}
	for i, d := range []string{depths[len(depths)-1], depths[0]} {
		if i == 1 && len(depths) == 1 {
			break
		}
		if c, ok := waterfall(with(same, "depth", d)[0]); ok {
			out = append(out, c)
		}
	}
	return out
}

// maxRows bounds the rows of a waterfall.
const maxRows = 120

func waterfall(g *group) (chart, bool) {
	s := g.typical()
	if s == nil || len(s.Files) == 0 {
		return chart{}, false
	}
	scale, unit := 1.0, "ms"
	if s.Wall > 2000 {
		scale, unit = 1000, "s"
	}
	w := draw.Waterfall{
		Title: "One scan, file by file: " + depthName(g.cell.Depth), Subtitle: fmt.Sprintf("%s: %.2f s", what(facet{groups: []*group{g}}, ""), s.Wall/1000),
		Label: "time since the call of Scan, " + unit, RowLabel: "file", RowNames: func(i int) string { return strconv.Itoa(i) }, Max: s.Wall / scale,
		Kinds: []draw.Kind{
			{Name: "queued", Color: draw.Wait},
			{Name: "footer", Color: draw.Series0 + 3},
			{Name: "data", Color: draw.Series0},
			{Name: "decoding", Color: draw.Series0 + 1},
			{Name: "ready", Color: draw.Turn},
			{Name: "consumed", Color: draw.Series0 + 2},
		},
	}
	inline := s.Plan < 0
	last := g.plan * 1000
	if start := s.Plan; start > 0 {
		w.Notes = []draw.Note{{To: start / scale, Text: "planning"}}
	}
	for _, f := range s.Files[:min(len(s.Files), maxRows)] {
		row := bars(f)
		if inline {
			row = []draw.Bar{{From: last, To: f.Delivered, Kind: barFetch}, {From: f.Delivered, To: f.Done, Kind: barUse}}
			last = f.Done
		}
		for i := range row {
			row[i].From, row[i].To = row[i].From/scale, row[i].To/scale
		}
		w.Rows = append(w.Rows, row)
	}
	caption := "The run with the median time. A file is claimed when its row begins. Its footer, then its data wait for a slot and are fetched (of a small file: both at once); its first rows are decoded once a processor is free, are ready, and are consumed in order."
	if inline {
		w.Kinds = make([]draw.Kind, barUse+1)
		w.Kinds[barFetch] = draw.Kind{Name: "fetched and decoded", Color: draw.Series0}
		w.Kinds[barUse] = draw.Kind{Name: "consumed", Color: draw.Series0 + 2}
		caption = "The run with the median time, without look-ahead: each file is fetched and decoded when the consumer comes to it."
	}
	return chart{"waterfall-" + slug(depthName(g.cell.Depth)), caption, w.Draw()}, true
}

// bars of a file of a scan with look-ahead; stretches that were not seen are left out.
func bars(f lab.File) []draw.Bar {
	var out []draw.Bar
	first := barOpen
	if f.Asked < 0 { // the first answer held everything
		first = barFetch
	}
	at := f.Claimed
	for _, step := range []struct {
		to   float64
		kind int
	}{{f.Admitted, barSlot}, {f.Opened, first}, {f.Asked, barSlot}, {f.Fetched, barFetch}, {f.Ready, barDecode}, {f.Delivered, barTurn}, {f.Done, barUse}} {
		if step.to < 0 || at < 0 {
			continue
		}
		if step.to > at {
			out = append(out, draw.Bar{From: at, To: step.to, Kind: step.kind})
			at = step.to
		}
	}
	return out
}
