package prefetchpool

import (
	"cmp"
	"slices"
	"time"
)

// Rate is what was learnt of a link from the jobs that called Ticket.Transferred; zero fields are unknown.
type Rate struct {
	Latency   time.Duration // the least of the recent small transfers
	Typical   time.Duration // their median
	Long      time.Duration // their long-term mean
	Bandwidth float64       // bytes/s of all jobs together, a mean that what our own side limited cannot lower
	PerJob    float64       // bytes/s of one transfer after its latency: the like
	Hint      float64       // bandwidth as bursts of short transfers show it: a guess, while Bandwidth is unknown
	Samples   int
	Cached    bool          // so far a cache has answered all that the lane asked for: Latency, Typical and Long are the cache's
	Store     time.Duration // the latency of the store itself; Latency unless Cached
	InFlight  int64         // bytes of the lane's running jobs
	Limited   bool          // the lane has less in flight than it may: now nothing can be learnt about the bandwidth
	Throttled int64         // of the lane: answers that asked for fewer requests
}

const (
	smallTransfer = 128 << 10
	largeTransfer = 1 << 20
	recentSmall   = 64
	forget        = 10 * time.Second
	leastNet      = 5 * time.Millisecond // a shorter transfer time is noise
	historyLength = 256
)

// link estimates one lane's link, or that of all lanes of one name. Plain: fed with times, it reads no clock.
type link struct {
	shared *link // of the same name, may be nil

	local     bool // what was learnt is of a cache
	samples   int
	recent    [recentSmall]time.Duration // ring of small transfers
	small     int                        // written to it
	typical   time.Duration              // their median; 0 = to be worked out
	long      float64                    // seconds
	floor     lowWater                   // of small transfers
	least     time.Duration              // of all transfers
	perJob    average
	bandwidth average
	hint      average
	history   [historyLength]movement // ring
	entries   int
}

// movement is when the bytes of a finished transfer moved: after its latency.
type movement struct {
	from, to time.Time
	bytes    int64
}

// average is the mean of the last samples.
type average struct {
	ring [16]float64
	n    int
}

// add feeds a sample. A limited one counts only if it lifts the mean: the link was not what limited.
func (a *average) add(x float64, limited bool) {
	if limited && x <= a.v() {
		return
	}
	a.ring[a.n%len(a.ring)] = x
	a.n++
}

func (a *average) v() float64 {
	n := min(a.n, len(a.ring))
	if n == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range a.ring[:n] {
		sum += x
	}
	return sum / float64(n)
}

// lowWater is a minimum over the last one to two times forget.
type lowWater struct {
	now, before time.Duration
	since       time.Time
}

func (l *lowWater) drop(x time.Duration, at time.Time) {
	if at.Sub(l.since) > forget {
		l.before, l.now, l.since = l.now, 0, at
	}
	if l.now == 0 || x < l.now {
		l.now = x
	}
}

func (l *lowWater) v() time.Duration {
	if l.before > 0 && l.before < l.now {
		return l.before
	}
	return l.now
}

// transfer is one finished job.
type transfer struct {
	start, end time.Time
	bytes      int64
	beside     float64 // bytes that transfers still under way have got meanwhile, estimated
	limited    bool    // the lane had less in flight than it might
	local      bool    // a cache answered: it tells nothing of the link
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

// observe learns from one finished transfer. What a cache answers tells how near that is as long as nothing else was asked for; the store's
// first answer starts anew.
func (k *link) observe(t transfer) {
	switch {
	case t.local && k.samples > 0 && !k.local:
		return
	case !t.local && k.local:
		*k = link{shared: k.shared}
	}
	k.local = t.local
	k.learn(t)
	if k.shared != nil && !t.local {
		k.shared.learn(t)
	}
}

func (k *link) learn(t transfer) {
	d := max(t.end.Sub(t.start), time.Nanosecond)
	k.samples++
	if k.least == 0 || d < k.least {
		k.least = d
	}
	if t.bytes <= smallTransfer {
		k.recent[k.small%recentSmall] = d
		k.small++
		k.typical = 0
		k.floor.drop(d, t.end)
		k.long += (d.Seconds() - k.long) / float64(min(k.small, 4*recentSmall))
	}
	latency := k.latency()
	net := d - latency
	k.history[k.entries%historyLength] = movement{t.end.Add(-max(net, 0)), t.end, t.bytes}
	k.entries++
	if net < leastNet { // too quick to tell the transfer from the latency
		if k.bandwidth.n > 0 {
			k.bandwidth.add(k.moved(t.start, t.end), true)
		}
		return
	}
	all := k.moved(t.end.Add(-net), t.end) + t.beside/net.Seconds()
	k.hint.add(all, t.limited)
	if net >= latency/4 || k.bandwidth.n > 0 {
		k.bandwidth.add(all, t.limited || net < latency/4)
	}
	if t.bytes >= largeTransfer {
		k.perJob.add(float64(t.bytes)/net.Seconds(), t.limited)
	}
}

// moved is the mean rate of the finished transfers over a stretch of time, each taken as even.
func (k *link) moved(from, to time.Time) float64 {
	if !from.Before(to) {
		return 0
	}
	sum := 0.0
	for i := range min(k.entries, historyLength) {
		m := &k.history[i]
		a, b := m.from, m.to
		if a.Before(from) {
			a = from
		}
		if b.After(to) {
			b = to
		}
		switch whole := m.to.Sub(m.from); {
		case a.After(b):
		case whole <= 0:
			sum += float64(m.bytes)
		default:
			sum += float64(m.bytes) * float64(b.Sub(a)) / float64(whole)
		}
	}
	return sum / to.Sub(from).Seconds()
}

func (k *link) latency() time.Duration {
	if v := k.floor.v(); v > 0 {
		return v
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
	r := Rate{Latency: k.latency(), Bandwidth: k.bandwidth.v(), PerJob: k.perJob.v(), Hint: k.hint.v(), Samples: k.samples, Cached: k.local}
	if r.Store = r.Latency; k.local {
		r.Store = 0
	}
	if s := k.shared; s != nil { // what this lane has not seen yet
		r.Store = cmp.Or(r.Store, s.latency())
		r.Bandwidth, r.PerJob, r.Hint = cmp.Or(r.Bandwidth, s.bandwidth.v()), cmp.Or(r.PerJob, s.perJob.v()), cmp.Or(r.Hint, s.hint.v())
	}
	r.Long = time.Duration(k.long * float64(time.Second))
	if n := min(k.small, recentSmall); n > 0 {
		if k.typical == 0 {
			s := k.recent
			slices.Sort(s[:n])
			k.typical = s[n/2]
		}
		r.Typical = k.typical
	} else {
		r.Typical, r.Long = r.Latency, r.Latency
	}
	return r
}
