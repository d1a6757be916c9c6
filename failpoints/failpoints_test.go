package failpoints

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("FAILPOINTS_TEST_KILL") != "" {
		_ = Arm("test/kill=kill")
		_ = fpKill.Do(context.Background())
		fmt.Println("alive")
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// Each test has its own points, so that all run in parallel.
var (
	fpOff, fpChain, fpGlob  = New("test/off"), New("test/chain"), New("test/glob")
	_, fpPause, fpMore      = New("test/draw"), New("test/pause"), New("test/more")
	fpKill, fpCall, _       = New("test/kill"), New("test/call"), New("test/twice")
	fpHTTP, fpScope, fpStop = New("test/http"), New("test/scope"), New("test/stop")
	fpBench                 = New("test/bench")
)

func TestChainUsesTermsInOrder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if err := fpChain.Do(ctx); err != nil {
		t.Fatalf("off: %v", err)
	}
	Enable(t, "test/chain=2*error(Slow(er)->Down)->1*off->error(end)")
	var got []string
	for range 5 {
		got = append(got, fmt.Sprint(fpChain.Do(ctx)))
	}
	want := "[failpoint test/chain: Slow(er)->Down failpoint test/chain: Slow(er)->Down <nil> failpoint test/chain: end failpoint test/chain: end]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v\nwant %s", got, want)
	}
	var e *Error
	if err := fpChain.Do(ctx); !errors.As(err, &e) || e.Point != "test/chain" || e.Text != "end" {
		t.Errorf("error %#v", err)
	}
	if fpChain.Hits() != 6 {
		t.Errorf("%d hits, want 6", fpChain.Hits())
	}
	Disarm("test/chain")
	if err := fpChain.Do(ctx); err != nil {
		t.Errorf("disarmed: %v", err)
	}
}

func TestGlobsPickEntriesAndTerms(t *testing.T) {
	t.Parallel()
	Enable(t, "test/glob@scanB=error(B);test/glob@s3://*/data/?.parquet=@*1.parquet error(one)->error(other)")
	for key, want := range map[string]string{
		"": "<nil>", "scanA": "<nil>", "scanB": "failpoint test/glob: B",
		"s3://b/x/data/1.parquet": "failpoint test/glob: one", "s3://b/data/2.parquet": "failpoint test/glob: other", "s3://b/data/22.parquet": "<nil>",
	} {
		if got := fmt.Sprint(fpGlob.DoKey(t.Context(), key)); got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
}

// A draw depends on the key and its hit alone, not on what other keys did in between.
func TestDrawsDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	run := func(keys ...string) map[string]string {
		out := map[string]string{}
		p, err := parse("test/draw=30%error")
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			for _, k := range keys {
				if p["test/draw"].pick("test/draw", k) != nil {
					out[k] += "x"
				} else {
					out[k] += "."
				}
			}
		}
		return out
	}
	alone, together := run("a"), run("b", "a")
	if alone["a"] != together["a"] {
		t.Error("the draws of a changed with b around")
	}
	if together["a"] == together["b"] {
		t.Error("a and b draw alike")
	}
	if n := strings.Count(alone["a"], "x"); n < 40 || n > 80 {
		t.Errorf("%d of 200 at 30 %%", n)
	}
}

// The pause point has no other user: the bubble owns it.
func TestPauseEndsWithContextDisarmAndRearm(t *testing.T) {
	for _, end := range []string{"context", "disarm", "rearm"} {
		synctest.Test(t, func(t *testing.T) {
			Enable(t, "test/pause=pause")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			results := make(chan error, 3)
			for range 3 {
				go func() { results <- fpPause.Do(ctx) }()
			}
			synctest.Wait()
			if n := fpPause.Paused(); n != 3 {
				t.Fatalf("%d paused, want 3", n)
			}
			var want error
			switch end {
			case "context":
				want = context.Canceled
				cancel()
			case "disarm":
				Disarm("test/pause")
			case "rearm":
				if err := Arm("test/pause=error(next)"); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				if err := <-results; !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", end, err, want)
				}
			}
			if n := fpPause.Paused(); n != 0 {
				t.Errorf("%s: %d still paused", end, n)
			}
		})
	}
}

func TestSleepIsExactAndEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		Enable(t, "test/stop=sleep(50ms)")
		start := time.Now()
		if err := fpStop.Do(t.Context()); err != nil || time.Since(start) != 50*time.Millisecond {
			t.Errorf("slept %v, %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		start = time.Now()
		if err := fpStop.Do(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 20*time.Millisecond {
			t.Errorf("slept %v, %v", time.Since(start), err)
		}
	})
}

func TestPanicCallAndMissingFunction(t *testing.T) {
	t.Parallel()
	var seen string
	EnableFunc(t, "test/call=1*panic(boom)->call", func(_ context.Context, key string) error {
		seen = key
		return io.EOF
	})
	func() {
		defer func() {
			if r := recover(); r != "failpoint test/call: boom" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = fpCall.Do(t.Context())
	}()
	if err := fpCall.DoKey(t.Context(), "k"); err != io.EOF || seen != "k" {
		t.Errorf("call: %v, key %q", err, seen)
	}
	Enable(t, "test/more=call")
	if err := fpMore.Do(t.Context()); err == nil {
		t.Error("call without a function passed")
	}
}

func TestScopedTestsDoNotMeet(t *testing.T) {
	t.Parallel()
	a, releaseA := Scoped(t, t.Context(), "test/scope=error(a)", nil)
	b, _ := Scoped(t, t.Context(), "test/scope=1*error(b)->off", nil)
	for i, c := range []struct {
		ctx  context.Context
		want string
	}{{a, "failpoint test/scope: a"}, {b, "failpoint test/scope: b"}, {b, "<nil>"}, {t.Context(), "<nil>"}, {a, "failpoint test/scope: a"}} {
		if got := fmt.Sprint(fpScope.Do(c.ctx)); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
	releaseA()
	if fpScope.armed.Load() != 1 {
		t.Errorf("%d arms left, want b's", fpScope.armed.Load())
	}
}

type fakeTB struct{ failed string }

func (f *fakeTB) Helper()        {}
func (f *fakeTB) Cleanup(func()) {}
func (f *fakeTB) Fatalf(format string, args ...any) {
	f.failed = fmt.Sprintf(format, args...)
}

func TestEnableRefuses(t *testing.T) {
	t.Parallel()
	Enable(t, "test/twice=off")
	for _, spec := range []string{"test/twice=error", "test/unknown=off", "test/off=explode"} {
		var f fakeTB
		Enable(&f, spec)
		if f.failed == "" {
			t.Errorf("%q was enabled", spec)
		}
	}
	if err := Arm("test/off=error;test/unknown=off"); err == nil || fpOff.Do(t.Context()) != nil {
		t.Errorf("a spec with an unknown name armed something: %v", err)
	}
}

func TestKillEndsTheProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "FAILPOINTS_TEST_KILL=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 || strings.Contains(string(out), "alive") {
		t.Errorf("%v, output %q", err, out)
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	h := Handler()
	do := func(method, path, body string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w.Code, w.Body.String()
	}
	if code, _ := do("PUT", "/test/http", "1*error(x)->30%@k sleep(1ms)"); code != 200 {
		t.Fatalf("PUT: %d", code)
	}
	_ = fpHTTP.Do(t.Context())
	if _, body := do("GET", "/", ""); !strings.Contains(body, "test/http=1*error(x)->30%@k sleep(1ms) hits=1 paused=0\n") || !strings.Contains(body, "test/off off hits=0") {
		t.Errorf("listing %q", body)
	}
	for _, c := range [][3]string{{"PUT", "/test/none", "off"}, {"PUT", "/", "test/http=explode"}} {
		if code, body := do(c[0], c[1], c[2]); code != http.StatusBadRequest {
			t.Errorf("%v: %d %s", c, code, body)
		}
	}
	if code, _ := do("DELETE", "/test/http", ""); code != 200 || fpHTTP.armed.Load() != 0 {
		t.Errorf("DELETE: %d, armed %d", code, fpHTTP.armed.Load())
	}
	if code, _ := do("POST", "/", ""); code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", code)
	}
}

func TestSpecRefuses(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"x", "test=off", "Test/a=off", "t/a=", "t/a=0*off", "t/a=-1*off", "t/a=101%off", "t/a=sleep", "t/a=sleep(x)", "t/a=sleep(-1s)", "t/a=off(x)",
		"t/a=error(", "t/a=error)", "t/a=error(x)y", "t/a@=off", "t/a=@ off", "t/a=@k", "t/a=off->", "t/a=" + strings.Repeat("off->", 20_000) + "off",
	} {
		if _, err := parse(spec); err == nil {
			t.Errorf("%.40q was taken", spec)
		}
	}
	for _, spec := range []string{"", " ; ", "t/a=off;", "t/a = 2*50% @x*y error(a;b)"} {
		if _, err := parse(spec); err != nil {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

func FuzzSpec(f *testing.F) {
	f.Add("object/get_503=2*error(SlowDown)->off;prefetchpool/pool_pause@scanB=pause")
	f.Add("a/b=30.5%@k* sleep(50ms)->panic(x(y)z)->kill->call")
	f.Fuzz(func(t *testing.T, spec string) {
		first, err := parse(spec)
		if err != nil {
			return
		}
		for name, p := range first {
			again, err := parse(p.text(name))
			if err != nil || again[name].text(name) != p.text(name) {
				t.Fatalf("%q became %q, which parses to %v", spec, p.text(name), err)
			}
		}
	})
}

func BenchmarkDo(b *testing.B) {
	ctx := b.Context()
	b.Run("state=off", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := fpBench.Do(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("state=armed_off", func(b *testing.B) {
		Enable(b, "test/bench=off")
		b.ReportAllocs()
		for b.Loop() {
			if err := fpBench.Do(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}
