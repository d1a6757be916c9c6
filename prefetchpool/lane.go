package prefetchpool

import "time"

// LaneConfig: Weight 0 = 1 (its part of the pool beside other lanes); Streams 0 = 1 (awaited jobs admitted over the share).
type LaneConfig struct {
	Name            string
	Weight, Streams int
	// Link names what the lane's jobs talk to, an endpoint say. Lanes of one name share what is known of its latency and
	// bandwidth, so that a second scan need not learn it again; "" = nothing is shared.
	Link string
}

// Lane is a scan's share of the pool: planning, index look-up, delete files and data of one scan use one lane. It is safe for
// concurrent use.
type Lane struct {
	pool *Pool
	name string

	// guarded by pool.mu
	share  share
	closed bool
	tasks  *task // all that are queued, running or not yet released: a ring list
	idle   chan struct{}
	link   *link
	stats  Stats
}

// Lane opens a scan's share. A lane of a closed pool refuses all work.
func (p *Pool) Lane(c LaneConfig) *Lane {
	l := &Lane{pool: p, name: c.Name}
	l.share.weight = int64(max(c.Weight, 1))
	l.share.streams = max(c.Streams, 1)
	l.share.spans = make([]span, l.share.streams)
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.closed = p.mu.closed; l.closed {
		l.link = newLink(nil)
		return l
	}
	l.link = newLink(p.linkOf(c.Link))
	p.mu.lanes[l] = struct{}{}
	p.mu.open(&l.share)
	return l
}

// Name is the configured one.
func (l *Lane) Name() string { return l.name }

// Pool is the pool that the lane is a part of.
func (l *Lane) Pool() *Pool { return l.pool }

// Streams is the configured number.
func (l *Lane) Streams() int { return l.share.streams }

// Head tells that stream (0 ≤ stream < Streams) waits now for the jobs with from ≤ Order < to: its head unit, all of which it
// needs to move on. They are awaited, those submitted later too, so they go first and over the budget if need be. An empty
// range ends the wait; jobs marked before stay marked.
func (l *Lane) Head(stream int, from, to uint64) {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.share.spans[stream] == (span{from, to}) {
		return
	}
	p.mu.wait(&l.share, stream, span{from, to})
	if from >= to {
		return
	}
	for t := range l.all {
		if t.place == inSlot && l.share.awaits(t.order) {
			p.mu.urge(&t.entry)
		}
	}
	p.pump()
}

// Limits bound the speculation of a lane; 0 = no bound but the pool's. What somebody waits for is not bounded.
type Limits struct {
	InFlight int64   // bytes of running jobs; one job may always run
	Held     int64   // bytes of running and of finished jobs until their Release
	Jobs     int     // running jobs
	Pace     float64 // bytes/s at which jobs start, so that they do not share the link with what is needed before them
}

// Steer sets the lane's limits, at any time.
func (l *Lane) Steer(m Limits) {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	l.share.window, l.share.hold, l.share.jobs, l.share.pace = max(m.InFlight, 0), max(m.Held, 0), max(m.Jobs, 0), max(m.Pace, 0)
	p.pump()
}

// Throttled counts an answer of the store that asked for fewer requests (503, 429).
func (l *Lane) Throttled() {
	l.pool.mu.Lock()
	l.stats.Throttle++
	l.pool.mu.stats.Throttle++
	l.pool.mu.Unlock()
}

// Stats of this lane, at any time.
func (l *Lane) Stats() Stats {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	s := l.stats
	s.Running, s.Bytes, s.InFlight = l.share.running, l.share.bytes, l.share.inFlight
	s.Queued = len(l.share.ahead) + len(l.share.heads)
	l.share.settleWait(time.Now())
	s.SlotWait, s.BudgetWait, s.LimitWait = l.share.waits[bySlots], l.share.waits[byBytes], l.share.waits[bySelf]
	return s
}

// Room is how many bytes the pool's budget lets the lane hold now, those that it holds included. Limits are not looked at.
func (l *Lane) Room() int64 {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.allowed()-(p.mu.bytes-l.share.bytes), 0)
}

// Rate is what the lane knows of its link.
func (l *Lane) Rate() Rate {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	r := l.link.rate()
	r.Throttled, r.InFlight, r.Limited = l.stats.Throttle, l.share.inFlight, l.share.appLimited()
	return r
}

// Share is the number of slots that the lane may count on while others are busy too.
func (l *Lane) Share() int {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	busy, weights := l.share.weight, l.share.weight
	for _, s := range l.pool.mu.shares {
		if s != &l.share && (s.running > 0 || s.first() != nil) {
			weights += s.weight
		}
	}
	return max(1, int(int64(l.pool.mu.slots)*busy/weights))
}

// Close unlinks the lane's queued jobs, cancels and joins its running ones, and discards values that nobody took; it never
// waits for another lane's work. Values already awaited stay charged until their Release. Idempotent, and every caller
// returns only when all is over.
func (l *Lane) Close() {
	p := l.pool
	p.mu.Lock()
	if !l.closed {
		l.closed = true
		delete(p.mu.lanes, l)
		for t := range l.all {
			switch t.place {
			case queued:
				t.drop(ErrClosed)
			case inSlot:
				t.cancel(ErrClosed)
			}
		}
		p.pump()
	}
	for l.share.running > 0 {
		if l.idle == nil {
			l.idle = make(chan struct{})
		}
		idle := l.idle
		p.mu.Unlock()
		<-idle
		p.mu.Lock()
	}
	var unused []*task
	for t := range l.all {
		if t.place == kept && !t.taken {
			unused = append(unused, t)
			t.giveBack()
		}
	}
	p.mu.close(&l.share)
	p.pump()
	p.mu.Unlock()
	for _, t := range unused {
		t.runner.discard()
	}
}

// all ranges over the lane's live tasks; the current one may be unlinked.
func (l *Lane) all(yield func(*task) bool) {
	for t := l.tasks; t != nil; {
		next := t.next
		if !yield(t) {
			return
		}
		t = next
	}
}
