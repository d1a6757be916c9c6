package source

import (
	"slices"
	"time"

	"github.com/lakescan/lakescan/object"
)

// work is a unit on its way through decoding. Its fields are guarded by scan.mu, except while a phase runs: then the last
// finisher of the phase owns it.
type work struct {
	slot   *slot
	wave   int
	seq    int
	unit   unit
	pieces *pieces
	first  *pieces  // before it asked for more
	held   []*piece // that it needs
	state  workState
	phase  int
	open   int // items of the phase not finished
	spent  time.Duration
	size   int64
	err    error

	landing int64 // bytes that it holds of what was fetched, or will

	undecided bool // may ask for more after its filter
	more      []object.Range

	batches []Batch // decoded, not delivered
}

type workState uint8

const (
	fetching workState = iota
	landed             // its bytes are there
	decoding
	decoded
)

// item is one piece of decode work: a column of a unit, or (column -1) a phase without columns.
type item struct {
	work   *work
	column int
}

// aheadBytes bounds the decoded bytes that wait for the consumer; the head unit is exempt.
const aheadBytes = 96 << 20

// admit starts decoding what may start: the units that consumers need next, always, then the rest in order and without
// barging while there is room for decoded bytes; mu is held.
func (s *scan) admit() {
	if s.mu.closed {
		return
	}
	for _, c := range s.cursors {
		s.admitHead(c.slot)
	}
	if s.mu.head < s.mu.next {
		s.admitHead(s.mu.at(s.mu.head))
	}
	for i := s.mu.head; i < s.mu.next; i++ {
		sl := s.mu.at(i)
		if sl == nil || sl.state == consumed {
			continue
		}
		if s.mu.failedAt >= 0 && i > s.mu.failedAt {
			return
		}
		for k, w := range sl.work {
			if w.state != landed || k > 0 && w.unit.follows() && sl.work[k-1].state != decoded {
				continue
			}
			w.measure()
			if s.mu.active >= 2*s.workers+1 || s.mu.ahead+w.size > aheadBytes || s.decoded.Bytes()+w.size > s.decoded.Allowed() {
				return
			}
			s.begin(w)
		}
	}
}

// admitHead starts the unit that a consumer of the slot needs next.
func (s *scan) admitHead(sl *slot) {
	if sl != nil && len(sl.work) > 0 && sl.work[0].state == landed {
		sl.work[0].measure()
		s.begin(sl.work[0])
	}
}

func (w *work) measure() {
	if w.size == 0 {
		w.size = max(1, w.unit.size())
	}
}

// begin starts the next phase of a landed unit.
func (s *scan) begin(w *work) {
	w.state = decoding
	s.mu.active++
	s.mu.ahead += w.size
	s.enqueue(w)
}

// enqueue puts the items of a unit's phase into the queue; mu is held.
func (s *scan) enqueue(w *work) {
	columns := w.unit.columns(w.phase)
	if w.phase == 0 && len(columns) == 0 {
		w.phase = 1
		columns = w.unit.columns(1)
	}
	if len(columns) == 0 {
		columns = []int{-1}
	}
	w.open = len(columns)
	at, _ := slices.BinarySearchFunc(s.mu.items, w, func(it item, w *work) int {
		if before := it.work.slot.index < w.slot.index || it.work.slot.index == w.slot.index && it.work.seq <= w.seq; before {
			return -1
		}
		return 1
	})
	for i, c := range columns {
		s.mu.items = slices.Insert(s.mu.items, at+i, item{w, c})
	}
	for range columns {
		switch {
		case s.mu.idle > 0:
			s.mu.idle--
			s.work.Signal()
		case s.mu.started < s.workers:
			s.mu.started++
			s.wg.Go(s.worker)
		}
	}
}

// worker decodes until the scan ends.
func (s *scan) worker() {
	s.mu.Lock()
	for {
		for len(s.mu.items) == 0 {
			if s.mu.closed {
				s.mu.Unlock()
				return
			}
			s.mu.idle++
			s.work.Wait()
		}
		if s.mu.closed {
			s.mu.Unlock()
			return
		}
		it := s.mu.items[0]
		s.mu.items = slices.Delete(s.mu.items, 0, 1)
		s.mu.Unlock()
		s.decode(it)
		s.mu.Lock()
	}
}

// help lets the consumer do an item of the unit that it waits for; mu is held on entry and on return.
func (s *scan) help(w *work) bool {
	if s.mu.closed {
		return false
	}
	for i, it := range s.mu.items {
		if it.work == w {
			s.mu.items = slices.Delete(s.mu.items, i, i+1)
			s.wg.Add(1) // Close waits for us as for a worker
			s.mu.Unlock()
			s.decode(it)
			s.wg.Done()
			s.mu.Lock()
			return true
		}
	}
	return false
}

// decode does one item, and what follows when it was the last of its phase.
func (s *scan) decode(it item) {
	w := it.work
	start := time.Now()
	var err error
	if it.column >= 0 {
		err = s.decodeColumn(w, it.column)
	}
	spent := time.Since(start)
	s.stats.decodeNanos.Add(int64(spent))
	s.mu.Lock()
	w.spent += spent
	if w.err == nil {
		w.err = err
	}
	w.open--
	last := w.open == 0
	s.mu.Unlock()
	if last {
		s.proceed(w)
	}
}

func (s *scan) decodeColumn(w *work, column int) (err error) {
	defer guard(&err)
	return w.unit.decode(s.ctx, column, w.pieces)
}

// proceed follows the end of a phase; the caller owns w.
func (s *scan) proceed(w *work) {
	if w.err == nil && w.phase == 0 {
		start := time.Now()
		more, err := s.narrow(w)
		w.spent += time.Since(start)
		if err == nil {
			s.mu.Lock()
			s.second(w, more)
			s.mu.Unlock()
			return
		}
		w.err = err
	}
	var batches []Batch
	if w.err == nil {
		start := time.Now()
		batches, w.err = s.finish(w)
		w.spent += time.Since(start)
	}
	w.unit.close()
	s.settle(w, batches)
}

// second starts phase 1, or has the file's goroutine fetch what it needs first; mu is held.
func (s *scan) second(w *work, more []object.Range) {
	w.phase = 1
	if w.undecided {
		w.undecided = false
		w.slot.undecided--
	}
	if len(more) == 0 {
		s.enqueue(w)
		nudge(w.slot.wake)
		return
	}
	w.more = more
	w.state = fetching
	s.mu.active--
	s.mu.ahead -= w.size
	w.slot.late = append(w.slot.late, w)
	nudge(w.slot.wake)
}

func (s *scan) narrow(w *work) (more []object.Range, err error) {
	defer guard(&err)
	return w.unit.narrow(s.ctx)
}

func (s *scan) finish(w *work) (b []Batch, err error) {
	defer guard(&err)
	return w.unit.finish(s.ctx)
}

// settle makes a decoded unit ready for its consumer and gives its bytes back.
func (s *scan) settle(w *work, batches []Batch) {
	s.stats.units.Add(1)
	w.unhold()
	s.mu.Lock()
	defer s.mu.Unlock()
	w.state = decoded
	w.batches = batches
	w.lands(-w.landing)
	if w.undecided {
		w.undecided = false
		w.slot.undecided--
		nudge(w.slot.wake)
	}
	sl := w.slot
	s.mu.depth.decoded(w.spent)
	switch {
	case s.mu.closed:
	case w.err != nil:
		f := file{task: &sl.task}
		w.err = f.fail(w.err)
		s.fail(sl, w.err)
	case sl.state == running:
		s.set(sl, ready)
		s.slotEvent("ready", sl, Event{})
	}
	s.admit()
	s.poke()
}

// unhold counts the unit out of what it needed.
func (w *work) unhold() {
	for _, p := range w.held {
		p.drop()
	}
	w.pieces.leave()
	if w.first != nil {
		w.first.leave()
	}
	w.held, w.pieces, w.first = nil, nil, nil
}

// discard throws a unit away at teardown, in whatever state; no goroutine works on it.
func (w *work) discard() {
	if w.state != decoded {
		w.unit.close()
		w.unhold()
	}
	for _, b := range w.batches {
		b.Record.Release()
	}
	w.batches = nil
}
