package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/objecttest"
)

func (g *rig) create(t *testing.T, loc object.Location, data []byte, ifMatch string) (object.Info, error) {
	t.Helper()
	u, err := g.store.(object.Writer).Create(t.Context(), loc, ifMatch)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Abort()
	if _, err := u.Write(data); err != nil {
		return object.Info{}, err
	}
	return u.Commit(t.Context())
}

// Uploads survive what passes: each request of theirs is repeated.
func TestUploadsAreRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule string
		size int
	}{
		{"PUT * #1 -> status 503", 1000},
		{"PUT * #1 -> refuse", 1000},
		{"PUT * #1 -> hang", 1000},
		{"POST * #1 -> status 503", 6 << 20},
		{"PUT * #2 -> status 500\nPUT * #3 -> refuse", 6 << 20},
		{"POST * #4 -> status 503", 6 << 20},
	} {
		for _, ifMatch := range []string{"", "*"} {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, c.rule, object.RetryConfig{})
				data := objecttest.Bytes(c.size)
				loc := at(t, "s3://bucket/f")
				info, err := g.create(t, loc, data, ifMatch)
				if err != nil {
					t.Fatalf("%s: %v", c.rule, err)
				}
				got, _, err := g.read(t, loc, object.Whole, object.ReadOptions{Size: info.Size, ETag: info.ETag})
				wantBytes(t, got, err, data)
				if n := g.srv.Uploads(); n != 0 {
					t.Errorf("%d unfinished uploads", n)
				}
				if s := g.meter.Stats(); s.Retries == 0 || s.BytesWritten < int64(c.size) {
					t.Errorf("stats %+v", s)
				}
			})
		}
	}
}

// lose makes the rules serve a request and then drop its answer: it was done, and the client cannot know.
func lose(g *rig, method string, ordinal string) error {
	return g.rules.Add(method + " bucket/f " + ordinal + " -> lose")
}

// A lost answer to a conditional upload is no conflict with oneself: the mark in the metadata tells.
func TestLostAnswerOfAConditionalUpload(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, ordinal string
		size            int
	}{{"PUT", "#1", 1000}, {"POST", "#4", 6 << 20}} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, "", object.RetryConfig{})
			if err := lose(g, c.method, c.ordinal); err != nil {
				t.Fatal(err)
			}
			data := objecttest.Bytes(c.size)
			loc := at(t, "s3://bucket/f")
			info, err := g.create(t, loc, data, "*")
			if err != nil {
				t.Fatalf("%s: %v\n%v", c.method, err, g.rules.Log())
			}
			got, _, err := g.read(t, loc, object.Whole, object.ReadOptions{ETag: info.ETag})
			wantBytes(t, got, err, data)
			if n := g.rules.Count("HEAD", "*"); n != 1 {
				t.Errorf("%s: %d HEADs, want the one that looks: %v", c.method, n, g.rules.Log())
			}
		})
	}
}

// Another writer's object is never taken for one's own, whatever was lost.
func TestLostAnswerWhileAnotherWon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "PUT bucket/f #1 -> call other, refuse", object.RetryConfig{})
		data := objecttest.Bytes(1000)
		g.rules.On("other", func(*http.Request) { g.srv.Put("bucket", "f", data) }) // the same bytes, even
		_, err := g.create(t, at(t, "s3://bucket/f"), data, "*")
		wantClass(t, err, object.ErrExists)
	})
}

// When nothing can be found out, the error says so.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "PUT * -> lose\nHEAD * -> refuse", object.RetryConfig{})
		_, err := g.create(t, at(t, "s3://bucket/f"), []byte("x"), "*")
		wantClass(t, err, object.ErrUnknown)
	})
	// Refused for good is not unknown, and neither is an upload that never reached anybody.
	for rule, class := range map[string]error{"PUT * -> status 403": object.ErrDenied, "* * -> status 503": object.ErrUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, rule, object.RetryConfig{})
			_, err := g.create(t, at(t, "s3://bucket/f"), []byte("x"), "")
			wantClass(t, err, class)
		})
	}
}

// A failed upload in parts leaves nothing: not after refused parts, not after a cancel, not after a failed completion.
func TestFailedUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	data := objecttest.Bytes(11 << 20)
	for _, rule := range []string{"PUT * #3 -> status 403", "POST * #5+ -> status 400", "PUT * #2 -> hang"} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, rule, object.RetryConfig{})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			u, err := g.store.(object.Writer).Create(ctx, at(t, "s3://bucket/f"), "")
			if err != nil {
				t.Fatal(err)
			}
			for chunk := range chunks(data, 1<<20) {
				if _, err = u.Write(chunk); err != nil {
					break
				}
			}
			if err == nil {
				_, err = u.Commit(ctx)
			}
			if e, ok := errors.AsType[*object.Error](err); !ok {
				t.Errorf("%s: %T %v", rule, err, e)
			}
			u.Abort()
			if n := g.srv.Uploads(); n != 0 || g.srv.Get("bucket", "f") != nil {
				t.Errorf("%s: %d unfinished uploads left, object %v", rule, n, g.srv.Get("bucket", "f") != nil)
			}
		})
	}
}

func chunks(data []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(data) > 0 {
			m := min(n, len(data))
			if !yield(data[:m]) {
				return
			}
			data = data[m:]
		}
	}
}

// A cancel while a part hangs ends Write at once; Abort cleans up although the context has ended.
func TestCancelOfAnUpload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "PUT * -> hang", object.RetryConfig{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		u, err := g.store.(object.Writer).Create(ctx, at(t, "s3://bucket/f"), "")
		if err != nil {
			t.Fatal(err)
		}
		took := since(func() {
			for err == nil {
				_, err = u.Write(make([]byte, 1<<20))
			}
		})
		wantClass(t, err, context.DeadlineExceeded)
		if took != time.Second {
			t.Errorf("Write ended after %v", took)
		}
		if took := since(u.Abort); took != 0 || g.srv.Uploads() != 0 {
			t.Errorf("Abort took %v and left %d uploads", took, g.srv.Uploads())
		}
	})
}

// Abort waits for the parts under way before it removes the upload: a part that came after would be stored for ever.
func TestAbortWaitsForParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "PUT * -> hang", object.RetryConfig{})
		u, err := g.store.(object.Writer).Create(t.Context(), at(t, "s3://bucket/f"), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Write(make([]byte, 6<<20)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if took := since(u.Abort); took != 0 || g.srv.Uploads() != 0 { // the rig looks who came first
			t.Errorf("Abort took %v and left %d uploads", took, g.srv.Uploads())
		}
	})
}

// L63: a server that takes no more of a body ends after a limit; nothing waits for ever.
func TestL63_StalledUploadEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "PUT * #1 -> deaf", object.RetryConfig{})
		var err error
		took := since(func() { _, err = g.create(t, at(t, "s3://bucket/f"), make([]byte, 1<<20), "") })
		if err != nil || took < 30*time.Second || took > 31*time.Second {
			t.Errorf("%v after %v, want one limit of 30s and a repeat", err, took)
		}
	})
}

// Parts are sent while the next ones are written; the caller waits when PartsAtOnce (2) are under way.
func TestPartsOverlap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "PUT * -> delay 1s", object.RetryConfig{})
		data := bytes.Repeat([]byte("0123456789abcdef"), 30<<20/16)
		took := since(func() {
			if _, err := g.create(t, at(t, "s3://bucket/f"), data, ""); err != nil {
				t.Error(err)
			}
		})
		if took != 3*time.Second { // six parts, two at once
			t.Errorf("six parts took %v", took)
		}
		if o := g.srv.Get("bucket", "f"); o == nil || !bytes.Equal(o.Data, data) || !strings.HasSuffix(o.ETag, "-6") {
			t.Error("the object is not what was written")
		}
	})
}

// A listing that breaks at page two goes on there, in order, each key once.
func TestListingGoesOnAfterAFailedPage(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"LIST * #2 -> status 503", "LIST * #2-4 -> status 500", "LIST * #2 -> refuse", "LIST * #1 -> hang", "LIST * #2 -> stall 100", "LIST * #3 -> cut 2000"} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, rule, object.RetryConfig{})
			const n = 2500
			for i := range n {
				g.srv.Put("bucket", fmt.Sprintf("dir/%05d", i), nil)
			}
			i := 0
			for info, err := range g.store.(object.Lister).List(t.Context(), at(t, "s3://bucket/dir/")) {
				if err != nil {
					t.Fatalf("%s: %v", rule, err)
				}
				if want := fmt.Sprintf("dir/%05d", i); info.Location.Key != want {
					t.Fatalf("%s: key %d is %s", rule, i, info.Location.Key)
				}
				i++
			}
			if s := g.meter.Stats(); i != n || s.Requests[object.List] < 4 || s.BytesRead == 0 {
				t.Errorf("%s: %d keys, stats %+v", rule, i, s)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // for ever: one typed error, at the end
		g := newRig(t, "LIST * #2+ -> status 500", object.RetryConfig{})
		for i := range 1200 {
			g.srv.Put("bucket", fmt.Sprintf("dir/%05d", i), nil)
		}
		var last error
		n := 0
		for _, err := range g.store.(object.Lister).List(t.Context(), at(t, "s3://bucket/dir/")) {
			if last != nil {
				t.Error("elements after an error")
			}
			if last = err; err == nil {
				n++
			}
		}
		if e := wantClass(t, last, object.ErrUnavailable); e.Op != "list" || n != 1000 {
			t.Errorf("%v after %d keys", last, n)
		}
	})
}

// Deleting is repeated too, and a bucket that is not there is not a deleted object.
func TestDeletes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "DELETE * #1 -> status 503", object.RetryConfig{})
		loc, _ := g.put(t, "f", 10)
		w := g.store.(object.Writer)
		if err := w.Delete(t.Context(), loc); err != nil || g.srv.Get("bucket", "f") != nil {
			t.Errorf("%v", err)
		}
		err := w.Delete(t.Context(), at(t, "s3://nobucket/f"))
		if e := wantClass(t, err, object.ErrNotFound); e.Op != "delete" {
			t.Errorf("%+v", e)
		}
	})
}
