package s3

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/object"
)

// Whatever headers come, an accepted answer is exactly the range asked for, inside of the object.
func FuzzAnswerHeaders(f *testing.F) {
	f.Add("bytes 0-9/100", "10", 206, int64(0), int64(10))
	f.Add("bytes 90-99/100", "10", 206, int64(-10), int64(-1))
	f.Add("bytes 0--1/0", "0", 206, int64(-8), int64(-1))
	f.Add("", "10", 200, int64(0), int64(-1))
	f.Add("bytes 0-9/100", "10", 200, int64(0), int64(10))
	f.Add("bytes 0-9/*", "", 206, int64(5), int64(-1))
	f.Fuzz(func(t *testing.T, contentRange, length string, status int, off, n int64) {
		r := object.Range{Off: off, Len: n}
		if r.Check() != nil {
			return
		}
		h := http.Header{"Content-Range": {contentRange}, "Content-Length": {length}}
		x := &exchange{status: status, header: h}
		info := object.Info{Size: -1}
		got, err := x.span(h, r, &info)
		if err != nil {
			if !errors.Is(err, object.ErrCorrupt) && !errors.Is(err, object.ErrRange) {
				t.Errorf("class of %v", err)
			}
			return
		}
		if ranged := r != object.Whole; ranged != (status == 206) || status != 200 && status != 206 {
			t.Errorf("[%s]: status %d taken", r, status)
		}
		from, want, err := r.Resolve(info.Size)
		if err != nil || got != want || from < 0 || from+got > info.Size {
			t.Errorf("[%s]: %d bytes of %d taken from %q", r, got, info.Size, contentRange)
		}
		if l, err := strconv.ParseInt(length, 10, 64); err == nil && l != got {
			t.Errorf("length %d, taken %d", l, got)
		}
	})
}

// Any error body is survived, in bounded memory, and classed.
func FuzzErrorBody(f *testing.F) {
	f.Add([]byte("<Error><Code>SlowDown</Code><Message>m</Message><Region>eu</Region></Error>"), 503)
	f.Add([]byte("<html><body>502 Bad Gateway"), 502)
	f.Add([]byte{}, 301)
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		if status < 300 || status > 599 {
			return
		}
		x := &exchange{status: status, header: http.Header{}, errBody: body}
		ctx := t.Context()
		err := x.fail(ctx, ctx, "read", errFailed)
		e, ok := errors.AsType[*object.Error](err)
		if !ok || e.Err == nil || strings.ContainsAny(err.Error(), "\x00\n\x1b") || len(err.Error()) > 2000 {
			t.Errorf("%q", err)
		}
		x.elsewhere("us-east-1")
		x.expired(object.Access{Token: "t"})
		x.refusedTotal()
	})
}
