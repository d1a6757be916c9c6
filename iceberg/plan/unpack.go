package plan

import (
	"context"
	"runtime"

	"github.com/lakescan/lakescan/iceberg/manifest"
)

const (
	// aheadBytes bounds what is unpacked of a manifest before it is wanted.
	aheadBytes = 8 << 20
	// leastAhead is the size of a manifest that is worth a goroutine.
	leastAhead = 16 << 10
	// aheadEvery is after how many tasks it is seen whether the next manifest has come.
	aheadEvery = 64
)

// unpacking is a manifest that is unpacked while the one before it is decoded: that is half of the work.
type unpacking struct {
	blocks manifest.Unpacked
	done   chan struct{}
}

// wait until the goroutine has ended, which does nothing but compute.
func (u *unpacking) wait() { <-u.done }

// unpackAhead begins to unpack the manifest behind the head, if it is there. A consumer that may stop early gets nothing it
// did not ask for.
func (r *run) unpackAhead(ctx context.Context) {
	r.tasks++
	if r.tasks%aheadEvery != 1 || r.c.Limit > 0 || r.c.Lazy || runtime.GOMAXPROCS(0) < 2 {
		return
	}
	rd := r.reads[r.m.win.head+1]
	if rd == nil || rd.unpacked != nil || !rd.ready() {
		return
	}
	data, _, again, err := rd.await(ctx)
	if again || err != nil || len(data) < leastAhead { // an error is met again at the head
		return
	}
	u := r.spare
	if r.spare = nil; u == nil {
		u = &unpacking{}
	}
	u.done = make(chan struct{})
	rd.unpacked = u
	go func() {
		defer close(u.done)
		u.blocks.Unpack(data, aheadBytes)
	}()
}

// drop releases the read of a manifest, and keeps its memory for another.
func (r *run) drop(i int) {
	rd := r.reads[i]
	rd.release()
	if rd.unpacked != nil {
		r.spare = rd.unpacked
	}
	delete(r.reads, i)
}
