package prefetchpool

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lakescan/lakescan/internal/script"
)

// machine drives an admission by text:
//
//	pool slots=8 allowed=100      lane a weight=1 streams=1 window=0 hold=0 jobs=0
//	submit a name order=1 weight=10    head a stream=0 from=1 to=5    urge name
//	start          prints what is admitted until nothing more is
//	finish name… release name…    resize name to=5    allow to=50    close a    pace a to=1000    time ms=5
type machine struct {
	admission
	allowed int64
	now     time.Time
	lanes   map[string]*share
	jobs    map[string]*entry
}

func (m *machine) step(l script.Line) string {
	switch l.Cmd {
	case "pool":
		m.slots, m.allowed = int(l.Int("slots", 8)), l.Int("allowed", math.MaxInt64)
		m.divide()
	case "allow":
		m.allowed = l.Int("to", 0)
	case "lane":
		s := &share{weight: l.Int("weight", 1), streams: int(l.Int("streams", 1)), window: l.Int("window", 0), hold: l.Int("hold", 0), jobs: int(l.Int("jobs", 0))}
		s.spans = make([]span, s.streams)
		m.lanes[l.Arg(0)] = s
		m.open(s)
	case "pace":
		m.lanes[l.Arg(0)].pace = l.Float("to", 0)
	case "time":
		m.now = time.UnixMilli(l.Int("ms", 0))
	case "close":
		m.admission.close(m.lanes[l.Arg(0)])
	case "submit":
		for _, name := range l.Args[1:] {
			e := &entry{share: m.lanes[l.Arg(0)], order: uint64(l.Int("order", int64(len(m.jobs)))), weight: l.Int("weight", 0)}
			m.jobs[name] = e
			m.enqueue(e)
		}
	case "head":
		m.wait(m.lanes[l.Arg(0)], int(l.Int("stream", 0)), span{uint64(l.Int("from", 0)), uint64(l.Int("to", 0))})
	case "urge":
		m.urge(m.jobs[l.Arg(0)])
	case "start":
		return m.start()
	case "finish":
		for _, name := range l.Args {
			m.finish(m.jobs[name])
		}
	case "release":
		for _, name := range l.Args {
			m.giveBack(m.jobs[name])
		}
	case "resize":
		m.resize(m.jobs[l.Arg(0)], l.Int("to", 0))
	default:
		return "unknown command " + l.Cmd
	}
	return ""
}

func (m *machine) start() string {
	var out []string
	for {
		e, over := m.next(m.allowed, m.now)
		if e == nil {
			break
		}
		for name, j := range m.jobs {
			if j == e {
				if over > 0 {
					name += fmt.Sprintf("(over %d)", over)
				}
				out = append(out, name)
			}
		}
	}
	later := ""
	if !m.later.IsZero() {
		later = fmt.Sprintf(" | again at %d ms", m.later.UnixMilli())
	}
	return fmt.Sprintf("%s | running %d bytes %d%s", strings.Join(out, " "), m.running, m.bytes, later)
}

func TestAdmissionScripts(t *testing.T) {
	t.Parallel()
	script.Run(t, "testdata/*.txt", func(testing.TB) func(script.Line) string {
		m := &machine{lanes: map[string]*share{}, jobs: map[string]*entry{}}
		return m.step
	})
}

// TestAdmissionLedger plays random events and checks the counters against a recount, the cap, and the byte bound
// used <= allowed + awaited, for any order of events.
func TestAdmissionLedger(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := newRand(seed)
		a := &admission{slots: 1 + r.IntN(8)}
		var lanes []*share
		for range 1 + r.IntN(4) {
			s := &share{weight: 1 + r.Int64N(3), streams: 1 + r.IntN(2)}
			s.spans = make([]span, s.streams)
			lanes = append(lanes, s)
			a.open(s)
		}
		allowed := 50 + r.Int64N(100)
		var live []*entry
		for range 300 {
			switch k := r.IntN(10); {
			case k < 4:
				e := &entry{share: lanes[r.IntN(len(lanes))], order: r.Uint64N(50), weight: r.Int64N(60)}
				live = append(live, e)
				a.enqueue(e)
			case k < 5:
				from := r.Uint64N(50)
				a.wait(lanes[r.IntN(len(lanes))], 0, span{from, from + r.Uint64N(5)})
			case len(live) > 0:
				i := r.IntN(len(live))
				e := live[i]
				switch {
				case e.place == inSlot:
					a.finish(e)
				case k < 7 && e.place == queued:
					a.urge(e)
				default:
					a.giveBack(e)
					live = slices.Delete(live, i, i+1)
				}
			}
			for e, _ := a.next(allowed, time.Time{}); e != nil; e, _ = a.next(allowed, time.Time{}) {
			}
			recount(t, seed, a, live, allowed)
		}
	}
}

func recount(t *testing.T, seed uint64, a *admission, live []*entry, allowed int64) {
	t.Helper()
	var running int
	var bytes, awaited int64
	for _, e := range live {
		switch e.place {
		case inSlot:
			running++
			bytes += e.weight
		case kept:
			bytes += e.weight
		default:
			continue
		}
		if e.since > 0 {
			awaited += e.weight
		}
	}
	if running != a.running || bytes != a.bytes {
		t.Fatalf("seed %d: running %d bytes %d, counted %d %d", seed, a.running, a.bytes, running, bytes)
	}
	if running > a.slots {
		t.Fatalf("seed %d: %d running in %d slots", seed, running, a.slots)
	}
	if bytes > allowed+awaited {
		t.Fatalf("seed %d: %d bytes held, %d allowed, %d awaited", seed, bytes, allowed, awaited)
	}
	var lanes int64
	for _, s := range a.shares {
		lanes += s.bytes
	}
	if lanes != bytes {
		t.Fatalf("seed %d: lanes hold %d of %d", seed, lanes, bytes)
	}
}
