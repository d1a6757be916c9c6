package prefetchpool

import "context"

// Job is one unit of admission.
type Job[T any] struct {
	Name    string // in errors, events and failpoint globs; not a cache key
	Order   uint64 // lowest first inside a lane: (file ordinal, wave, piece)
	Weight  int64  // bytes reserved at admission, held until Release of the future
	Run     func(ctx context.Context, t *Ticket) (T, error)
	Discard func(T) // called with a value that nobody awaited; nil = nothing to free
	// Notify gets a value, without blocking, when Await would return at once: one channel can stand for many futures. nil =
	// nobody listens.
	Notify chan<- struct{}
}

// Future is owned by one goroutine at a time.
type Future[T any] struct {
	task  task
	job   Job[T]
	value T
}

func (f *Future[T]) run(ctx context.Context, t *Ticket) (err error) {
	f.value, err = f.job.Run(ctx, t)
	return err
}

func (f *Future[T]) discard() {
	v := f.value
	f.value = *new(T)
	if f.job.Discard != nil && !f.task.failed {
		f.job.Discard(v)
	}
}

func (f *Future[T]) name() string { return f.job.Name }

// Await makes the job urgent, runs it on the caller if it is still queued, and hands the value over once. ctx bounds the wait
// only: the job goes on when it ends, and Await may be called again. A panic in Run is returned as a *PanicError. The
// weight stays charged until Release.
func (f *Future[T]) Await(ctx context.Context) (T, error) { return f.await(ctx, true) }

// Wait is Await for a caller that is itself ahead of its time: the job keeps its place in the queue.
func (f *Future[T]) Wait(ctx context.Context) (T, error) { return f.await(ctx, false) }

func (f *Future[T]) await(ctx context.Context, urgent bool) (v T, err error) {
	if err := f.task.wait(ctx, urgent); err != nil {
		return v, err
	}
	v, f.value = f.value, v
	return v, nil
}

// wait returns nil when the value is there and now the caller's.
func (t *task) wait(ctx context.Context, urgent bool) error {
	p := t.lane.pool
	p.mu.Lock()
	if t.taken {
		p.mu.Unlock()
		return ErrReleased
	}
	var handoff chan struct{}
	if t.place == queued {
		// The caller may run the job only if its own wait cannot end before the job's context does.
		if d := ctx.Done(); d == nil || d == t.ctx.Done() {
			handoff = make(chan struct{})
			t.handoff = handoff
		}
		if urgent {
			p.mu.urge(&t.entry)
			p.pump()
		}
	} else if urgent && t.place == inSlot {
		p.mu.urge(&t.entry)
		p.pump()
	}
	ended := t.ctx.Done()
	if t.handed {
		ended = nil
	}
	p.mu.Unlock()
	for {
		select {
		case <-t.done:
			return t.take()
		default:
		}
		select {
		case <-t.done:
			return t.take()
		case <-handoff:
			p.mu.Lock()
			p.mu.stats.RunInline++
			t.lane.stats.RunInline++
			t.handoff = nil
			p.mu.Unlock()
			t.execute()
			return t.take()
		case <-ended: // Submit's context: a queued job must not wait for a slot to learn that
			ended = nil
			t.expire()
		case <-ctx.Done():
			t.leave()
			return context.Cause(ctx)
		}
	}
}

// expire drops a job whose context ended in the queue.
func (t *task) expire() {
	p := t.lane.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.place == queued {
		t.drop(context.Cause(t.ctx))
		p.pump()
	}
}

// leave ends a wait: a job that was just handed to the leaver runs on a goroutine of its own.
func (t *task) leave() {
	p := t.lane.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.handed && t.handoff != nil {
		go t.execute()
	}
	t.handoff = nil
}

// take hands the value over, or the error.
func (t *task) take() error {
	p := t.lane.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case t.failed:
		return t.err
	case t.taken || t.place != kept:
		return ErrReleased
	}
	t.taken = true
	return nil
}

// Ready reports whether Await would return at once.
func (f *Future[T]) Ready() bool {
	select {
	case <-f.task.done:
		return true
	default:
		return false
	}
}

// Done is closed when Await would return at once.
func (f *Future[T]) Done() <-chan struct{} { return f.task.done }

// Resize changes the weight, of a value in hand too: what was freed early can be given back early.
func (f *Future[T]) Resize(bytes int64) { f.task.resize(bytes) }

// Release unlinks a queued job, cancels and joins a running one, discards an unawaited value, returns the weight. It is
// idempotent, and waits for no job but its own.
func (f *Future[T]) Release() {
	if f.task.release() {
		f.discard()
	}
}

// release reports whether a value is left to discard.
func (t *task) release() (unused bool) {
	p := t.lane.pool
	p.mu.Lock()
	if t.place == queued {
		t.drop(ErrReleased)
		p.pump()
	}
	if t.place == inSlot {
		t.cancel(ErrReleased)
		p.mu.Unlock()
		<-t.done
		p.mu.Lock()
	}
	defer p.mu.Unlock()
	if t.place != kept {
		return false
	}
	unused = !t.taken && !t.failed
	t.giveBack()
	t.taken = true
	p.pump()
	return unused
}
