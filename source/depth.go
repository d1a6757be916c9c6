package source

import (
	"math"
	"time"

	"github.com/lakescan/lakescan/prefetchpool"
)

// controller says how far ahead the scan reads. It is a plain struct fed with what happened, under the scan's lock: no
// clock, no goroutine.
//
// Per wave (a file, or about 16 MiB of a large one) it keeps moving means of bytes S, requests R, decode time d and consumer
// time u, and from the link's rates it works out
//
//	F = r·L + S/min(B, R·b)                      the time that fetching one takes, with nothing else on the link
//	c = max(d/T, u/streams, R·L/C, S/B)          the time that one costs however deep the look-ahead is
//	J = ⌈1.25·F/c⌉ (doubled by waits) + what the decoders hold
//
// F uses the unloaded latency and the best rate of one connection: measured under load it would grow with J and J with it.
// S/B counts only once the bandwidth has stopped growing with what is in flight (filled); before, the depth would be cut by
// a bandwidth that was measured too low.
type controller struct {
	fixed   int // files ahead, -1 = auto
	streams int
	workers int
	most    int // slots of the lane: more files ahead than requests make no sense

	depth  int
	near   bool // the store answers at once: cached or local
	slow   bool // started at 1: doubling on waits until the model is met
	boost  int  // doublings beyond the model
	calm   int  // files consumed since the last wait
	files  int  // consumed: before as many as the depth is, a wait tells of the start and not of it
	reason string

	opens     mean          // serial rounds of an opening
	opening   mean          // bytes of one: of a small file, all of it
	waves     mean          // of a file
	bytes     mean          // of a wave
	requests  mean          // of a wave
	units     mean          // of a wave
	decode    mean          // seconds of a unit
	consumer  mean          // seconds of a file
	flight    mean          // bytes in flight when a wave has landed
	spent     time.Duration // consumer time since the last wave
	rate      prefetchpool.Rate
	pipe      pipe
	cut       time.Time // of the last throttling
	throttles int64     // answers that asked for fewer requests
	jobs      int       // requests that may run because of them, 0 = as many as the pool allows

	ups, downs int64
	deepest    int
}

// mean is an exponential moving mean that starts at its first value.
type mean struct {
	v float64
	n int
}

func (m *mean) add(x float64) {
	m.n++
	m.v += (x - m.v) / float64(min(m.n, 8))
}

// quick is the latency under which a store counts as near: cached or local.
const quick = 2 * time.Millisecond

func newController(cfg Config, workers int, rate prefetchpool.Rate) controller {
	c := controller{fixed: -1, streams: cfg.Streams, workers: workers, most: max(1, cfg.Lane.Pool().Slots()), rate: rate}
	c.pipe = newPipe(rate, workers)
	switch near := rate.Samples > 0 && rate.Latency < quick; {
	case cfg.Depth > 0:
		c.fixed = int(cfg.Depth)
		c.depth = c.fixed
		c.reason = "fixed"
	case cfg.StopsEarly || cfg.Limit > 0:
		c.depth, c.slow, c.reason = 1, true, "stops early"
	case near:
		c.depth, c.slow, c.reason = 1, true, "near store"
	default:
		c.depth, c.reason = c.most, "start"
	}
	c.deepest = c.depth
	return c
}

// mayClaim reports whether another file may be claimed: fewer than depth are ahead of those in the consumers' hands, and so
// is what they consist of.
func (c *controller) mayClaim(w *window) bool {
	live := w.live()
	if live < c.streams {
		return true
	}
	if live >= c.depth+c.streams {
		return false
	}
	if c.fixed >= 0 {
		return true
	}
	waves := 0
	for i := w.head; i < w.next; i++ {
		if s := w.at(i); s != nil && s.state != consumed {
			waves += max(1, s.remaining())
		}
	}
	return waves < c.depth+c.streams
}

// mayLaunch reports whether a wave may be fetched that has so many waves before it, not yet consumed.
func (c *controller) mayLaunch(before int) bool { return before < max(c.depth+c.streams, 2) }

// opened learns from an opening.
func (c *controller) opened(rounds, waves int, bytes int64, rate prefetchpool.Rate) {
	c.opens.add(float64(rounds))
	c.opening.add(float64(bytes))
	c.waves.add(float64(waves))
	c.rate = rate
	c.pipe.observe(bytes, rate)
	if c.near = c.fixed < 0 && rate.Samples >= 2 && rate.Latency < quick; c.near {
		c.startNear()
	}
}

// planned learns, before anything was opened, how many bytes the files claimed so far have and what planning has shown of the link. It
// reports whether that changed the limits.
func (c *controller) planned(bytes int64, rate prefetchpool.Rate) bool {
	if c.opens.n > 0 {
		return false
	}
	if rate.Samples > 0 && rate.Latency < quick {
		c.startNear()
	}
	return c.pipe.planned(bytes, rate)
}

// startNear takes back what was trusted to an unknown store.
func (c *controller) startNear() {
	if c.reason == "start" {
		c.slow = true
		c.set(1, "near store")
		if c.opens.n == 0 { // it has not been used
			c.deepest = c.depth
		}
	}
}

// fetched learns from a wave that has landed.
func (c *controller) fetched(bytes int64, requests, units int, rate prefetchpool.Rate) {
	c.bytes.add(float64(bytes))
	c.units.add(float64(units))
	c.requests.add(float64(requests))
	c.flight.add(float64(rate.InFlight))
	c.rate = rate
	c.pipe.observe(bytes, rate)
	c.adjust("model")
}

// decoded learns from a decoded unit.
func (c *controller) decoded(spent time.Duration) { c.decode.add(spent.Seconds()) }

// consumerSpent learns how long the consumer kept what it got.
func (c *controller) consumerSpent(d time.Duration) { c.spent += d }

// consumed learns that a file is done with.
func (c *controller) consumed() {
	c.consumer.add(c.spent.Seconds())
	c.spent = 0
	c.calm++
	c.files++
	if c.boost > 0 && c.calm >= 2*c.depth {
		c.boost--
		c.calm = 0
	}
	c.adjust("calm")
}

// waited learns that the consumer waited: for bytes, or for decoders of which some had nothing to do. It reports whether the
// depth went up.
func (c *controller) waited(d time.Duration, bytes, starved bool) bool {
	if d <= 0 || !bytes && !starved || bytes && d.Seconds() <= c.fetchTime()/10 {
		return false
	}
	c.calm = 0
	was := c.depth
	switch {
	case c.slow:
		if bytes || c.depth < c.workers {
			c.set(2*c.depth, "wait")
		}
		if c.known() && c.depth >= c.model() {
			c.slow = false
		}
	case bytes && !c.linkBound() && c.depth < c.most && c.known() && c.files >= c.depth:
		c.boost++
		c.adjust("wait")
	}
	return c.depth > was
}

// throttled learns how many answers so far asked for fewer requests (503, 429), and how many of the scan's requests run. When there
// are new ones, requests and depth fall to 0.7 of what they were, once in a few round trips: sooner, the cut before does not show yet.
// Later every wave without another lets one request more run; the depth grows again by waits alone.
func (c *controller) throttled(answers int64, running int, now time.Time) {
	if answers == c.throttles {
		if c.jobs > 0 && now.Sub(c.cut) >= mostRefractory {
			if c.jobs++; c.jobs >= c.most {
				c.jobs = 0
			}
		}
		return
	}
	c.throttles = answers
	if now.Sub(c.cut) < min(max(4*c.rate.Latency, leastRefractory), mostRefractory) {
		return
	}
	c.cut = now
	if c.jobs == 0 || c.jobs > running {
		c.jobs = max(running, 1)
	}
	c.jobs = max(c.jobs*7/10, 1)
	c.boost, c.slow = 0, true
	c.set(int(float64(c.depth)*0.7), "throttled")
}

const (
	leastRefractory = 200 * time.Millisecond
	mostRefractory  = time.Second
)

// known reports that the model has figures for all its terms.
func (c *controller) known() bool {
	return c.decode.n >= 2 && c.bytes.n >= 2 && c.rate.Samples >= 2
}

func (c *controller) fetchTime() float64 {
	f := max(c.opens.v, 1) * c.rate.Latency.Seconds()
	if b := c.linkRate(); b > 0 {
		f += c.waveBytes() / b
	}
	return f
}

// waveBytes is what a wave costs the link, with its part of the opening.
func (c *controller) waveBytes() float64 { return c.bytes.v + c.opening.v/max(c.waves.v, 1) }

// linkRate is what one wave gets of an idle link.
func (c *controller) linkRate() float64 {
	b := c.rate.Bandwidth
	if one := c.rate.PerJob * max(c.requests.v, 1); one > 0 && (b == 0 || one < b) {
		b = one
	}
	return b
}

// cost is c, and the name of the term that rules.
func (c *controller) cost() (float64, string) {
	latency := c.rate.Latency.Seconds()
	type term struct {
		v    float64
		name string
	}
	best := term{c.decode.v * max(c.units.v, 1) / float64(c.workers), "decode"}
	perFile := max(c.waves.v, 1)
	for _, t := range []term{
		{c.consumer.v / perFile / float64(c.streams), "consumer"},
		{(c.requests.v + c.opens.v/perFile) * latency / float64(c.most), "requests"},
	} {
		if t.v > best.v {
			best = t
		}
	}
	if c.pipe.filled && c.rate.Bandwidth > 0 {
		if t := c.waveBytes() / c.rate.Bandwidth; t > best.v {
			best = term{t, "link"}
		}
	}
	return best.v, best.name
}

// linkBound reports that more files ahead could not make the bytes come faster: the link rules, and what is in flight fills it.
func (c *controller) linkBound() bool {
	_, name := c.cost()
	return name == "link" && c.flight.v >= 1.5*c.rate.Bandwidth*c.rate.Latency.Seconds()+float64(c.pipe.piece)
}

// model is J.
func (c *controller) model() int {
	cost, _ := c.cost()
	if cost <= 0 {
		return c.most
	}
	j := math.Ceil(1.25*c.fetchTime()/cost) * math.Exp2(float64(min(c.boost, 16)))
	return int(min(j, float64(c.most))) + min(c.workers, c.most)
}

// adjust follows the model; small corrections are not worth a decision.
func (c *controller) adjust(why string) {
	if c.fixed >= 0 || c.slow || !c.known() {
		return
	}
	if j := c.model(); j-c.depth > c.depth/8 || c.depth-j > c.depth/8 {
		c.set(j, why)
	}
}

// limits are the lane's: what may be in flight, and what may be held, landed bytes that wait for the decoder included. More
// than the depth's worth brings nothing: until the model knows its terms, that is what an unknown link is trusted with.
func (c *controller) limits() prefetchpool.Limits {
	l := prefetchpool.Limits{InFlight: c.pipe.limit, Jobs: c.jobs, Pace: c.pipe.pace}
	switch {
	case c.fixed >= 0: // what was asked for, as far as the pool has room
	case !c.known():
		l.Held = firstWindow
	default:
		l.Held = clampWindow(float64(c.depth+c.streams)*c.waveBytes()*heldSlack + 2*pieceBytes)
	}
	return l
}

// heldSlack is for waves larger than the mean, and for buffers larger than what is in them.
const heldSlack = 1.25

func (c *controller) set(depth int, why string) {
	depth = min(max(depth, 1), c.most)
	if c.fixed >= 0 || depth == c.depth {
		return
	}
	if depth > c.depth {
		c.ups++
	} else {
		c.downs++
	}
	c.depth, c.reason = depth, why
	c.deepest = max(c.deepest, depth)
}

// pipe decides how fast requests start and how many bytes may be in flight: enough to fill the link, no more, so that what is
// waited for does not share it with what is far ahead. Requests that start all at once over a shared link end all at once,
// and the link lies idle until the next ones are answered; paced at the link's speed they end one after the other, in order.
//
// While the bandwidth still grows (from what little the footers showed), the pace is twice of it; once two rounds brought no
// more, a quarter above it: enough to notice a link that has become faster.
type pipe struct {
	workers int
	start   int64 // limit while nothing is known
	limit   int64
	pace    float64 // bytes/s, 0 = as fast as can be
	filled  bool
	high    float64 // bandwidth of the best round
	moved   int64   // bytes in this round
	piece   int64   // of the largest request, about
	flat    int     // rounds without growth
}

const (
	firstWindow = 96 << 20
	firstPace   = 1e9 // so that the first requests do not end all at once
	leastWindow = 2 * pieceBytes
	leastSlack  = 1 << 20
	mostWindow  = 1 << 30
	grown       = 1.25 // a round that gains less is flat
	flatRounds  = 2
)

// newPipe trusts an unknown link with what the decoders use up in a round trip, or with a quarter of the scan where that is more. By then
// what comes first has shown what the link brings. On a narrow link all that is asked for at once arrives at the same time, the last file
// with the first, and nothing is decoded before.
func newPipe(r prefetchpool.Rate, workers int) pipe {
	p := pipe{workers: workers}
	p.begin(0, r)
	p.steer(r)
	return p
}

// planned is the controller's.
func (p *pipe) planned(bytes int64, r prefetchpool.Rate) bool {
	if p.limit != p.start || p.moved > 0 {
		return false
	}
	was := *p
	p.begin(bytes, r)
	p.steer(r)
	return *p != was
}

// begin spreads the first window over a round trip, so that the first requests do not end all at once and leave the link idle until the
// next are answered.
func (p *pipe) begin(bytes int64, r prefetchpool.Rate) {
	p.start, p.pace = firstWindow, firstPace
	if r.Samples > 0 {
		p.start = clampStart(max(float64(bytes)/4, usualDecode*float64(p.workers)*r.Latency.Seconds()))
		p.pace = min(float64(p.start)/max(r.Latency.Seconds(), 1e-9), firstPace)
	}
	p.limit = p.start
}

func clampStart(x float64) int64 { return int64(min(max(x, leastWindow), firstWindow)) }

// usualDecode is taken for what one decoder takes in, bytes/s, before it was measured.
const usualDecode = 150e6

// observe counts what landed; a round is one bandwidth-delay product, or half a window while the bandwidth does not show.
func (p *pipe) observe(bytes int64, r prefetchpool.Rate) {
	p.moved += bytes
	p.piece = max(p.piece, min(bytes, pieceBytes))
	round := max(r.Bandwidth*r.Latency.Seconds(), leastWindow)
	if r.Bandwidth == 0 {
		round = float64(p.limit / 2)
	}
	if float64(p.moved) >= round {
		p.moved = 0
		switch {
		case r.Bandwidth == 0: // the link takes what it is given
			p.pace *= 2
			p.limit = clampWindow(2 * float64(p.limit))
		case r.Bandwidth > p.high*grown:
			p.high, p.flat, p.filled = r.Bandwidth, 0, false
		case r.Limited: // so it could not have grown
		default:
			p.flat++
			p.filled = p.filled || p.flat >= flatRounds
		}
	}
	p.steer(r)
}

func (p *pipe) steer(r prefetchpool.Rate) {
	bdp := r.Bandwidth * r.Latency.Seconds()
	slack := float64(min(6*max(p.piece, leastSlack), 2*pieceBytes)) // for what starts while others end
	switch {
	case p.filled:
		p.pace = grown * r.Bandwidth
		p.limit = int64(min(2*bdp+slack, mostWindow))
	case r.Bandwidth > 0:
		p.pace = 2 * r.Bandwidth
		p.limit = int64(min(3*bdp+slack, mostWindow))
	case r.Hint > 0 && p.limit <= firstWindow:
		p.pace = min(2*r.Hint, firstPace)
		p.limit = int64(min(max(2*r.Hint*r.Latency.Seconds()+2*pieceBytes, float64(p.start)), firstWindow))
	}
}

func clampWindow(x float64) int64 { return int64(min(max(x, leastWindow), mostWindow)) }
