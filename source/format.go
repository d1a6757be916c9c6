package source

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/lakescan/lakescan/object"
)

// format is all that the scan knows of a file format: open a file, plan its waves, decode their units.
type format interface {
	// open fetches what planning needs, through f, on the file's goroutine.
	open(ctx context.Context, f *file) (content, error)
	close() // once, when no file is open and no unit lives
}

// content is one opened file. It is used by the file's goroutine alone.
type content interface {
	// waves is how many there will be. It may change with what has landed, never below those planned.
	waves() int
	// may reports whether the next wave can be planned now; if not, it can when one before it has landed.
	may() bool
	// ahead is about what the next wave has to fetch, and all that are not planned yet, in bytes.
	ahead() (next, all int64)
	// wave plans the i-th; called once each, in order.
	wave(i int) (wave, error)
	close()
}

// wave is fetched together: a few row groups, or one large one.
type wave struct {
	spans []object.Range // disjoint, rising
	units []unit
	needs [][]int  // by unit: the spans it reads
	held  []*piece // fetched while opening; every unit may read them
	late  bool     // a unit may want more after its filter

	stream *stream // takes the pieces and makes the units when all of them have landed; there are none before
	chunks []int   // of the stream, by span
}

// unit is decoded together: rows of one row group. Its columns of one phase may be decoded at once by several goroutines;
// phases follow each other. The scan calls close exactly once, after which only the batches live.
type unit interface {
	// size estimates the bytes that decoding will hold.
	size() int64
	// columns are the work items of a phase (0 = what the filter reads, 1 = the rest), the largest first.
	columns(phase int) []int
	decode(ctx context.Context, col int, b *pieces) error
	// narrow evaluates the filter after phase 0. It returns what phase 1 needs and has not been fetched yet.
	narrow(ctx context.Context) ([]object.Range, error)
	// finish makes the batches after phase 1; they belong to the caller. b.Record may have no rows left: it is skipped.
	finish(ctx context.Context) ([]Batch, error)
	// follows reports that the unit before it must have been decoded first.
	follows() bool
	close()
}

// file is a slot's view of its object: reads with the object's identity pinned.
type file struct {
	task  *Task
	index int // in the output
	reads *reads
	etag  string
	size  int64 // -1 = not known yet

	wake   chan<- struct{} // nudged at the end of every read
	began  func()          // called at the first answer, once; may be nil
	turn   <-chan struct{} // closed when the file before has asked for its first bytes; nil = nobody is before
	asks   chan struct{}   // closed when this one has; nil = nobody is behind
	rounds int             // serial reads so far
	took   time.Duration   // of these, from admission to the last byte
	asked  int             // reads of the opening so far
	got    int64           // bytes of these
}

const (
	waveBits  = 24
	pieceBits = 16
)

// order places a request in the lane: by file, wave and piece. Wave 0 is the opening. The lowest orders, below those of the
// first file, belong to planning and delete files.
func order(index, wave, piece int) uint64 {
	return uint64(index+1)<<(waveBits+pieceBits) | uint64(min(wave, 1<<waveBits-1))<<pieceBits | uint64(min(piece, 1<<pieceBits-1))
}

// request describes one read of this file.
func (f *file) request(wave, piece int, r object.Range) request {
	return request{
		location: f.task.File.Location, span: r, order: order(f.index, wave, piece), notify: f.wake,
		options: object.ReadOptions{Size: f.size, ETag: f.etag},
	}
}

// pin remembers the version that the first answer showed; every later read asks for it.
func (f *file) pin(info object.Info) {
	if f.etag == "" {
		f.etag = info.ETag
	}
}

func newFile(t *Task, index int, r *reads) *file {
	return &file{task: t, index: index, reads: r, etag: t.File.ETag, size: t.File.Size}
}

// get reads one range for the opening and waits for it. The caller releases the read.
func (f *file) get(ctx context.Context, r object.Range) (got *pending, err error) {
	err = f.getAll(ctx, []object.Range{r}, func(_ object.Range, p *pending) { got = p })
	return got, err
}

// getAll reads ranges for the opening in one round and hands each to keep, which then owns it.
func (f *file) getAll(ctx context.Context, spans []object.Range, keep func(object.Range, *pending)) error {
	if err := f.queue(ctx); err != nil {
		return err
	}
	reads := make([]*pending, len(spans))
	for i, r := range spans {
		reads[i] = f.reads.start(ctx, f.request(0, f.asked, r))
		f.asked++
	}
	f.pass()
	f.rounds++
	slowest := time.Duration(0)
	defer func() { f.took += slowest }()
	for i, p := range reads {
		a, err := p.wait(ctx)
		if err != nil {
			for _, rest := range reads[i:] {
				rest.release()
			}
			return err
		}
		f.pin(a.info)
		if f.began != nil {
			f.began()
			f.began = nil
		}
		f.reads.stats.fetchNanos.Add(int64(a.took))
		slowest = max(slowest, a.took)
		f.got += int64(len(a.bytes))
		keep(spans[i], p)
	}
	return nil
}

// queue waits until the file before has asked for its first bytes: a file that comes later must not take the memory that it needs.
func (f *file) queue(ctx context.Context) error {
	if f.turn == nil {
		return nil
	}
	select {
	case <-f.turn:
		f.turn = nil
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pass lets the file behind ask; idempotent.
func (f *file) pass() {
	if f.asks != nil {
		close(f.asks)
		f.asks = nil
	}
}

// fail wraps an error with the file's name, once.
func (f *file) fail(err error) error {
	if fe := (*FileError)(nil); err == nil || errors.As(err, &fe) {
		return err
	}
	return &FileError{Ordinal: f.task.Ordinal, Location: f.task.File.Location.Recorded, Err: err}
}

// guard turns a panic of foreign code into an error.
func guard(err *error) { guardHere(err, recover()) }

func guardHere(err *error, v any) {
	if v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack()}
	}
}

func missError(off, n int64) error {
	return fmt.Errorf("source: bytes [%d, %d) were not fetched", off, off+n)
}
