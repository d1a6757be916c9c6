package prefetchpool

import (
	"cmp"
	"container/heap"
	"time"
)

// admission decides which queued job starts next. It has no goroutine, no clock and no lock: the pool feeds it events, tells
// it the time, and keeps it under its own lock.
type admission struct {
	slots   int
	shares  []*share // one an open lane
	ready   []*share // of these: with queued jobs
	missing int      // heads that may still come: streams without a running awaited job
	running int
	bytes   int64 // held, from admission to give-back
	turn    uint64
	later   time.Time // when the pace lets a lane go on that nothing else holds back; zero = none does
	weights int64     // of the open lanes
	streams int       // of the open lanes
}

// share is one lane's part.
type share struct {
	weight  int64
	streams int
	window  int64     // bytes in flight allowed to speculation; 0 = no limit
	hold    int64     // bytes held, those of finished jobs included, allowed to speculation; 0 = no limit
	jobs    int       // running jobs up to which speculation starts more; 0 = no limit
	pace    float64   // bytes/s at which speculation starts; 0 = no limit
	debt    float64   // bytes started ahead of the pace
	paid    time.Time // when debt was brought up to date
	spans   []span

	ahead     entryHeap // speculative, lowest order first
	heads     entryHeap // awaited, oldest wait first
	running   int
	urgent    int   // of running: awaited
	bytes     int64 // held
	inFlight  int64 // of bytes: held by running jobs
	slotShare int
	index     int // in ready; meaningless without queued jobs

	held  holdup // what holds the next job back now
	since time.Time
	waits [holdups]time.Duration
}

// span is a half-open range of orders that a stream waits for.
type span struct{ from, to uint64 }

// holdup is what keeps a lane's next job from starting.
type holdup uint8

const (
	byNothing holdup = iota
	bySlots          // all are taken, or kept for heads
	byBytes          // of the process's budget
	bySelf           // the lane's own limits
	holdups
)

// account adds up, lane by lane, how long what held back its jobs did so. It is called when nothing more may start.
func (a *admission) account(allowed int64, now time.Time) {
	for _, s := range a.shares {
		h := byNothing
		if e := s.first(); e != nil {
			switch {
			case a.bytes+e.weight > allowed:
				h = byBytes
			case s.full(e.weight) || s.pace > 0 && s.debt > 0:
				h = bySelf
			default:
				h = bySlots
			}
		}
		if h != s.held {
			s.settleWait(now)
			s.held = h
		}
	}
}

func (s *share) settleWait(now time.Time) {
	if s.held != byNothing {
		s.waits[s.held] += now.Sub(s.since)
	}
	s.since = now
}

// entry is one job.
type entry struct {
	share  *share
	task   *task
	order  uint64
	seq    uint64 // submission, breaks ties of order
	since  uint64 // turn at which the wait began, 0 = nobody waits
	weight int64  // asked while queued, charged afterwards
	place  place
	index  int // in its heap
}

type place uint8

const (
	nowhere place = iota
	queued
	inSlot
	kept // done, bytes still charged
)

func (s *share) awaits(order uint64) bool {
	for _, p := range s.spans {
		if order >= p.from && order < p.to {
			return true
		}
	}
	return false
}

func (a *admission) open(s *share) {
	a.shares = append(a.shares, s)
	a.weights += s.weight
	a.streams += s.streams
	a.missing += s.missing()
	a.divide()
}

func (a *admission) close(s *share) {
	for i, x := range a.shares {
		if x == s {
			a.shares = append(a.shares[:i], a.shares[i+1:]...)
			a.weights -= s.weight
			a.streams -= s.streams
			a.missing -= s.missing()
			a.divide()
			return
		}
	}
}

// divide recomputes the slot shares: by weight, rounded up, at least one.
func (a *admission) divide() {
	for _, s := range a.shares {
		s.slotShare = int(max(1, (int64(a.slots-a.reserve())*s.weight+a.weights-1)/a.weights))
	}
}

// reserve is the most that speculation leaves free: one slot a stream, at most a quarter. A stream whose head runs has its
// slot already.
func (a *admission) reserve() int { return min(a.streams, a.slots/4) }

// missing is the number of streams that have no awaited job running.
func (s *share) missing() int { return max(0, s.streams-s.urgent) }

// setUrgent moves the number of running awaited jobs.
func (a *admission) setUrgent(s *share, d int) {
	a.missing -= s.missing()
	s.urgent += d
	a.missing += s.missing()
}

// push and pull keep a job in its heap and its lane in ready.
func (a *admission) push(e *entry) {
	s := e.share
	if s.first() == nil {
		s.index = len(a.ready)
		a.ready = append(a.ready, s)
	}
	heap.Push(e.heap(), e)
}

func (a *admission) pull(e *entry) {
	s := e.share
	heap.Remove(e.heap(), e.index)
	if s.first() == nil {
		last := len(a.ready) - 1
		a.ready[last].index = s.index
		a.ready[s.index] = a.ready[last]
		a.ready[last] = nil
		a.ready = a.ready[:last]
	}
}

// enqueue adds a job; one that a stream waits for already is awaited from the start.
func (a *admission) enqueue(e *entry) {
	a.turn++
	e.seq, e.place = a.turn, queued
	if e.since == 0 && e.share.awaits(e.order) {
		e.since = a.turn
	}
	a.push(e)
}

func (e *entry) heap() *entryHeap {
	if e.since > 0 {
		return &e.share.heads
	}
	return &e.share.ahead
}

// urge marks a job as awaited from now on.
func (a *admission) urge(e *entry) {
	a.turn++
	a.urgeSince(e, a.turn)
}

func (a *admission) urgeSince(e *entry, turn uint64) {
	if e.since > 0 {
		return
	}
	switch e.place {
	case queued:
		a.pull(e)
		e.since = turn
		a.push(e)
	case inSlot:
		e.since = turn
		a.setUrgent(e.share, 1)
	}
}

// wait tells that stream i of a lane waits for the orders of p; an empty span ends the wait. The queued jobs in it become
// awaited, all at the same turn, so they go by order among themselves.
func (a *admission) wait(s *share, i int, p span) {
	s.spans[i] = p
	if p.from >= p.to {
		return
	}
	var found []*entry
	for _, e := range s.ahead {
		if s.awaits(e.order) {
			found = append(found, e)
		}
	}
	a.turn++
	for _, e := range found {
		a.urgeSince(e, a.turn)
	}
}

// appLimited reports that the lane has less in flight than it may: nothing can be learnt about the link from that.
func (s *share) appLimited() bool {
	return s.first() == nil && (s.window == 0 || s.inFlight < s.window/2)
}

// next takes the job that may start now, or nil. allowed is the byte budget at this moment; over is what the job, being
// awaited, passes it by.
func (a *admission) next(allowed int64, now time.Time) (e *entry, over int64) {
	a.later = time.Time{} // first: left over from before, it would wake the pool again and again while the slots are full
	if a.running >= a.slots {
		return nil, 0
	}
	if e = a.oldestHead(); e == nil {
		e = a.fairest(allowed, now)
	}
	if e == nil {
		return nil, 0
	}
	s := e.share
	a.pull(e)
	e.place = inSlot
	a.running++
	s.running++
	if e.since > 0 {
		a.setUrgent(s, 1)
	}
	a.charge(s, e.weight)
	s.inFlight += e.weight
	s.pay(e.weight, now)
	return e, max(0, min(e.weight, a.bytes-allowed))
}

// oldestHead is rule 1.
func (a *admission) oldestHead() *entry {
	var best *entry
	for _, s := range a.ready {
		if len(s.heads) > 0 && s.urgent < s.streams {
			if h := s.heads[0]; best == nil || h.since < best.since {
				best = h
			}
		}
	}
	return best
}

// fairest is rule 2. The least served lane gets the next bytes even if they are not free yet, so that small jobs of others
// do not starve it; only a job that can never fit is passed over until somebody waits for it.
func (a *admission) fairest(allowed int64, now time.Time) *entry {
	if a.slots-a.running <= min(a.missing, a.slots/4) {
		return nil
	}
	var best *entry
	for _, s := range a.ready {
		e := s.first()
		if e.since == 0 && (e.weight > allowed || s.full(e.weight)) {
			continue
		}
		if e.since == 0 && s.pace > 0 {
			if s.settle(now); s.debt > 0 {
				if at := now.Add(max(time.Duration(s.debt/s.pace*float64(time.Second)), time.Microsecond)); a.later.IsZero() || at.Before(a.later) {
					a.later = at
				}
				continue
			}
		}
		if best == nil || lessServed(s, best.share) {
			best = e
		}
	}
	if best != nil && best.since == 0 && a.bytes+best.weight > allowed {
		return nil
	}
	return best
}

// full reports that the lane's own bounds leave no room for that many bytes of speculation. A lane that holds nothing may always
// start one job.
func (s *share) full(weight int64) bool {
	return s.window > 0 && s.inFlight > 0 && s.inFlight+weight > s.window || s.hold > 0 && s.bytes > 0 && s.bytes+weight > s.hold ||
		s.jobs > 0 && s.running >= s.jobs
}

// pay books the bytes of a job that starts.
func (s *share) pay(bytes int64, now time.Time) {
	if s.pace > 0 {
		s.settle(now)
		s.debt += float64(bytes)
	}
}

// settle works off the debt at the present pace. Time that was not used is lost, but for a grain that makes up for late timers.
func (s *share) settle(now time.Time) {
	s.debt = max(s.debt-s.pace*now.Sub(s.paid).Seconds(), -s.pace*paceGrain.Seconds())
	s.paid = now
}

const paceGrain = 2 * time.Millisecond

// first is the lane's next job: awaited ones before the rest.
func (s *share) first() *entry {
	switch {
	case len(s.heads) > 0:
		return s.heads[0]
	case len(s.ahead) > 0:
		return s.ahead[0]
	}
	return nil
}

// entryCharge stands for the cost of a request beside its bytes, so that tiny jobs count too.
const entryCharge = 64 << 10

func (s *share) served() int64 { return (s.bytes + int64(s.running)*entryCharge) / s.weight }

func lessServed(s, t *share) bool {
	if over, other := s.running >= s.slotShare, t.running >= t.slotShare; over != other {
		return other
	}
	return s.served() < t.served()
}

// finish returns the slot; the bytes stay until giveBack.
func (a *admission) finish(e *entry) {
	s := e.share
	e.place = kept
	a.running--
	s.running--
	s.inFlight -= e.weight
	if e.since > 0 {
		a.setUrgent(s, -1)
	}
}

// resize moves the charge of an admitted job, or the wish of a queued one.
func (a *admission) resize(e *entry, n int64) {
	n = max(n, 0)
	d := n - e.weight
	e.weight = n
	switch e.place {
	case inSlot:
		e.share.inFlight += d
		a.charge(e.share, d)
	case kept:
		a.charge(e.share, d)
	}
}

// giveBack ends an entry anywhere but in a slot.
func (a *admission) giveBack(e *entry) {
	switch e.place {
	case queued:
		a.pull(e)
	case kept:
		a.charge(e.share, -e.weight)
	}
	e.place = nowhere
}

func (a *admission) charge(s *share, d int64) {
	a.bytes += d
	s.bytes += d
}

// entryHeap orders by wait, then order, then submission. Awaited and speculative jobs lie in different heaps.
type entryHeap []*entry

func (h entryHeap) Len() int { return len(h) }
func (h entryHeap) Less(i, j int) bool {
	x, y := h[i], h[j]
	return cmp.Or(cmp.Compare(x.since, y.since), cmp.Compare(x.order, y.order), cmp.Compare(x.seq, y.seq)) < 0
}

func (h entryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is heap.Interface's.
func (h *entryHeap) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop is heap.Interface's.
func (h *entryHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
