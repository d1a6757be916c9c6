package source

import (
	"time"

	"github.com/lakescan/lakescan/object"
)

// A small file that is at hand is read by the consumer that comes to it, as at depth 0: to hand it to other goroutines and back takes
// longer than to read it. alone decides; it is a plain struct, and belongs to the scan's lock.
type alone struct {
	off   bool // never, or no more
	files int  // read so
	slow  int  // of these
}

const (
	// aloneBytes is the most that is wanted of such a file, and aloneSize the size of the largest.
	aloneBytes = 128 << 10
	aloneSize  = 1 << 20
	// dear is several times what passing a file through other goroutines costs. A file that takes so long, or whose consumer does, is better read
	// beside; and it may lie on a network after all.
	dear = 250 * time.Microsecond
	// aloneAhead is how many such tasks wait for their consumer, planned but not begun; at half of them planning goes on. To wake the claimer
	// takes as long as to read a small file.
	aloneAhead = 256
)

// fitsAlone reports whether a file is one to be read so.
func fitsAlone(t *Task, s object.Store) bool {
	size := t.File.Size
	return size > 0 && size <= aloneSize && t.expectedBytes() <= aloneBytes && t.Deletes.Empty() &&
		object.AtHand(s, t.File.Location, object.Range{Len: size}, object.ReadOptions{Size: size, ETag: t.File.ETag})
}

// ahead is how many such tasks may wait: few until some have shown that they are at hand, and where some have not.
func (a *alone) ahead() int { return min(aloneAhead, 8+8*max(a.files-4*a.slow, 0)) }

// read learns from one: what it took, and what the consumer has spent with how many files so far. A process is put aside now and then, so
// that one file was slow says nothing.
func (a *alone) read(took, consumer time.Duration, files int) {
	a.files++
	if took > dear {
		a.slow++
	}
	if a.slow > 2+a.files/4 || files >= 8 && consumer/time.Duration(files) > dear {
		a.off = true
	}
}

// awaitRoom waits with a task in hand that is not to be read alone, until there is room for it by the depth.
func (s *scan) awaitRoom() bool {
	s.mu.Lock()
	waits := s.mu.idling
	s.mu.idling = false
	s.mu.Unlock()
	return !waits || s.awaitClaim()
}

// readAlone reads the whole file of the slot in hand on the consumer's goroutine; mu is held on entry and on return.
func (s *scan) readAlone(c *cursor) {
	sl := c.slot
	s.set(sl, queued)
	s.set(sl, running)
	if s.mu.closed {
		return
	}
	if s.solo == nil {
		s.solo = s.newSolo()
	}
	solo := s.solo
	s.wg.Add(1) // Close waits for us as for a file's goroutine
	s.mu.Unlock()
	start, f := time.Now(), newFile(&sl.task, sl.index, &solo.reads)
	w := &c.own
	*w = work{slot: sl, state: decoded, batches: c.got[:0]}
	err := solo.whole(f, &w.batches)
	c.got = w.batches
	took := time.Since(start)
	s.mu.Lock()
	defer s.wg.Done()
	if s.mu.alone.files == 0 {
		s.mu.depth.startNear()
		s.note()
	}
	s.mu.alone.read(took, s.mu.waits.consumer, s.mu.done)
	sl.ended, sl.gone, sl.waves = true, true, 0
	if len(w.batches) > 0 {
		sl.work = append(c.one[:0], w)
		sl.waves, sl.launched = 1, 1
	}
	switch {
	case err != nil && s.ctx.Err() == nil:
		s.fail(sl, f.fail(err))
	case err != nil: // the echo of a teardown
		sl.err = err
	case len(w.batches) == 0:
		s.set(sl, empty)
		s.stats.filesEmpty.Add(1)
		s.slotEvent("empty", sl, Event{})
	default:
		s.set(sl, ready)
		s.slotEvent("ready", sl, Event{})
	}
}

// newSolo is the way of depth 0 with what the scan has: its format, its accounts, its events.
func (s *scan) newSolo() *inline {
	n := &inline{cfg: s.cfg, format: s.format, ctx: s.ctx, stats: s.stats, opened: s.opened, left: -1}
	n.reads = reads{store: s.cfg.Store, stats: s.stats, account: s.reads.account}
	if s.cfg.OnEvent != nil {
		n.cfg.OnEvent = func(e Event) { // in the order of the others
			s.mu.Lock()
			s.mu.events = append(s.mu.events, e)
			s.mu.Unlock()
		}
	}
	return n
}

// whole reads all batches of a file.
func (n *inline) whole(f *file, to *[]Batch) (err error) {
	defer guard(&err)
	return n.read(f, func(b Batch) error {
		*to = append(*to, b)
		return nil
	})
}
