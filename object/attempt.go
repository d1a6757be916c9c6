package object

import (
	"context"
	"time"
)

// Attempt is what the decorators and the leaf store tell each other about one attempt. It belongs to the one call that it
// was made for. Leaf stores read the first fields and call the methods, all of which are safe on a nil Attempt.
type Attempt struct {
	Number int  // 1 = first try
	Hedge  bool // a second copy of a slow read
	Fresh  bool // use a new connection: the last one timed out or broke

	firstByte func()                                                             // the headers have come
	request   []func(Request)                                                    // a request is over
	repeat    func(context.Context, func(context.Context, *Attempt) error) error // the policy of the Retry above
}

type attemptKey struct{}

// AttemptFrom gives the attempt that ctx belongs to, or nil.
func AttemptFrom(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

func withAttempt(ctx context.Context, a *Attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// FirstByte tells that the headers of a good answer have come; hedge and header timers stop.
func (a *Attempt) FirstByte() {
	if a != nil && a.firstByte != nil {
		a.firstByte()
	}
}

// Report hands on one finished request.
func (a *Attempt) Report(r Request) {
	if a == nil {
		return
	}
	r.Attempt, r.Hedge = max(a.Number, 1), a.Hedge
	for _, f := range a.request {
		f(r)
	}
}

// Repeat runs op until it succeeds or the policy of the Retry above gives up; without one, op runs once. A leaf store wraps
// each idempotent request of an upload, a listing or a delete in it; op gets the attempt it is.
func Repeat(ctx context.Context, op func(ctx context.Context) error) error {
	a := AttemptFrom(ctx)
	if a == nil || a.repeat == nil {
		return op(ctx)
	}
	return a.repeat(ctx, func(ctx context.Context, n *Attempt) error {
		n.request = a.request
		return op(withAttempt(ctx, n))
	})
}

// Kind names requests as S3 bills them.
type Kind uint8

// The kinds of requests.
const (
	Get Kind = iota
	Head
	List
	Put    // an object or a part
	Post   // start or complete a multipart upload
	Delete // an object or an unfinished upload
	numKinds
)

// String is the lower case name.
func (k Kind) String() string {
	return [...]string{"get", "head", "list", "put", "post", "delete"}[k]
}

// Request is one request made to a store, reported when it is over.
type Request struct {
	Kind      Kind
	Location  Location
	Range     Range // of Get
	Status    int   // 0 = no answer came
	Bytes     int64 // of the body: received by Get and List, sent by Put and Post
	Start     time.Time
	TTFB      time.Duration // until the headers came, 0 = they did not
	Duration  time.Duration // until the body ended
	NewConn   bool          // a connection was made for it
	Throttled bool
	Attempt   int // 1 = first try
	Hedge     bool
	Err       error // nil = answered in full
}
