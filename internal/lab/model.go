package lab

import (
	"math"
	"strings"
	"time"
)

// Physics is what a scan is made of, per file where not said otherwise. Times in seconds, sizes in bytes.
type Physics struct {
	Files    float64 // N
	Streams  float64 // T: consumers
	Workers  float64 // decoders that run side by side
	Rounds   float64 // r: serial requests
	Requests float64 // R
	Slots    float64 // C: requests in flight at most
	Latency  float64 // L: of one request
	Bytes    float64 // S
	Rate     float64 // B: bytes/s of the link; 0 = no limit
	Decode   float64 // d: on one stream
	Plan     float64 // serial requests before the first file
}

func (p Physics) link() float64 {
	if p.Rate <= 0 {
		return 0
	}
	return p.Bytes / p.Rate
}

// Fetch is F = r·L + S/B: one file, alone.
func (p Physics) Fetch() float64 { return p.Rounds*p.Latency + p.link() }

// Cost is c = max(d/workers, S/B, R·L/C - r·L/N): what a file costs at any depth. Of the time that C slots are busy with N·R requests, r·L
// passes for the first file anyhow: a scan whose requests all fit into the slots does not pay for them twice.
func (p Physics) Cost() float64 {
	slots := p.Requests*p.Latency/max(p.Slots, 1) - p.Rounds*p.Latency/max(p.Files, 1)
	return max(p.Decode/max(p.Workers, 1), p.link(), slots)
}

// Floor is W* = N·c + r·L + min(S/B, d), after planning.
func (p Physics) Floor() float64 {
	return p.Files*p.Cost() + p.Rounds*p.Latency + min(p.link(), p.Decode)
}

// Wall is the model W at a depth: files ahead of those that are consumed. Depth 0 reads inline, one request and one file after the other.
//
//	W(0) = N·(R·L + S/B + d)          W(J) = F + d + (N-1)·max(c, F/J), J = depth + streams
func (p Physics) Wall(depth float64) float64 {
	f := p.Fetch()
	if depth <= 0 {
		return p.Files * (max(p.Requests, p.Rounds)*p.Latency + p.link() + p.Decode)
	}
	j := min(depth+p.Streams, p.Files)
	return f + p.Decode + (p.Files-1)*max(p.Cost(), f/j)
}

// Planning is the time of the serial requests before the first file.
func (p Physics) Planning() float64 { return p.Plan * p.Latency }

// guess is what is known of a cell before it was measured; see Estimate.
func (c Cell) guess() Physics {
	files, size := float64(c.Files), float64(c.SizeKiB)*1024
	if c.Table != "" {
		files, size = 70, 5<<20
	}
	wanted := size
	if c.Columns != "all" {
		wanted = size / 5
	}
	rounds := 2.0
	if size <= 1<<20 {
		rounds, wanted = 1, size
	}
	requests := rounds
	if c.Depth == "0" && c.Columns != "all" && size > 128<<10 { // inline reads do not know the link, so they ask for each range
		requests = 1 + 2*float64(1+strings.Count(c.Columns, "+"))
	}
	const decodeRate, slots = 150e6, 128
	return Physics{
		Files: files, Streams: float64(c.Streams), Workers: 2, Rounds: rounds, Requests: requests, Slots: slots, Latency: float64(c.LatencyMS)/1000 + 0.001,
		Bytes: wanted, Rate: float64(c.RateMBps) * 1e6, Decode: 0.001 + wanted/decodeRate, Plan: 3,
	}
}

// Estimate is how long one run of a cell may take, its process and planning included.
func (c Cell) Estimate() time.Duration {
	const process, auto = 0.15, 64
	depth := float64(auto)
	if c.Depth != "auto" && c.Depth != Bare {
		depth, _ = parseFloat(c.Depth)
	}
	p := c.guess()
	wall := p.Wall(depth) + p.Planning()
	if c.Cache == "hot" || c.Depth == Bare {
		wall *= 2
	}
	if c.Neighbour != "none" {
		wall = wall*2 + 0.5
	}
	return seconds(process + wall)
}

// Estimate is how long the whole matrix may take.
func (m *Matrix) Estimate() time.Duration {
	sum := time.Duration(0)
	for _, c := range m.Cells() {
		warmup, runs := m.Rounds(c)
		sum += c.Estimate() * time.Duration(warmup+runs)
	}
	return sum
}

// Scans is how many samples the whole matrix has.
func (m *Matrix) Scans() (n int) {
	for _, c := range m.Cells() {
		warmup, runs := m.Rounds(c)
		n += warmup + runs
	}
	return n
}

// fewest runs that a slow cell still gets.
const fewest = 2

// Rounds are the warm-ups and kept runs of a cell. One that would take longer than the matrix's limit gets no warm-up and fewer runs.
func (m *Matrix) Rounds(c Cell) (warmup, runs int) {
	if one := c.Estimate(); m.CellLimit > 0 && one*time.Duration(m.Runs) > m.CellLimit {
		return 0, min(m.Runs, max(fewest, int(m.CellLimit/one)))
	}
	return *m.Warmup, m.Runs
}

// Saturation is J* = ceil(F/c): more depth than that buys nothing.
func (p Physics) Saturation() int { return int(math.Ceil(p.Fetch() / max(p.Cost(), 1e-9))) }
