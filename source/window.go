package source

// window is the ring of slots: which files are on their way, and which is next. It is a plain struct, fed events under the
// scan's lock.
//
//	consumed │ head … next-1: live, at most the depth │ not claimed yet
//
// State transitions, each exactly once a slot, with the owner of the change:
//
//	claimed ─(file goroutine)─▶ queued ─(its first answer)─▶ running ─(file goroutine, worker)─▶ ready | empty | failed
//	claimed, queued, running, ready ─(teardown, an error before it)─▶ cancelled
//	ready, empty, failed, cancelled ─(consumer)─▶ consumed
type window struct {
	ring     []*slot // index modulo length
	head     int     // lowest slot not consumed
	next     int     // index of the next claim
	ended    bool    // no more claims: next is the number of files
	failedAt int     // lowest failed index, -1 = none; nothing behind it is delivered
	done     int     // consumed
	spare    []*slot // to be used again
}

type state uint8

const (
	claimed state = iota
	queued
	running
	ready
	empty
	failed
	cancelled
	consumed
)

var stateNames = [...]string{"claimed", "queued", "running", "ready", "empty", "failed", "cancelled", "consumed"}

func (s state) String() string { return stateNames[s] }

// allowed are the transitions; the rest is a fault of ours.
var allowedTransitions = [...][]state{
	claimed:   {queued, empty, failed, cancelled},
	queued:    {running, failed, cancelled},
	running:   {ready, empty, failed, cancelled},
	ready:     {failed, cancelled, consumed}, // failed: a later row group of it
	empty:     {consumed},
	failed:    {consumed},
	cancelled: {consumed},
	consumed:  {},
}

func newWindow() window { return window{ring: make([]*slot, 8), failedAt: -1} }

// live is the number of slots claimed and not consumed.
func (w *window) live() int { return w.next - w.done }

func (w *window) at(i int) *slot { return w.ring[i%len(w.ring)] }

// claim creates the next slot.
func (w *window) claim(t Task) *slot {
	if w.next-w.head == len(w.ring) {
		bigger := make([]*slot, 2*len(w.ring))
		for i := w.head; i < w.next; i++ {
			bigger[i%len(bigger)] = w.at(i)
		}
		w.ring = bigger
	}
	s := &slot{}
	if n := len(w.spare); n > 0 {
		s, w.spare = w.spare[n-1], w.spare[:n-1]
	}
	s.index, s.task, s.stream, s.waves = w.next, t, -1, -1
	w.ring[w.next%len(w.ring)] = s
	w.next++
	return s
}

// recycle takes back a slot that nobody knows any more.
func (w *window) recycle(s *slot) {
	*s = slot{}
	w.spare = append(w.spare, s)
}

// set moves a slot; a transition that is not allowed panics, since rows would be lost or doubled.
func (w *window) set(s *slot, to state) {
	for _, ok := range allowedTransitions[s.state] {
		if ok == to {
			s.state = to
			if to == consumed {
				w.done++
			}
			if to == failed && (w.failedAt < 0 || s.index < w.failedAt) {
				w.failedAt = s.index
			}
			for w.head < w.next && w.at(w.head).state == consumed {
				w.ring[w.head%len(w.ring)] = nil
				w.head++
			}
			return
		}
	}
	panic("source: slot " + s.state.String() + " cannot become " + to.String())
}

// take gives a stream its next slot. In file order it is the lowest that no stream has, whatever its state, so the
// consumer waits on it; in arrival order the lowest that is ready, and while none is, nil with wait set. Empty slots are
// consumed on the way, never a stop. nil without wait is the end.
func (w *window) take(stream int, order Order) (s *slot, wait bool) {
	open := false
	for i := w.head; i < w.next && (w.failedAt < 0 || i <= w.failedAt); i++ {
		c := w.at(i)
		switch {
		case c == nil || c.state == consumed || c.stream >= 0:
			continue
		case c.state == empty:
			w.set(c, consumed)
			continue
		case order == FileOrder || c.state == ready || c.alone && c.state == claimed || c.state == failed && i == w.lowestOpen():
			// A failed slot is reported when nothing before it can still be delivered or fail: the lowest error wins.
			c.stream = stream
			return c, false
		}
		open = true
	}
	return nil, open || !w.ended && w.failedAt < 0
}

// lowestOpen is the lowest slot not consumed, or next.
func (w *window) lowestOpen() int {
	for i := w.head; i < w.next; i++ {
		if w.at(i).state != consumed {
			return i
		}
	}
	return w.next
}
