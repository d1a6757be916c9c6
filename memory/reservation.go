package memory

import (
	"fmt"
	"path"
	"runtime"
	"sync/atomic"
)

// Reservation is memory taken before it is allocated. It belongs to whoever reserved it, until Release.
type Reservation struct {
	budget *Budget
	class  Class
	n      atomic.Int64
	where  origin
}

// origin says who opened an account: a name given by the owner, else the line that asked.
type origin struct {
	name atomic.Pointer[string]
	pc   uintptr
}

// callerOutside finds the line outside this package that opened an account. skip counts frames above it.
func (o *origin) mark(skip int) {
	var pcs [1]uintptr
	if runtime.Callers(skip+2, pcs[:]) == 1 {
		o.pc = pcs[0]
	}
}

func (o *origin) String() string {
	if s := o.name.Load(); s != nil {
		return *s
	}
	f, _ := runtime.CallersFrames([]uintptr{o.pc}).Next()
	if f.File == "" {
		return "unknown"
	}
	return fmt.Sprintf("%s/%s:%d", path.Base(path.Dir(f.File)), path.Base(f.File), f.Line)
}

// newReservation must be called by an exported method directly: the line recorded is that method's caller.
func newReservation(b *Budget, c Class) *Reservation {
	r := &Reservation{budget: b, class: c}
	r.where.mark(2)
	return r
}

// start records n bytes that the counters already hold.
func (r *Reservation) start(n int64) {
	r.n.Store(n)
	r.budget.register(r)
}

// Named sets the name that Close prints and returns r.
func (r *Reservation) Named(name string) *Reservation {
	r.where.name.Store(&name)
	return r
}

// Bytes reserved now.
func (r *Reservation) Bytes() int64 { return r.n.Load() }

// Resize grows or shrinks the reservation. Growing never waits: it is refused with a *RefusedError and the reservation
// stays as it was. Not to be called together with Release.
func (r *Reservation) Resize(n int64) error {
	if r.budget == nil {
		return nil
	}
	d := n - r.n.Load()
	if d > 0 {
		if err := r.budget.take(r.class, d); err != nil {
			return err
		}
	} else {
		r.budget.add(r.class, d)
	}
	r.n.Store(n)
	return nil
}

// Release gives the bytes back; idempotent.
func (r *Reservation) Release() {
	if r == nil || r.budget == nil {
		return
	}
	if n := r.n.Swap(0); n != 0 {
		r.budget.add(r.class, -n)
	}
	r.budget.deregister(r)
}

func (r *Reservation) held() int64      { return r.n.Load() }
func (r *Reservation) describe() string { return r.class.String() + " (" + r.where.String() + ")" }
