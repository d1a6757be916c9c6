package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/lakescan/lakescan/internal/lab"
	"github.com/lakescan/lakescan/internal/lab/draw"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

type pagePlot struct {
	Name, Caption string
	SVG           template.HTML
}

type pageData struct {
	Title, About string
	Lead         []string
	CSS          template.CSS
	Plots        []pagePlot
	Head         []string
	Tips         []string
	Rows         [][]string
	Axes         int // leading columns of a row that are axes
	Command      string
	Facts        [][2]string
	References   []lab.Reference
}

func pageOf(w io.Writer, run *lab.Run, groups []*group, list []chart, samples []lab.Sample) error {
	d := pageData{Title: run.Matrix.Title, About: run.Matrix.About, CSS: template.CSS(draw.CSS()), Command: run.Command, Lead: lead(groups), Facts: facts(run, samples), References: run.Matrix.References} //nolint:gosec // our own text
	if d.Title == "" {
		d.Title = run.Matrix.Name
	}
	for _, c := range list {
		d.Plots = append(d.Plots, pagePlot{c.name, c.caption, template.HTML(c.pic.SVG())}) //nolint:gosec // escaped by SVG
	}
	d.Head, d.Rows = table(groups)
	d.Axes = len(varied(groups))
	for i := range d.Head {
		tip := ""
		switch {
		case i-d.Axes == len(columns):
			tip = "what most runs say"
		case i >= d.Axes:
			tip = columns[i-d.Axes].tip
		}
		d.Tips = append(d.Tips, tip)
	}
	return pageTemplate.Execute(w, d)
}

// lead is what the figures say in a line a latency: the lowest depths, the highest, and the limit.
func lead(groups []*group) []string {
	var out []string
	for _, f := range facets(groups, "depth", "latency") {
		for _, v := range values(f.groups, "latency") {
			gs := with(f.groups, "latency", v)
			depths := values(gs, "depth")
			if len(depths) < 2 {
				continue
			}
			best := with(gs, "depth", depths[len(depths)-1])[0]
			where := v
			if f.name != "" {
				where = f.name + ", " + v
			}
			text := where + ": "
			for _, d := range depths[:min(len(depths)-1, 2)] {
				g := with(gs, "depth", d)[0]
				text += fmt.Sprintf("%s %.2f s (%s), ", depthName(d), g.wall().mid, times(g.wall().mid/best.wall().mid))
			}
			out = append(out, text+fmt.Sprintf("%s %.2f s; limit %.2f s, η %.2f", depthName(best.cell.Depth), best.wall().mid, best.limit(), best.eta().mid)+bareText(best))
		}
	}
	return out[:min(len(out), 12)]
}

func bareText(g *group) string {
	if math.IsNaN(g.bare) {
		return ""
	}
	return fmt.Sprintf("; its bare requests %.2f s", g.plan+g.bare)
}

func facts(run *lab.Run, samples []lab.Sample) [][2]string {
	m := run.Machine
	warm, broken := 0, 0
	for _, s := range samples {
		if s.Warmup {
			warm++
		}
		if s.Error != "" {
			broken++
		}
	}
	version := m.Version
	if m.Commit != "" {
		version += ", commit " + m.Commit[:min(12, len(m.Commit))]
	}
	if m.Dirty {
		version += " with changes"
	}
	return [][2]string{
		{"made by", run.Command},
		{"lakescan", version + ", " + m.Go},
		{"machine", strings.TrimSpace(fmt.Sprintf("%s, %d processors, %d GiB, %s %s %s", m.CPU, m.CPUs, (m.MemoryMiB+512)/1024, m.OS, m.Arch, m.Kernel))},
		{"load average", run.Load + " before, " + run.LoadEnd + " after"},
		{"store", run.Store},
		{"time", run.Began + " to " + run.Ended},
		{"samples", fmt.Sprintf("%d, of these %d warm-ups (dropped) and %d failed; seed %d, order of cells drawn anew each round", len(samples), warm, broken, run.Matrix.Seed)},
	}
}
