package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/lakescan/lakescan/internal/lab"
)

// group is what was measured in one cell, warm-ups left out.
type group struct {
	cell    lab.Cell
	runs    []lab.Sample
	broken  int // runs with an error
	physics lab.Physics
	plan    float64 // seconds before the first file, median
	bare    float64 // seconds that the bare requests took after planning, median; NaN = not measured
}

// spread is a median with the ends of the middle four fifths.
type spread struct{ mid, low, high float64 }

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	v := slices.Clone(values)
	slices.Sort(v)
	return spread{quantile(v, 0.5), quantile(v, 0.1), quantile(v, 0.9)}
}

// quantile interpolates in sorted values.
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

func (g *group) of(value func(*lab.Sample) float64) spread {
	out := make([]float64, 0, len(g.runs))
	for i := range g.runs {
		out = append(out, value(&g.runs[i]))
	}
	return spreadOf(out)
}

func wallSeconds(s *lab.Sample) float64 { return s.Wall / 1000 }

func (g *group) wall() spread { return g.of(wallSeconds) }

// scan is the time after planning.
func (g *group) scan() spread {
	return g.of(func(s *lab.Sample) float64 {
		if s.Plan >= 0 {
			return (s.Wall - s.Plan) / 1000
		}
		return max(s.Wall/1000-g.plan, 1e-6)
	})
}

// eta is W*/W of the files alone, planning left out on both sides.
func (g *group) eta() spread {
	w, floor := g.scan(), g.physics.Floor()
	return spread{min(floor/w.mid, 1), min(floor/w.high, 1), min(floor/w.low, 1)}
}

// limit is the physical limit of the whole scan: planning as it was, and W*.
func (g *group) limit() float64 { return g.plan + g.physics.Floor() }

// typical is the run with the median wall time.
func (g *group) typical() *lab.Sample {
	runs := slices.Clone(g.runs)
	slices.SortFunc(runs, func(a, b lab.Sample) int { return cmp.Compare(a.Wall, b.Wall) })
	if len(runs) == 0 {
		return nil
	}
	return &runs[(len(runs)-1)/2]
}

// groupsOf gathers samples by cell, in the order of the axes.
func groupsOf(samples []lab.Sample, cells []lab.Cell) []*group {
	byID := map[string]*group{}
	var out []*group
	for _, c := range cells {
		g := &group{cell: c}
		byID[c.ID()] = g
		out = append(out, g)
	}
	for _, s := range samples {
		g := byID[s.Cell.ID()]
		switch {
		case s.Warmup || g == nil:
		case s.Error != "":
			g.broken++
		default:
			g.runs = append(g.runs, s)
		}
	}
	out = slices.DeleteFunc(out, func(g *group) bool { return len(g.runs) == 0 })
	for _, g := range out {
		g.measure(out)
	}
	return takeBare(out)
}

// takeBare takes the cells of bare requests out of the list, and gives their time to the cells that they are the limit of.
func takeBare(all []*group) []*group {
	for _, g := range all {
		g.bare = math.NaN()
		for _, b := range all {
			c := b.cell
			c.Depth, c.Streams, c.Order = g.cell.Depth, g.cell.Streams, g.cell.Order
			if b.cell.Depth == lab.Bare && c == g.cell {
				g.bare = b.scan().mid
			}
		}
	}
	return slices.DeleteFunc(all, func(g *group) bool { return g.cell.Depth == lab.Bare })
}

// etaBare is how near a scan is to its bare requests.
func (g *group) etaBare() float64 { return g.bare / g.scan().mid }

// sameData reports whether two cells read the same bytes.
func sameData(a, b lab.Cell) bool {
	return a.Files == b.Files && a.SizeKiB == b.SizeKiB && a.Table == b.Table && a.Columns == b.Columns
}

// measure fills the physics of a cell: bytes and requests are its own, latency and rate the link's, r the smallest that any cell of the same
// data was seen to need, and d the least decoding time of any run of the same data, so that a busy machine does not lift the limit.
func (g *group) measure(all []*group) {
	first := &g.runs[0]
	n := float64(max(first.FileCount, 1))
	p := lab.Physics{
		Files: n, Streams: float64(g.cell.Streams), Workers: float64(max(first.Workers, 1)), Slots: float64(max(first.Slots, 1)),
		Latency: float64(g.cell.LatencyMS) / 1000, Rate: float64(g.cell.RateMBps) * 1e6,
		Requests: g.of(func(s *lab.Sample) float64 { return float64(s.FileReads) }).mid / n,
		Bytes:    g.of(func(s *lab.Sample) float64 { return float64(s.FileBytes) }).mid / n,
	}
	rounds, decode := math.Inf(1), math.Inf(1)
	var plans []float64
	for _, o := range all {
		if !sameData(o.cell, g.cell) {
			continue
		}
		for i := range o.runs {
			s := &o.runs[i]
			if s.Rounds > 0 {
				rounds = min(rounds, s.Rounds)
			}
			decode = min(decode, s.DecodeTime/1000/n)
			if s.Plan >= 0 && o.cell.LatencyMS == g.cell.LatencyMS && o.cell.Neighbour == g.cell.Neighbour && o.cell.Cache == g.cell.Cache {
				plans = append(plans, s.Plan/1000)
			}
		}
	}
	if math.IsInf(rounds, 1) {
		rounds = max(math.Ceil(p.Requests), 1)
	}
	p.Rounds, p.Decode = rounds, decode
	g.physics = p
	if g.plan = spreadOf(plans).mid; math.IsNaN(g.plan) {
		g.plan = 0
	}
}

// depthNumber orders depths: auto comes last.
func depthNumber(d string) float64 {
	if d == "auto" {
		return math.Inf(1)
	}
	n, _ := strconv.ParseFloat(d, 64)
	return n
}

// values are those that an axis takes in groups, in rising or the axis's own order.
func values(groups []*group, axis string) []string {
	var out []string
	for _, g := range groups {
		if v := g.cell.Value(axis); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	if axis == "depth" {
		slices.SortFunc(out, func(a, b string) int { return cmp.Compare(depthNumber(a), depthNumber(b)) })
	}
	return out
}

// with are the groups at a value of an axis.
func with(groups []*group, axis, value string) []*group {
	var out []*group
	for _, g := range groups {
		if g.cell.Value(axis) == value {
			out = append(out, g)
		}
	}
	return out
}
