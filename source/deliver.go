package source

import (
	"context"
	"errors"
	"io"
	"time"
)

// cursor is one consumer: a stream.
type cursor struct {
	wake    chan struct{}
	slot    *slot // in hand; guarded by scan.mu
	headed  bool  // the lane knows what it waits for
	stepped time.Time

	// Of a file read alone, so that the next needs no more memory.
	own work
	one [1]*work
	got []Batch
}

// why a consumer waits.
type cause uint8

const (
	nothing   cause = iota
	forBytes        // the next unit's bytes have not landed
	forDecode       // they have
)

// next is one step of a stream: a batch that the caller owns, io.EOF, or an error. After an error or io.EOF it says the same
// again.
func (s *scan) next(ctx context.Context, stream int) (Batch, error) {
	c := s.cursors[stream]
	if err := fpConsumerSlow.Do(ctx); err != nil {
		return Batch{}, err
	}
	began := time.Now()
	why, waited := nothing, time.Duration(0)
	s.mu.Lock()
	s.consumed(began.Sub(c.stepped))
	for {
		b, blocked, err := s.step(c, stream)
		if blocked == nil {
			s.unwait(c, stream, why, waited)
			c.stepped = time.Now()
			if errors.Is(err, io.EOF) && s.mu.endedAt.IsZero() {
				s.mu.endedAt = c.stepped
			}
			s.mu.Unlock()
			s.emit()
			return b, err
		}
		start := time.Now()
		if w := blocked.work; w != nil && s.help(w) {
			continue
		}
		if why == nothing {
			why = blocked.why
		}
		s.mu.Unlock()
		s.cfg.Lane.Head(stream, blocked.from, blocked.to)
		c.headed = true
		err = s.park(ctx, c)
		s.mu.Lock()
		waited += time.Since(start)
		s.wait(blocked.why, time.Since(start))
		if err != nil && s.mu.limitLeft != 0 {
			c.stepped = time.Now()
			s.mu.Unlock()
			return Batch{}, err
		}
	}
}

// park waits for news.
func (s *scan) park(ctx context.Context, c *cursor) error {
	select {
	case <-c.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// blockade says what a consumer waits for.
type blockade struct {
	why      cause
	work     *work  // being decoded
	from, to uint64 // orders of the requests it needs
}

// step tries to deliver; mu is held. It returns a blockade when it cannot.
func (s *scan) step(c *cursor, stream int) (Batch, *blockade, error) {
	for {
		if s.mu.limitLeft == 0 {
			return Batch{}, nil, io.EOF
		}
		if err := context.Cause(s.ctx); err != nil {
			return Batch{}, nil, err
		}
		if c.slot == nil {
			sl, wait := s.mu.take(stream, s.cfg.Order)
			if sl == nil && !wait {
				return Batch{}, nil, io.EOF
			}
			s.nudgeClaimer()
			if sl == nil {
				return Batch{}, s.blocked(c, nil), nil
			}
			c.slot = sl
			if sl.alone {
				s.readAlone(c)
				continue
			}
			s.admit() // its first unit is a head now
			nudge(sl.wake)
		}
		sl := c.slot
		if len(sl.work) == 0 {
			if !sl.ended {
				return Batch{}, s.blocked(c, sl), nil
			}
			if sl.err != nil {
				return s.report(c, sl, sl.err)
			}
			s.release(c)
			continue
		}
		w := sl.work[0]
		switch {
		case w.state == fetching && sl.gone && sl.err != nil: // a read of the file failed, and this unit's bytes never come
			return s.report(c, sl, sl.err)
		case w.state != decoded:
			return Batch{}, s.blocked(c, sl), nil
		case w.err != nil:
			return s.report(c, sl, w.err)
		case len(w.batches) == 0:
			s.retire(sl, w)
		default:
			b := w.batches[0]
			w.batches[0] = Batch{}
			w.batches = w.batches[1:]
			return s.limit(b), nil, nil
		}
	}
}

// report hands out a file's error, once no file before it can still fail: the lowest error wins, whatever finished first.
func (s *scan) report(c *cursor, sl *slot, err error) (Batch, *blockade, error) {
	if s.mu.lowestOpen() < sl.index { // in another stream's hands
		return Batch{}, s.blocked(c, sl), nil
	}
	return Batch{}, nil, err
}

// retire removes a delivered unit from its slot.
func (s *scan) retire(sl *slot, w *work) {
	sl.work[0] = nil
	sl.work = sl.work[1:]
	if sl.alone {
		return
	}
	s.mu.active--
	s.mu.ahead -= w.size
	s.admit()
	s.poke()
}

// release ends a consumed slot.
func (s *scan) release(c *cursor) {
	sl := c.slot
	c.slot = nil
	if sl.early {
		s.stats.used.Add(1)
	}
	s.set(sl, consumed)
	s.mu.depth.consumed()
	s.note()
	s.slotEvent("deliver", sl, Event{})
	if sl.alone && s.mu.head > sl.index {
		s.mu.recycle(sl)
	}
	if s.mu.begun == 0 && len(s.cursors) == 1 { // nobody else waits
		s.nudgeClaimer()
		return
	}
	s.admit()
	s.poke()
}

// limit cuts a batch to the rows still wanted, and ends the scan with the last of them.
func (s *scan) limit(b Batch) Batch {
	n := b.Record.NumRows()
	if left := s.mu.limitLeft; left >= 0 {
		if n >= left {
			b = b.head(left)
			n = left
		}
		if s.mu.limitLeft -= n; s.mu.limitLeft == 0 {
			s.stop(io.EOF)
		}
	}
	s.stats.rows.Add(n)
	s.stats.batches.Add(1)
	return b
}

// head is the first n rows of b, whose reference it takes.
func (b Batch) head(n int64) Batch {
	if n == b.Record.NumRows() {
		return b
	}
	rec := b.Record.NewSlice(0, n)
	b.Record.Release()
	b.Record = rec
	if b.Origin.Positions != nil {
		b.Origin.Positions = b.Origin.Positions[:n]
	}
	return b
}

// blocked describes the wait; sl nil = no slot is ready in arrival order, or none is claimed yet.
func (s *scan) blocked(c *cursor, sl *slot) *blockade {
	b := &blockade{why: forBytes}
	wave := 1 // the opening, and the first wave
	if sl == nil {
		i := s.mu.lowestOpen()
		b.from, b.to = order(i, 0, 0), order(i, wave+1, 0)
		return b
	}
	if len(sl.work) > 0 {
		w := sl.work[0]
		wave = w.wave + 1
		if w.state != fetching {
			b.why, b.work = forDecode, w
		}
	} else if sl.launched > 0 {
		wave = sl.oldest + 1
	}
	b.from, b.to = order(sl.index, 0, 0), order(sl.index, wave+1, 0)
	return b
}

// wait counts one wait of a consumer; mu is held.
func (s *scan) wait(why cause, d time.Duration) {
	if why == forBytes {
		s.mu.waits.fetch += d
	} else {
		s.mu.waits.decode += d
	}
}

// unwait ends the waits of a step.
func (s *scan) unwait(c *cursor, stream int, why cause, waited time.Duration) {
	if c.headed {
		c.headed = false
		s.mu.Unlock()
		s.cfg.Lane.Head(stream, 0, 0)
		s.mu.Lock()
	}
	if why == nothing {
		return
	}
	s.mu.waits.heads++
	s.event(Event{Name: "wait", Ordinal: -1, Duration: waited})
	if s.mu.depth.waited(waited, why == forBytes, s.mu.idle > 0 && len(s.mu.items) == 0) {
		nudge(s.claimWake)
		s.poke()
	}
	s.note()
}

// consumed counts the time that the consumer spent with what it got.
func (s *scan) consumed(d time.Duration) {
	s.mu.waits.consumer += d
	s.mu.depth.consumerSpent(d)
}
