package prefetchpool

import (
	"math"
	"slices"
	"time"
)

// Rate is what was learnt of a link from the jobs that called Ticket.Transferred; zero fields are unknown.
type Rate struct {
	Latency   time.Duration // the least of the recent small transfers
	Typical   time.Duration // their median
	Long      time.Duration // their long-term mean
	Bandwidth float64       // bytes/s of all jobs together: a high-water mark with a half-life of 10 s
	PerJob    float64       // bytes/s of one large transfer after its latency
	Samples   int
}

const (
	smallTransfer = 128 << 10
	largeTransfer = 1 << 20
	recentSmall   = 64
	halfLife      = 10 * time.Second
)

// link estimates one lane's link, or that of all lanes of one name. Plain: fed with times, it reads no clock.
type link struct {
	shared *link // of the same name, may be nil

	samples   int
	recent    [recentSmall]time.Duration // ring of small transfers
	small     int                        // written to it
	long      float64                    // seconds
	least     time.Duration              // of all transfers
	perJob    float64
	delivered int64
	high      float64
	highAt    time.Time
}

// mark is the state at the start of a transfer.
type mark struct {
	at                time.Time
	delivered, shared int64
}

func newLink(shared *link) *link { return &link{shared: shared} }

// maxLinks bounds the table of names.
const maxLinks = 256

// linkOf finds the shared estimate of a name; the lock is held.
func (p *Pool) linkOf(name string) *link {
	if name == "" {
		return nil
	}
	k := p.mu.links[name]
	if k == nil {
		if len(p.mu.links) >= maxLinks {
			clear(p.mu.links)
		}
		k = newLink(nil)
		p.mu.links[name] = k
	}
	return k
}

func (k *link) begin(now time.Time) mark {
	m := mark{at: now, delivered: k.delivered}
	if k.shared != nil {
		m.shared = k.shared.delivered
	}
	return m
}

// observe learns from one finished transfer. A lane that had less in flight than it might (limited) can raise the bandwidth
// but not lower it: the link was not the limit.
func (k *link) observe(m mark, now time.Time, bytes int64, limited bool) {
	k.learn(m.at, m.delivered, now, bytes, limited)
	if k.shared != nil {
		k.shared.learn(m.at, m.shared, now, bytes, limited)
	}
}

func (k *link) learn(start time.Time, delivered int64, now time.Time, bytes int64, limited bool) {
	d := max(now.Sub(start), time.Nanosecond)
	k.samples++
	if k.least == 0 || d < k.least {
		k.least = d
	}
	switch {
	case bytes <= smallTransfer:
		k.recent[k.small%recentSmall] = d
		k.small++
		k.long += (d.Seconds() - k.long) / float64(min(k.small, 4*recentSmall))
	case bytes >= largeTransfer:
		if net := d - k.latency(); net > 0 {
			r := float64(bytes) / net.Seconds()
			if k.perJob == 0 {
				k.perJob = r
			}
			k.perJob += (r - k.perJob) / 8
		}
	}
	k.delivered += bytes
	r := float64(k.delivered-delivered) / d.Seconds()
	switch high := k.bandwidth(now); {
	case r >= high:
		k.high, k.highAt = r, now
	case limited:
		k.highAt = now // the time spent idle does not count against the link
	default:
		k.high, k.highAt = high, now
	}
}

// bandwidth is the mark decayed to now.
func (k *link) bandwidth(now time.Time) float64 {
	if k.high == 0 {
		return 0
	}
	return k.high * math.Exp2(-now.Sub(k.highAt).Seconds()/halfLife.Seconds())
}

func (k *link) latency() time.Duration {
	if n := min(k.small, recentSmall); n > 0 {
		return slices.Min(k.recent[:n])
	}
	return k.least
}

func (k *link) rate() Rate {
	if k.samples == 0 {
		if k.shared != nil {
			return k.shared.rate()
		}
		return Rate{}
	}
	r := Rate{Latency: k.latency(), Bandwidth: k.high, PerJob: k.perJob, Samples: k.samples}
	r.Long = time.Duration(k.long * float64(time.Second))
	if n := min(k.small, recentSmall); n > 0 {
		s := slices.Clone(k.recent[:n])
		slices.Sort(s)
		r.Typical = s[n/2]
	} else {
		r.Typical, r.Long = r.Latency, r.Latency
	}
	return r
}
