package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"

	"github.com/lakescan/lakescan/internal/lab"
	"github.com/lakescan/lakescan/internal/lab/draw"
)

// column is a figure of a group.
type column struct {
	head, unit string
	tip        string
	value      func(all []*group, g *group) float64
	text       func(float64) string
}

func median(value func(*lab.Sample) float64) func([]*group, *group) float64 {
	return func(_ []*group, g *group) float64 { return g.of(value).mid }
}

func places(n int) func(float64) string {
	return func(v float64) string {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "–"
		}
		return strconv.FormatFloat(v, 'f', n, 64)
	}
}

const mib = 1 << 20

var columns = []column{
	{"wall", "s", "median, from the call of Scan to the last row", func(_ []*group, g *group) float64 { return g.wall().mid }, places(3)},
	{"p10", "s", "a tenth of the runs were faster", func(_ []*group, g *group) float64 { return g.wall().low }, places(3)},
	{"p90", "s", "a tenth of the runs were slower", func(_ []*group, g *group) float64 { return g.wall().high }, places(3)},
	{"first row", "s", "to the first batch", median(func(s *lab.Sample) float64 { return s.FirstRow / 1000 }), places(3)},
	{"plan", "s", "to the first file, median of all depths", func(_ []*group, g *group) float64 { return g.plan }, places(3)},
	{"limit", "s", "plan + W*", func(_ []*group, g *group) float64 { return g.limit() }, places(3)},
	{"η", "", "W*/W, planning left out", func(_ []*group, g *group) float64 { return g.eta().mid }, places(2)},
	{"bare", "s", "plan + the bare requests of the scan, all files at once, nothing decoded", func(_ []*group, g *group) float64 { return g.plan + g.bare }, places(3)},
	{"η bare", "", "time of the bare requests / W, planning left out", func(_ []*group, g *group) float64 { return g.etaBare() }, places(2)},
	{"×off", "", "times faster than depth 0", func(all []*group, g *group) float64 { return gain(all, g, "0").mid }, places(1)},
	{"×1", "", "times faster than depth 1", func(all []*group, g *group) float64 { return gain(all, g, "1").mid }, places(1)},
	{"r", "", "serial requests a file, the least seen", func(_ []*group, g *group) float64 { return g.physics.Rounds }, places(2)},
	{"requests", "", "all, planning included", median(func(s *lab.Sample) float64 { return float64(s.Sent()) }), places(0)},
	{"read", "MiB", "bytes of bodies", median(func(s *lab.Sample) float64 { return float64(s.Bytes) / mib }), places(1)},
	{"conns", "", "connections made", median(func(s *lab.Sample) float64 { return float64(s.Conns) }), places(0)},
	{"CPU", "s", "user and system of the process, its start left out", median(func(s *lab.Sample) float64 { return s.CPU / 1000 }), places(3)},
	{"peak RSS", "MiB", "of the process", median(func(s *lab.Sample) float64 { return float64(s.RSS) / mib }), places(0)},
	{"budget", "MiB", "peak of the budget, seen at batches", median(func(s *lab.Sample) float64 { return float64(s.Budget) / mib }), places(0)},
	{"depth", "", "most files ahead", median(func(s *lab.Sample) float64 { return float64(s.DepthMax) }), places(0)},
	{"in flight", "", "requests at once, at most", median(func(s *lab.Sample) float64 { return float64(s.InFlight) }), places(0)},
	{"η told", "", "as the scan itself tells it, with the latency, bandwidth and decoding that it saw", median(func(s *lab.Sample) float64 { return s.Eta }), places(2)},
	{"runs", "", "kept", func(_ []*group, g *group) float64 { return float64(len(g.runs)) }, places(0)},
	{"failed", "", "runs with an error", func(_ []*group, g *group) float64 { return float64(g.broken) }, places(0)},
}

// varied are the axes that tell the groups apart, depth last.
func varied(groups []*group) []string {
	var out []string
	for _, a := range lab.Axes() {
		if len(values(groups, a)) > 1 || a == "depth" {
			out = append(out, a)
		}
	}
	return out
}

// table is one row a group, for people.
func table(groups []*group) (head []string, rows [][]string) {
	axes := varied(groups)
	head = append(head, axes...)
	for _, c := range columns {
		h := c.head
		if c.unit != "" {
			h += ", " + c.unit
		}
		head = append(head, h)
	}
	for _, g := range groups {
		row := make([]string, 0, len(head))
		for _, a := range axes {
			row = append(row, g.cell.Value(a))
		}
		for _, c := range columns {
			row = append(row, c.text(c.value(groups, g)))
		}
		rows = append(rows, append(row, g.limitedBy()))
	}
	return append(head, "limited by"), rows
}

// limitedBy is what most runs say that they were limited by.
func (g *group) limitedBy() string {
	counts, best := map[string]int{}, ""
	for _, s := range g.runs {
		if counts[s.LimitedBy]++; counts[s.LimitedBy] > counts[best] {
			best = s.LimitedBy
		}
	}
	return best
}

func cellsCSV(groups []*group) []byte {
	head := append([]string{}, lab.Axes()...)
	for _, c := range columns {
		h := c.head
		if c.unit != "" {
			h += "_" + c.unit
		}
		head = append(head, h)
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write(head) // into memory
	for _, g := range groups {
		row := make([]string, 0, len(head))
		for _, a := range lab.Axes() {
			row = append(row, g.cell.Value(a))
		}
		for _, c := range columns {
			row = append(row, strconv.FormatFloat(c.value(groups, g), 'g', 8, 64))
		}
		_ = w.Write(row)
	}
	w.Flush()
	return out.Bytes()
}

func samplesCSV(samples []lab.Sample) []byte {
	head := append([]string{}, lab.Axes()...)
	head = append(head, "round", "warmup", "error", "rows", "wall_ms", "first_row_ms", "plan_ms", "cpu_ms", "rss_bytes", "budget_bytes", "requests", "bytes",
		"connections", "rounds", "head_waits", "fetch_wait_ms", "decode_wait_ms", "slot_wait_ms", "budget_wait_ms", "limit_wait_ms", "throttled", "in_flight",
		"decode_ms", "consumer_ms", "depth_max", "eta_told", "limited_by")
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write(head) // into memory
	for i := range samples {
		s := &samples[i]
		var row []string
		for _, a := range lab.Axes() {
			row = append(row, s.Cell.Value(a))
		}
		for _, v := range []any{
			s.Round, s.Warmup, s.Error, s.Rows, s.Wall, s.FirstRow, s.Plan, s.CPU, s.RSS, s.Budget, s.Sent(), s.Bytes, s.Conns, s.Rounds, s.HeadWaits,
			s.FetchWait, s.DecodeWait, s.SlotWait, s.BudgetWait, s.LimitWait, s.Throttled, s.InFlight, s.DecodeTime, s.ConsumerTime, s.DepthMax, draw.Short(s.Eta), s.LimitedBy,
		} {
			row = append(row, fmt.Sprint(v))
		}
		_ = w.Write(row)
	}
	w.Flush()
	return out.Bytes()
}
