package object

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Classes; every store error is an *Error that Is one of them, or errors.ErrUnsupported, or a context error.
var (
	ErrNotFound    = errors.New("object: not found")
	ErrDenied      = errors.New("object: access denied")
	ErrUnavailable = errors.New("object: unavailable")
	ErrChanged     = errors.New("object: changed while read") // another ETag, another size, or a failed If-Match
	ErrRange       = errors.New("object: range outside of the object")
	ErrTooLarge    = errors.New("object: answer over the limit")
	ErrExists      = errors.New("object: exists already")  // Create with ifMatch "*"
	ErrUnknown     = errors.New("object: outcome unknown") // a conditional Commit whose answer was lost and could not be told apart
	ErrInvalid     = errors.New("object: invalid request") // a location, name or setting that the store cannot take
	ErrCorrupt     = errors.New("object: answer breaks the protocol")
)

// Error says what was tried and where.
type Error struct {
	Op               string // read, list, create, write, commit, abort, delete
	Location         Location
	Range            Range // of reads
	Status, Attempts int   // HTTP status of the last answer, 0 = none came
	RequestID        string
	Code             string        // the store's own word for it, such as SlowDown
	RetryAfter       time.Duration // as the server asked, not clamped; 0 = it did not
	Err              error         // Is one of the classes, or a context error
}

// Error names operation, recorded location, range, status, code, attempts and cause; never a key or a token.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("object: ")
	b.WriteString(e.Op)
	if e.Location.Recorded != "" {
		b.WriteByte(' ')
		b.WriteString(e.Location.Recorded)
	}
	if e.Op == "read" && e.Range != Whole && e.Range != (Range{}) && !(e.Range.Off < 0 && errors.Is(e.Err, ErrNotFound)) {
		b.WriteString(" [" + e.Range.String() + "]")
	}
	b.WriteString(": ")
	b.WriteString(strings.TrimPrefix(causeText(e.Err), "object: "))
	var notes []string
	if e.Status != 0 {
		notes = append(notes, "status "+strconv.Itoa(e.Status))
	}
	if e.Code != "" {
		notes = append(notes, e.Code)
	}
	if e.Attempts > 1 {
		notes = append(notes, strconv.Itoa(e.Attempts)+" attempts")
	}
	if e.RequestID != "" {
		notes = append(notes, "request "+e.RequestID)
	}
	if len(notes) > 0 {
		b.WriteString(" (" + strings.Join(notes, ", ") + ")")
	}
	return b.String()
}

func causeText(err error) string {
	if err == nil {
		return "failed"
	}
	return err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Fail wraps err into an *Error for leaf stores: context errors keep their identity, what is an *Error already stays as it is.
func Fail(ctx context.Context, op string, loc Location, r Range, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		err = ContextError(ctx)
	}
	return &Error{Op: op, Location: loc, Range: r, Attempts: 1, Err: err}
}

// ContextError is ctx.Err() with its cause beside it, if it has one of its own.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// Temporary reports whether a repeat of what failed with err can help: the class ErrUnavailable, or an answer that broke
// the protocol. Refusals, absence, changes and context errors never do; leaf stores keep these classes apart, since a
// timeout inside the network stack also Is context.DeadlineExceeded.
func Temporary(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrCorrupt)
}

// Throttled reports whether the store asked to slow down, in so many words: a plain 503 may come from a proxy before a dead server.
func Throttled(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == 429 || throttleCodes[e.Code])
}

var throttleCodes = map[string]bool{
	"SlowDown": true, "SlowDownRead": true, "SlowDownWrite": true, "Throttling": true, "ThrottlingException": true,
	"RequestLimitExceeded": true, "RequestThrottled": true, "TooManyRequests": true, "BandwidthLimitExceeded": true,
}
