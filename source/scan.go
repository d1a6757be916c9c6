package source

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/lakescan/lakescan/memory"
)

// scan is the running half of a Reader at depth > 0.
type scan struct {
	cfg     Config
	format  format
	tasks   iter.Seq2[Task, error]
	ctx     context.Context
	cancel  context.CancelCauseFunc
	reads   *reads
	stats   *counters
	decoded *memory.Elastic
	workers int // most decode goroutines
	opened  time.Time

	wg        sync.WaitGroup // claimer, file goroutines, workers
	claimWake chan struct{}
	asked     <-chan struct{} // of the file claimed last: closed when it has asked for its first bytes; the claimer's
	lookAlone bool            // files may be read alone; the claimer's
	cursors   []*cursor       // by stream
	solo      *inline         // reads files alone; guarded by mu
	work      *sync.Cond      // on mu: items, or the end
	telling   sync.Mutex      // keeps events in order; before mu

	mu struct {
		sync.Mutex
		window
		depth     controller
		items     []item // decode work, in order
		started   int    // workers
		idle      int    // of these: waiting
		active    int    // units decoding, or decoded and not consumed
		ahead     int64  // estimated bytes of these
		closed    bool
		limitLeft int64 // rows still wanted, -1 = all
		alone     alone
		begun     int   // goroutines of files
		idling    bool  // the task claimed last waits for its consumer alone: so may the next ones, beyond the depth
		planned   int64 // bytes of the files claimed, as the plan tells them
		claimRows int64 // rows that claimed files hold at least, for Limit
		needed    bool  // with Limit: all files so far are sure to be consumed whole, so more are needed until they cover it
		waits     waitStats
		endedAt   time.Time // end of the scan, for Stats
		events    []Event   // to be emitted
		depthLog  []DepthChange
		noted     int // depth last logged
	}
}

// waitStats is what the consumers did.
type waitStats struct {
	heads         int64
	fetch, decode time.Duration
	consumer      time.Duration
}

// slot is one file on its way. Fields are guarded by scan.mu but for task and index, which never change.
type slot struct {
	index int
	task  Task
	state state
	err   error

	waves     int     // of the plan; -1 = not known yet
	coming    int64   // bytes of the waves not launched; an estimate until it is opened
	landing   int64   // bytes of the launched ones that are not decoded
	launched  int     // waves whose reads were submitted
	oldest    int     // wave that is on its way or, if none is, comes next
	seq       int     // units so far
	work      []*work // units of launched waves, in order, not consumed
	late      []*work // of these: want more bytes after their filter
	undecided int     // units that may still ask for more
	ended     bool    // no more units will come
	gone      bool    // its goroutine has returned: what has not landed never will
	parked    bool    // its goroutine waits for room
	stream    int     // that consumes it, -1 = none
	alone     bool    // read by the consumer that comes to it; nothing happens before
	early     bool    // claimed while another file was consumed
	needed    bool    // Limit wants its rows for sure
	cancel    context.CancelFunc
	wake      chan struct{} // pokes its goroutine; nil = it has none
}

// remaining is the number of waves that the slot still has before it is consumed; an estimate until it is opened.
func (sl *slot) remaining() int {
	switch {
	case sl.waves < 0:
		return sl.task.expectedWaves()
	case len(sl.work) > 0:
		return sl.waves - sl.work[0].wave
	}
	return sl.waves - sl.launched
}

// newScan starts the claimer.
func newScan(ctx context.Context, tasks iter.Seq2[Task, error], cfg Config, f format, workers int) *scan {
	s := &scan{cfg: cfg, format: f, tasks: tasks, stats: &counters{}, opened: time.Now(), claimWake: make(chan struct{}, 1)}
	s.workers = workers
	if workers == 0 {
		s.workers = runtime.GOMAXPROCS(0)
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.decoded = cfg.Budget.Elastic(memory.Decoded, 0).Named("scan")
	if f == nil {
		s.format = newParquetFormat(s.ctx, cfg, s.stats, s.decoded)
	}
	s.reads = &reads{store: cfg.Store, lane: cfg.Lane, stats: s.stats, account: cfg.Budget.Elastic(memory.Prefetch, 0).Named("scan")}
	s.work = sync.NewCond(&s.mu)
	for range cfg.Streams {
		s.cursors = append(s.cursors, &cursor{wake: make(chan struct{}, 1), stepped: s.opened})
	}
	s.mu.window = newWindow()
	s.mu.alone.off = cfg.Depth != Auto
	s.mu.limitLeft = -1
	if cfg.Limit > 0 {
		s.mu.limitLeft, s.mu.needed = cfg.Limit, true
	}
	s.mu.depth = newController(cfg, s.workers, cfg.Lane.Rate())
	s.note()
	cfg.Lane.Steer(s.mu.depth.limits())
	s.wg.Go(s.claimAll)
	return s
}

// claimAll is the claimer: it pulls tasks, outside every lock, while the window has room.
func (s *scan) claimAll() {
	err := s.claimTasks()
	s.mu.Lock()
	if err != nil && !s.mu.closed { // planning failed: an error at the place of the file that did not come
		sl := s.mu.claim(Task{Ordinal: s.mu.next})
		sl.err, sl.ended, sl.waves = err, true, 0
		s.set(sl, failed)
	}
	s.mu.ended = true
	s.poke()
	s.mu.Unlock()
}

func (s *scan) claimTasks() (err error) {
	defer guard(&err)
	if !s.awaitClaim() {
		return nil
	}
	for t, err := range s.tasks {
		if err != nil {
			return err
		}
		if err := fpClaimPause.Do(s.ctx); err != nil {
			return err
		}
		alone := s.lookAlone && fitsAlone(&t, s.cfg.Store)
		if !alone && !s.awaitRoom() {
			return nil
		}
		if !s.claim(t, alone) && !s.awaitClaim() {
			return nil
		}
	}
	return nil
}

// awaitClaim waits for room and reports whether there is any use in another file.
func (s *scan) awaitClaim() bool {
	for {
		s.mu.Lock()
		stop := s.noMore()
		room := s.mayClaim(s.mu.alone.ahead())
		s.lookAlone = !s.mu.alone.off
		s.mu.Unlock()
		if stop || room {
			return !stop
		}
		select {
		case <-s.claimWake:
		case <-s.ctx.Done():
			return false
		}
	}
}

// noMore reports that there is no use in another file; mu is held.
func (s *scan) noMore() bool {
	return s.mu.closed || s.mu.failedAt >= 0 || s.mu.limitLeft == 0 || s.covered()
}

// mayClaim reports that there is room for another file; mu is held.
func (s *scan) mayClaim(idle int) bool {
	return s.mu.depth.mayClaim(&s.mu.window) || s.mu.needed && s.mu.live() < s.mu.depth.most || s.mu.idling && s.mu.live() < idle
}

// nudgeClaimer wakes the claimer if it has anything to do; mu is held. Where files are read by their consumers, it would otherwise be
// woken for each.
func (s *scan) nudgeClaimer() {
	if s.noMore() || s.mayClaim(s.mu.alone.ahead()/2) {
		nudge(s.claimWake)
	}
}

// covered reports that the claimed files surely hold all the rows that Limit wants.
func (s *scan) covered() bool { return s.cfg.Limit > 0 && s.mu.claimRows >= s.cfg.Limit }

// claim puts a task into the window and, unless its consumer will read it alone, starts its goroutine. It reports whether another may follow
// at once: a consumer that reads files itself shares the lock with the claimer, which takes it once a file.
func (s *scan) claim(t Task, alone bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return false
	}
	s.place(t, alone)
	s.lookAlone = !s.mu.alone.off
	return !s.noMore() && s.mayClaim(s.mu.alone.ahead())
}

// place is claim; mu is held.
func (s *scan) place(t Task, alone bool) {
	sl := s.mu.claim(t)
	s.mu.planned += t.expectedBytes()
	if !alone {
		sl.coming = t.expectedBytes()
		if s.mu.depth.planned(s.mu.planned, s.cfg.Lane.Rate()) {
			s.cfg.Lane.Steer(s.mu.depth.limits())
			s.note()
		}
	}
	sl.alone, s.mu.idling = alone, alone && !s.cfg.StopsEarly && s.cfg.Limit == 0
	sl.early = sl.index > s.mu.head && !alone
	if t.certain() {
		s.mu.claimRows += t.Rows
	}
	s.mu.needed = s.mu.needed && t.certain()
	sl.needed = s.mu.needed
	if t.knownEmpty() {
		sl.coming = 0
		sl.ended, sl.waves = true, 0
		s.set(sl, empty)
		s.stats.filesEmpty.Add(1)
		s.poke()
		return
	}
	if sl.early {
		s.stats.prefetched.Add(1)
	}
	for _, c := range s.cursors { // one that ran out of slots waits on this one now
		if c.slot == nil {
			nudge(c.wake)
		}
	}
	if alone {
		return
	}
	s.mu.begun++
	ctx, cancel := context.WithCancel(s.ctx)
	sl.cancel, sl.wake = cancel, make(chan struct{}, 1)
	s.set(sl, queued)
	s.slotEvent("claim", sl, Event{Depth: s.mu.next - s.mu.head - 1})
	turn, asks := s.asked, make(chan struct{})
	s.asked = asks
	s.wg.Go(func() {
		defer cancel()
		s.emit() // the claim, before the first request
		s.readFile(ctx, sl, turn, asks)
		s.emit()
	})
}

// certain reports that the task's recorded rows are all delivered: nothing filters or deletes.
func (t *Task) certain() bool {
	return t.Rows > 0 && t.Filter == nil && t.Select.All() && t.Deletes.Empty()
}

// knownEmpty reports that the plan selects no row at all, so the file is never opened.
func (t *Task) knownEmpty() bool { return !t.Select.All() && t.Select.Count(1<<62) == 0 }

// poke tells everybody that waits that the state has changed; mu is held.
func (s *scan) poke() {
	for _, c := range s.cursors {
		nudge(c.wake)
	}
	s.nudgeClaimer()
	for i := s.mu.head; i < s.mu.next; i++ {
		if sl := s.mu.at(i); sl != nil && sl.parked {
			nudge(sl.wake)
		}
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// stop ends all work; it joins nothing. mu is held.
func (s *scan) stop(cause error) {
	if s.mu.closed {
		return
	}
	s.mu.closed = true
	s.mu.endedAt = time.Now()
	s.cancel(cause)
	s.work.Broadcast()
	s.poke()
}

// close joins everything and gives back what is held. Called once.
func (s *scan) close() {
	s.mu.Lock()
	s.stop(ErrClosed)
	s.mu.Unlock()
	s.cfg.Lane.Close()
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := s.mu.head; i < s.mu.next; i++ {
		sl := s.mu.at(i)
		if sl == nil || sl.state == consumed {
			continue
		}
		s.drop(sl)
	}
	s.format.close()
	s.decoded.Close()
	s.reads.account.Close()
}

// drop throws away what a slot still holds; mu is held and no goroutine works on it.
func (s *scan) drop(sl *slot) {
	for _, w := range sl.work {
		w.discard()
	}
	sl.work = nil
	switch sl.state {
	case claimed, queued, running:
		s.stats.cancel.Add(1)
		s.set(sl, cancelled)
	case ready:
		if sl.early && sl.stream < 0 {
			s.stats.unused.Add(1)
		}
		s.set(sl, cancelled)
	}
}

// fail marks a slot as failed and cancels what lies behind it: nothing of that will be delivered. mu is held.
func (s *scan) fail(sl *slot, err error) {
	if sl.state == failed || sl.state == cancelled || sl.state == consumed {
		return
	}
	sl.err, sl.ended = err, true
	s.set(sl, failed)
	s.slotEvent("error", sl, Event{Err: err})
	for i := sl.index + 1; i < s.mu.next; i++ {
		if later := s.mu.at(i); later != nil && later.cancel != nil {
			later.cancel()
		}
	}
	s.poke()
}
