package source

import (
	"context"
	"errors"
	"io"
	"reflect"
	"sync"
)

// Sink takes one pass of a scan. Finish seals and publishes nothing; Abort is idempotent, waits, leaves no file.
type Sink interface {
	Part(stream int) (Part, error)
	Finish(ctx context.Context) error
	Abort()
}

// Part belongs to one goroutine: whole files, rows in file position order.
type Part interface {
	Write(ctx context.Context, b Batch) error // b is lent
	Wake() <-chan struct{}                    // a spill is asked for; nil = never spills
	Relieve(ctx context.Context) error        // honour it; called between batches and when Wake fires
	Close(ctx context.Context) error
}

// Feed drives every sink in one pass, a goroutine a stream (Streams 1 = the order of All), and finishes them. The first error
// aborts all. The reader is closed in either case.
func Feed(ctx context.Context, r *Reader, sinks ...Sink) error {
	err := feed(ctx, r, sinks)
	_ = r.Close()
	if err == nil {
		for _, s := range sinks {
			if err = s.Finish(ctx); err != nil {
				break
			}
		}
	}
	if err != nil {
		for _, s := range sinks {
			s.Abort()
		}
	}
	return err
}

func feed(ctx context.Context, r *Reader, sinks []Sink) error {
	if err := r.use(byFeed); err != nil {
		return err
	}
	streams := r.cfg.Streams
	if r.inline != nil {
		streams = 1
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	errs := make([]error, streams)
	for i := range streams {
		wg.Go(func() {
			defer guard(&errs[i])
			if errs[i] = r.stream(ctx, i, sinks); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	wg.Wait()
	return firstError(errs, context.Cause(ctx))
}

// firstError prefers the failure of the lowest file, then whatever came first.
func firstError(errs []error, cause error) error {
	var lowest *FileError
	for _, err := range errs {
		if fe := (*FileError)(nil); errors.As(err, &fe) && (lowest == nil || fe.Ordinal < lowest.Ordinal) {
			lowest = fe
		}
	}
	if lowest != nil {
		return lowest
	}
	if cause != nil {
		return cause
	}
	return errors.Join(errs...)
}

// stream feeds one stream's files to a Part of each sink.
func (r *Reader) stream(ctx context.Context, stream int, sinks []Sink) (err error) {
	parts := make([]Part, 0, len(sinks))
	defer func() {
		for _, p := range parts {
			if cerr := p.Close(ctx); err == nil {
				err = cerr
			}
		}
	}()
	for _, s := range sinks {
		p, err := s.Part(stream)
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	steps := r.steps(ctx, stream, parts)
	defer steps.close()
	for {
		b, err := steps.next(parts)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		for _, p := range parts {
			if err = p.Write(ctx, b); err == nil {
				err = relieve(ctx, p)
			}
			if err != nil {
				break
			}
		}
		b.Record.Release()
		if err != nil {
			return err
		}
	}
}

// relieve honours a request that is pending.
func relieve(ctx context.Context, p Part) error {
	select {
	case <-p.Wake():
		return p.Relieve(ctx)
	default:
		return nil
	}
}

// stepper gets batches for one stream. When a part may be asked to spill, the step runs on a goroutine of its own, so that
// the stream can honour the request while it waits for input.
type stepper struct {
	step   func(context.Context) (Batch, error)
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	got    chan stepped // one at most
	cases  []reflect.SelectCase
}

type stepped struct {
	batch Batch
	err   error
}

func (r *Reader) steps(ctx context.Context, stream int, parts []Part) *stepper {
	s := &stepper{got: make(chan stepped, 1)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.step = func(ctx context.Context) (Batch, error) { return r.scan.next(ctx, stream) }
	if r.inline != nil {
		s.step = r.inline.next
	}
	s.cases = []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(s.got)}}
	spills := false
	for _, p := range parts {
		w := p.Wake()
		spills = spills || w != nil
		s.cases = append(s.cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(w)})
	}
	if !spills {
		s.cases = nil
	}
	return s
}

// next waits for a batch, which the caller owns, and relieves parts meanwhile.
func (s *stepper) next(parts []Part) (Batch, error) {
	if s.cases == nil {
		return s.step(s.ctx)
	}
	s.wg.Go(func() {
		b, err := s.guarded()
		s.got <- stepped{b, err}
	})
	for {
		i, v, _ := reflect.Select(s.cases)
		if i == 0 {
			got := v.Interface().(stepped)
			return got.batch, got.err
		}
		if err := parts[i-1].Relieve(s.ctx); err != nil {
			return Batch{}, err
		}
	}
}

func (s *stepper) guarded() (b Batch, err error) {
	defer guard(&err)
	return s.step(s.ctx)
}

// close ends a step that was given up.
func (s *stepper) close() {
	s.cancel()
	s.wg.Wait()
	select {
	case got := <-s.got:
		if got.err == nil {
			got.batch.Record.Release()
		}
	default:
	}
}
