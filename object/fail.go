package object

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lakescan/lakescan/failpoints"
)

// Failpoints below Retry, keyed by the recorded location. They stand for a store that misbehaves, where no fake store can be put
// in place of the real one: a running program, a test of a whole scan.
var (
	fpGetStall     = failpoints.New("object/get_stall")     // sleep, pause: before the request
	fpGetError     = failpoints.New("object/get_error")     // error: as a broken connection
	fpGet503       = failpoints.New("object/get_503")       // error(n): SlowDown, with Retry-After n seconds
	fpBodyTruncate = failpoints.New("object/body_truncate") // error(k): the body ends after k bytes
	fpETagSwap     = failpoints.New("object/etag_swap")     // error: the answer is of another version
	fpRangeIgnored = failpoints.New("object/range_ignored") // error: the answer is to another question
	fpHedgeRace    = failpoints.New("object/hedge_race")    // sleep, pause: a hedge that was decided on, before it is sent

	fpCommitBefore = failpoints.New("object/commit_before") // error: nothing is published
	fpCommitAfter  = failpoints.New("object/commit_after")  // error: published, and the answer lost
)

// below reads from the store under Retry, unless a failpoint has other plans.
func (rt *retry) below(ctx context.Context, loc Location, r Range, dst []byte, o ReadOptions) ([]byte, Info, error) {
	key := loc.Recorded
	fail := func(status int, wait time.Duration, class, err error) ([]byte, Info, error) {
		if ctx.Err() != nil { // a sleep or pause that the context ended
			return nil, Info{Location: loc, Size: -1}, Fail(ctx, "read", loc, r, err)
		}
		return nil, Info{Location: loc, Size: -1}, &Error{Op: "read", Location: loc, Range: r, Status: status, Attempts: 1, RetryAfter: wait, Err: fmt.Errorf("%w: %w", class, err)}
	}
	if err := fpGetStall.DoKey(ctx, key); err != nil {
		return fail(0, 0, ErrUnavailable, err)
	}
	if err := fpGetError.DoKey(ctx, key); err != nil {
		return fail(0, 0, ErrUnavailable, err)
	}
	if err := fpGet503.DoKey(ctx, key); err != nil {
		return fail(503, time.Duration(textNumber(err))*time.Second, ErrUnavailable, err)
	}
	if err := fpRangeIgnored.DoKey(ctx, key); err != nil {
		return fail(200, 0, ErrCorrupt, err)
	}
	data, info, err := rt.store.Read(ctx, loc, r, dst, o)
	if err != nil {
		return data, info, err
	}
	if err := fpETagSwap.DoKey(ctx, key); err != nil {
		return fail(412, 0, ErrChanged, err)
	}
	if err := fpBodyTruncate.DoKey(ctx, key); err != nil {
		_, _, failure := fail(206, 0, ErrUnavailable, err)
		return data[:min(int64(len(data)), max(textNumber(err), 0))], info, failure
	}
	return data, info, nil
}

// textNumber is the number in the text of an error action, 0 if there is none.
func textNumber(err error) int64 {
	e, ok := errors.AsType[*failpoints.Error](err)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(e.Text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
