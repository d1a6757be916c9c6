package lab

import (
	"strconv"
	"sync"
	"time"

	"github.com/lakescan/lakescan/source"
)

// Sample is one run of one cell, raw. Times are in milliseconds.
type Sample struct {
	Cell   Cell   `json:"cell"`
	Round  int    `json:"round"`            // rounds below the matrix's warm-up are not counted
	Warmup bool   `json:"warmup,omitempty"` // one of those
	Began  string `json:"began"`            // RFC 3339
	Error  string `json:"error,omitempty"`  // then the rest is that of a broken run

	Rows     int64   `json:"rows"`
	Check    int64   `json:"check"`          // sum over the first column of 64-bit integers, modulo 2^64
	Wall     float64 `json:"wall_ms"`        // from the call of Scan to the last row
	FirstRow float64 `json:"first_row_ms"`   // to the first batch
	Plan     float64 `json:"plan_ms"`        // to the claim of the first file; -1 = not seen (depth 0)
	CPU      float64 `json:"cpu_ms"`         // user and system, of the scan
	RSS      int64   `json:"rss_bytes"`      // peak of the process
	BaseRSS  int64   `json:"base_rss_bytes"` // before the scan
	Budget   int64   `json:"budget_bytes"`   // peak of the budget, as sampled at each batch
	Rounds   float64 `json:"rounds"`         // r: serial requests a file; 0 = not seen (depth 0)
	Workers  int     `json:"workers"`        // processors
	Slots    int     `json:"slots"`          // C

	Requests  map[string]int64 `json:"requests"`   // sent, by kind, planning included
	FileCount int64            `json:"file_count"` // N: files scanned
	FileReads int64            `json:"file_reads"` // of these, for data files
	FileBytes int64            `json:"file_bytes"`
	Bytes     int64            `json:"bytes"`
	Conns     int64            `json:"connections"`
	Retries   int64            `json:"retries"`
	Hedges    int64            `json:"hedges"`

	HeadWaits    int64     `json:"head_waits"`
	FetchWait    float64   `json:"fetch_wait_ms"` // of the consumer
	DecodeWait   float64   `json:"decode_wait_ms"`
	SlotWait     float64   `json:"slot_wait_ms"` // of requests: for a slot, for bytes of the budget, because more would bring nothing
	BudgetWait   float64   `json:"budget_wait_ms"`
	LimitWait    float64   `json:"limit_wait_ms"`
	Throttled    int64     `json:"throttled"`
	InFlight     int       `json:"in_flight"`          // requests at once, at most
	FetchedPeak  int64     `json:"fetched_peak_bytes"` // in flight and landed, not yet decoded
	DecodedPeak  int64     `json:"decoded_peak_bytes"`
	DecodeTime   float64   `json:"decode_ms"` // sums over the goroutines
	ConsumerTime float64   `json:"consumer_ms"`
	DepthMax     int       `json:"depth_max"`
	Depths       []DepthAt `json:"depths,omitempty"`
	Eta          float64   `json:"eta"` // W*/W as the scan itself tells it
	LimitedBy    string    `json:"limited_by,omitempty"`
	Files        []File    `json:"files,omitempty"`

	NeighbourRows  int64 `json:"neighbour_rows,omitempty"` // of the scan beside it, meanwhile
	NeighbourScans int64 `json:"neighbour_scans,omitempty"`

	Server *Traffic `json:"server,omitempty"` // what the store saw, if it is ours
}

// DepthAt is a decision of the depth controller.
type DepthAt struct {
	At     float64 `json:"at_ms"`
	Depth  int     `json:"depth"`
	Reason string  `json:"reason,omitempty"`
}

// File is the timeline of one file, in milliseconds since the call of Scan: it is claimed, its first request (footer, or the whole file) is
// admitted to a slot and answered, those for the rest of its data are admitted and answered, its first unit is decoded, the consumer gets its
// first batch and gives back its last. -1 = not seen.
type File struct {
	Ordinal   int     `json:"n"`
	Claimed   float64 `json:"claimed"`
	Admitted  float64 `json:"admitted"`
	Opened    float64 `json:"opened"`
	Asked     float64 `json:"asked"` // -1 = the first answer held everything
	Fetched   float64 `json:"fetched"`
	Ready     float64 `json:"ready"`
	Delivered float64 `json:"delivered"`
	Done      float64 `json:"done"`
	Bytes     int64   `json:"bytes"`
}

// Traffic is what the store of our own counted.
type Traffic struct {
	Requests map[string]int64 `json:"requests"` // GET, HEAD, LIST, other
	Bytes    int64            `json:"bytes"`
	Conns    int64            `json:"connections"`
	InFlight int64            `json:"in_flight"` // at most
}

// Sent is the number of requests of all kinds.
func (s *Sample) Sent() int64 {
	n := int64(0)
	for _, k := range s.Requests {
		n += k
	}
	return n
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func parseFloat(s string) (float64, error) { return strconv.ParseFloat(s, 64) }

// timeline gathers a scan's events into files. It is filled on many goroutines, through add.
type timeline struct {
	began time.Time
	mu    struct {
		sync.Mutex
		events []seen
		lead   time.Duration // from began to the scan's own clock, at most
		files  []File
	}
}

type seen struct {
	name    string
	ordinal int
	at      time.Duration // of the scan's clock
	took    time.Duration
	depth   int
	bytes   int64
}

// maxTimeline bounds what is kept: files.
const maxTimeline = 1024

// add is a hook of scans: an event told after it happened bounds how far the scan's clock is behind ours.
func (t *timeline) add(e source.Event) {
	lead := time.Since(t.began) - e.At
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.mu.events) == 0 || lead < t.mu.lead {
		t.mu.lead = lead
	}
	if e.Ordinal >= 0 {
		t.mu.events = append(t.mu.events, seen{e.Name, e.Ordinal, e.At, e.Duration, e.Depth, e.Bytes})
	}
}

func (t *timeline) at(n int) *File {
	for len(t.mu.files) <= n {
		t.mu.files = append(t.mu.files, File{Ordinal: len(t.mu.files), Claimed: -1, Admitted: -1, Opened: -1, Asked: -1, Fetched: -1, Ready: -1, Delivered: -1, Done: -1})
	}
	return &t.mu.files[n]
}

// batch notes that the consumer has one of file n.
func (t *timeline) batch(n int) {
	now := millis(time.Since(t.began))
	t.mu.Lock()
	defer t.mu.Unlock()
	if n < 0 || n >= maxTimeline {
		return
	}
	f := t.at(n)
	if f.Delivered < 0 {
		f.Delivered = now
	}
	f.Done = now
}

// finish fills a sample: files, when the first was claimed, and r, the rounds of the opening and one more for a file whose data needed
// requests of their own.
func (t *timeline) finish(s *Sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Plan = -1
	rounds, opens, waves := 0, 0, map[int]bool{}
	for _, e := range t.mu.events {
		at := millis(t.mu.lead + e.at)
		switch e.name {
		case "open":
			opens++
			rounds += e.depth
		case "wave":
			if e.bytes > 0 {
				waves[e.ordinal] = true
			}
		case "claim":
			if s.Plan < 0 || at < s.Plan {
				s.Plan = at
			}
		}
		if e.ordinal < maxTimeline {
			t.at(e.ordinal).event(e, at)
		}
	}
	if opens > 0 {
		s.Rounds = float64(rounds+len(waves)) / float64(opens)
	}
	s.Files = t.mu.files
}

func (f *File) event(e seen, at float64) {
	switch e.name {
	case "claim":
		f.Claimed = at
	case "open":
		f.Admitted, f.Opened, f.Fetched = at-millis(e.took), at, at
	case "wave":
		if e.bytes > 0 {
			f.Fetched = max(f.Fetched, at)
			f.Bytes += e.bytes
			if from := at - millis(e.took); f.Asked < 0 || from < f.Asked {
				f.Asked = from
			}
		}
	case "ready":
		f.Ready = at
	case "deliver":
		f.Done = at
	}
}
