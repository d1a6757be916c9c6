package source

import (
	"context"
	"slices"
	"time"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/prefetchpool"
)

const (
	// pieceBytes is the largest single request: large enough to hide the latency, small enough that a head unit is never
	// more than one such piece behind.
	pieceBytes = 8 << 20
	// waveBytes is about what is fetched together for one file.
	waveBytes = 16 << 20
)

// expectedWaves is a guess from the plan.
func (t *Task) expectedWaves() int {
	return int(max(1, t.expectedBytes()/waveBytes))
}

// expectedBytes is a guess from the plan: 0 = none.
func (t *Task) expectedBytes() int64 {
	n := t.ColumnBytes
	if n <= 0 || t.File.Size > 0 && n > t.File.Size {
		n = t.File.Size
	}
	return max(n, 0)
}

// readFile is a file's goroutine: it opens the file and fetches its waves as far ahead as there is room. It holds no slot of
// the pool while it waits.
func (s *scan) readFile(ctx context.Context, sl *slot, turn <-chan struct{}, asks chan struct{}) {
	f := newFile(&sl.task, sl.index, s.reads)
	f.wake, f.turn, f.asks = sl.wake, turn, asks
	defer f.pass()
	f.began = func() { s.advance(sl, queued, running) }
	err := s.fetchFile(ctx, sl, f)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.begun--
	sl.ended, sl.gone, sl.coming = true, true, 0
	switch {
	case err != nil && ctx.Err() == nil:
		s.fail(sl, f.fail(err))
	case err != nil: // the echo of a teardown, or of a failure before this file
		sl.err = err
	case len(sl.work) == 0 && sl.state == running:
		s.set(sl, empty)
		s.stats.filesEmpty.Add(1)
		s.slotEvent("empty", sl, Event{})
	}
	s.admit()
	s.poke()
}

// advance moves a slot if it is in the state from.
func (s *scan) advance(sl *slot, from, to state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sl.state == from {
		s.set(sl, to)
	}
}

func (s *scan) fetchFile(ctx context.Context, sl *slot, f *file) (err error) {
	defer guard(&err)
	if err := fpOpenPause.DoKey(ctx, sl.task.File.Location.Recorded); err != nil {
		return err
	}
	c, err := s.format.open(ctx, f)
	if err != nil {
		return err
	}
	defer c.close()
	rate := s.cfg.Lane.Rate()
	s.mu.Lock()
	if sl.state == queued { // nothing had to be fetched
		s.set(sl, running)
	}
	sl.waves = c.waves()
	_, sl.coming = c.ahead()
	s.mu.depth.opened(f.rounds, sl.waves, f.got, rate)
	if s.mu.depth.near {
		s.reads.near.Store(rate.Typical < beside)
	}
	s.throttle(rate)
	s.slotEvent("open", sl, Event{Depth: f.rounds, Duration: f.took})
	s.cfg.Lane.Steer(s.mu.depth.limits()) // before the poke: those who wait for room look at it
	s.poke()
	s.mu.Unlock()
	s.emit()
	return s.fetchWaves(ctx, sl, f, c)
}

// fetchWaves launches waves while there is room, and hands units over as their bytes land.
func (s *scan) fetchWaves(ctx context.Context, sl *slot, f *file, c content) error {
	var flying []*flight
	for {
		late := s.launchable(sl)
		for _, w := range late {
			flying = append(flying, s.launchLate(ctx, f, w))
		}
		for sl.launched < sl.waves && c.may() && s.room(sl, c) {
			fl, err := s.launch(ctx, sl, f, c)
			if err != nil {
				return err
			}
			flying = append(flying, fl)
		}
		done, err := s.landed(sl, f, c, &flying)
		if err != nil || done {
			return err
		}
		select {
		case <-sl.wake: // a read has ended, a unit wants more, or there is room
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// launchable takes the units that want more bytes after their filter.
func (s *scan) launchable(sl *slot) []*work {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := sl.late
	sl.late = nil
	return late
}

// room reports whether the file's next wave may be launched now: the waves before it are fewer than the depth, and
// beside what they hold or still will there is memory for it. Those are its own, and, until a consumer has the file in hand, those of
// the files before it. Were it the first to ask that gets the memory, files far ahead would hold it until they are consumed, and those
// before them would have to be fetched one after the other.
func (s *scan) room(sl *slot, c content) bool {
	bytes, _ := c.ahead()
	s.mu.Lock()
	defer s.mu.Unlock()
	before, holds := 0, sl.landing
	for i := s.mu.head; i < sl.index && sl.stream < 0; i++ {
		if o := s.mu.at(i); o != nil && o.state != consumed {
			before += o.remaining()
			holds += o.coming + o.landing
		}
	}
	if len(sl.work) > 0 {
		before += sl.launched - sl.work[0].wave
	}
	fits := holds == 0 || bytes == 0 || holds+bytes <= s.cfg.Lane.Room()
	sl.parked = !(s.mu.depth.mayLaunch(before) && fits) && !(sl.needed && sl.launched == 0)
	return !sl.parked
}

// flight is a wave, or the late part of a unit, on its way.
type flight struct {
	list  []*piece
	works []*work
	left  []int   // by work: pieces still missing
	users [][]int // by piece: the works that need it
	here  int     // pieces landed
	bytes int64
	took  time.Duration // of the slowest piece

	wave   int
	stream *stream // makes the works when it has landed
}

// launch submits the reads of a slot's next wave.
func (s *scan) launch(ctx context.Context, sl *slot, f *file, c content) (*flight, error) {
	i := sl.launched
	wv, err := c.wave(i)
	if err != nil {
		return nil, err
	}
	fl := &flight{works: make([]*work, len(wv.units)), left: make([]int, len(wv.units)), wave: i, stream: wv.stream}
	first := make([]int, len(wv.spans)+1) // the pieces of span k are first[k]…first[k+1]
	for k, r := range wv.spans {
		fl.add(ctx, f, i+1, r)
		first[k+1] = len(fl.list)
	}
	shared := (&pieces{list: fl.list, account: s.reads.account}).with(wv.held)
	shared.users.Store(int32(len(wv.units)))
	if wv.stream != nil {
		wv.stream.own(wv, fl.list)
	}
	fl.users = make([][]int, len(fl.list))
	if len(wv.held) > 0 {
		s.stats.reused.Add(int64(len(wv.units)))
	}
	for u, un := range wv.units {
		w := &work{slot: sl, wave: i, unit: un, pieces: shared, undecided: wv.late, held: slices.Clone(wv.held)}
		for _, k := range wv.needs[u] {
			for p := first[k]; p < first[k+1]; p++ {
				fl.left[u]++
				fl.users[p] = append(fl.users[p], u)
				w.held = append(w.held, fl.list[p])
			}
		}
		for _, p := range w.held {
			p.refs.Add(1)
		}
		if fl.left[u] == 0 {
			w.state = landed
		}
		fl.works[u] = w
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sl.launched++
	sl.waves = c.waves()
	_, sl.coming = c.ahead()
	for _, w := range fl.works {
		w.lands(fl.bytes / int64(len(fl.works)))
		w.seq = sl.seq
		sl.seq++
		if w.undecided {
			sl.undecided++
		}
	}
	sl.work = append(sl.work, fl.works...)
	s.stats.waves.Add(1)
	s.admit()
	return fl, nil
}

// launchLate submits what a unit wants after its filter.
func (s *scan) launchLate(ctx context.Context, f *file, w *work) *flight {
	fl := &flight{works: []*work{w}, wave: w.wave}
	for _, r := range w.more {
		fl.add(ctx, f, w.wave+1, r)
	}
	fl.left = []int{len(fl.list)}
	fl.users = make([][]int, len(fl.list))
	for i, p := range fl.list {
		p.refs.Add(1)
		fl.users[i] = []int{0}
	}
	both := w.pieces.with(fl.list)
	s.mu.Lock()
	defer s.mu.Unlock()
	w.held = append(w.held, fl.list...)
	w.first, w.pieces = w.pieces, both
	w.lands(fl.bytes)
	return fl
}

// lands books bytes that the unit holds until it is decoded; mu is held.
func (w *work) lands(bytes int64) {
	w.landing += bytes
	w.slot.landing += bytes
}

func (fl *flight) add(ctx context.Context, f *file, wave int, r object.Range) {
	for _, part := range split(r, pieceBytes) {
		p := &piece{span: part}
		p.read = f.reads.start(ctx, f.request(wave, len(fl.list), part))
		fl.list = append(fl.list, p)
		fl.bytes += part.Len
	}
}

// landed takes the pieces that are there, in whatever order they came, and hands over the units that are complete. It reports
// whether the file is fetched.
func (s *scan) landed(sl *slot, f *file, c content, flying *[]*flight) (done bool, err error) {
	for _, fl := range *flying {
		for i, p := range fl.list {
			if p.here || !p.read.ready() {
				continue
			}
			a, err := p.read.wait(context.Background()) // does not block: it is done
			if err != nil {
				return false, err
			}
			f.pin(a.info)
			p.here = true
			fl.here++
			fl.took = max(fl.took, a.took)
			s.land(fl, i)
		}
		if fl.here < len(fl.list) {
			continue
		}
		if fl.stream != nil {
			if err := s.streamed(sl, fl, c); err != nil {
				return false, err
			}
		}
		s.flown(sl, fl)
	}
	*flying = slices.DeleteFunc(*flying, func(fl *flight) bool { return fl.here == len(fl.list) })
	s.mu.Lock()
	defer s.mu.Unlock()
	sl.oldest = sl.launched
	for _, fl := range *flying {
		sl.oldest = min(sl.oldest, fl.wave)
	}
	return sl.launched == sl.waves && len(*flying) == 0 && sl.undecided == 0 && len(sl.late) == 0, nil
}

// streamed hands over the units of a stream that a wave has completed.
func (s *scan) streamed(sl *slot, fl *flight, c content) error {
	units, err := fl.stream.land()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range units {
		w := &work{slot: sl, wave: fl.wave, seq: sl.seq, unit: u.unit, pieces: u.pieces(s.reads.account), held: u.held, state: landed}
		sl.seq++
		fl.works = append(fl.works, w)
		sl.work = append(sl.work, w)
	}
	sl.waves = c.waves()
	nudge(sl.wake) // the next wave may be planned
	s.admit()
	return err
}

// land counts a piece that came.
func (s *scan) land(fl *flight, piece int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	any := false
	for _, u := range fl.users[piece] {
		if fl.left[u]--; fl.left[u] == 0 {
			fl.works[u].state = landed
			any = true
		}
	}
	if any {
		s.admit()
	}
}

// throttle tells the controller how many answers asked for fewer requests; mu is held.
func (s *scan) throttle(rate prefetchpool.Rate) {
	running := 0
	if rate.Throttled > s.mu.depth.throttles {
		running = s.cfg.Lane.Stats().Running
	}
	s.mu.depth.throttled(rate.Throttled, running, time.Now())
}

// flown tells the controller about a fetched wave.
func (s *scan) flown(sl *slot, fl *flight) {
	s.stats.fetchNanos.Add(int64(fl.took))
	rate := s.cfg.Lane.Rate()
	s.mu.Lock()
	s.mu.depth.fetched(fl.bytes, len(fl.list), len(fl.works), rate)
	s.throttle(rate)
	s.slotEvent("wave", sl, Event{Bytes: fl.bytes, Duration: fl.took})
	s.note()
	s.cfg.Lane.Steer(s.mu.depth.limits())
	s.poke()
	s.mu.Unlock()
	s.emit()
}
