package failpoints

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// TB is what Enable needs of a test.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Check reports whether a spec can be armed: its language and its names.
func Check(spec string) error {
	_, err := lookUp(spec)
	return err
}

type target struct {
	point *Point
	prog  *program
}

func lookUp(spec string) ([]target, error) {
	programs, err := parse(spec)
	if err != nil {
		return nil, err
	}
	registry.Lock()
	defer registry.Unlock()
	var out []target
	var errs []error
	for name, prog := range programs {
		if p := registry.points[name]; p != nil {
			out = append(out, target{p, prog})
			continue
		}
		errs = append(errs, fmt.Errorf("failpoints: no point is named %s", name))
	}
	return out, errors.Join(errs...)
}

// Arm arms points for the process, replacing what they had; points that the spec does not name keep theirs. Nothing is armed
// if anything in the spec is wrong.
func Arm(spec string) error {
	targets, err := lookUp(spec)
	if err != nil {
		return err
	}
	for _, t := range targets {
		t.point.set(t.prog)
	}
	return nil
}

// Disarm switches the named points off for the process, or all without a name, and releases their pauses.
func Disarm(names ...string) {
	registry.Lock()
	var points []*Point
	if len(names) == 0 {
		for _, p := range registry.points {
			points = append(points, p)
		}
	}
	for _, n := range names {
		if p := registry.points[n]; p != nil {
			points = append(points, p)
		}
	}
	registry.Unlock()
	for _, p := range points {
		p.set(nil)
	}
}

// Enable arms points for the process until the test ends. Two tests that arm one point at the same time would change each other's
// outcome, so the second one fails: use Scoped there, or run it alone.
func Enable(t TB, spec string) {
	t.Helper()
	enable(t, spec, nil)
}

// EnableFunc is Enable with the function that call actions run. A pause of the function itself is its own to bound.
func EnableFunc(t TB, spec string, call func(ctx context.Context, key string) error) {
	t.Helper()
	enable(t, spec, call)
}

func enable(t TB, spec string, call func(ctx context.Context, key string) error) {
	t.Helper()
	targets, err := lookUp(spec)
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	for _, one := range targets {
		one.prog.call = call
		if old := one.point.set(one.prog); old != nil {
			one.point.set(nil)
			t.Fatalf("failpoints: %s is armed already, by another test or an earlier Enable of this one", one.point.name)
			return
		}
		t.Cleanup(func() { one.point.set(nil) })
	}
}

// Scoped arms points for calls whose context descends from the one returned, until the test ends; so parallel tests may arm
// the same point. release disarms early, which ends pauses. call may be nil.
func Scoped(t TB, ctx context.Context, spec string, call func(ctx context.Context, key string) error) (scope context.Context, release func()) {
	t.Helper()
	targets, err := lookUp(spec)
	if err != nil {
		t.Fatalf("%v", err)
		return ctx, func() {}
	}
	for _, one := range targets {
		one.prog.call = call
		ctx = context.WithValue(ctx, scopeKey{one.point}, one.prog)
		one.point.armed.Add(1)
	}
	var once sync.Once
	release = func() {
		once.Do(func() {
			for _, one := range targets {
				one.point.armed.Add(-1)
				close(one.prog.released)
			}
		})
	}
	t.Cleanup(release)
	return ctx, release
}

// Handler lists all points (GET /), arms some (PUT / with a spec, or PUT /package/point with a chain) and disarms (DELETE, one or
// all). Serve it on loopback only: it can kill the process.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.Trim(r.URL.Path, "/")
		switch r.Method {
		case http.MethodGet:
			_, _ = io.WriteString(w, listing())
		case http.MethodPut:
			body, err := io.ReadAll(io.LimitReader(r.Body, maxSpec+1))
			spec := string(body)
			if name != "" {
				spec = name + "=" + spec
			}
			if err == nil {
				err = Arm(spec)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		case http.MethodDelete:
			if name == "" {
				Disarm()
			} else {
				Disarm(name)
			}
		default:
			http.Error(w, "want GET, PUT or DELETE", http.StatusMethodNotAllowed)
		}
	})
}

// listing has one line a point: its entries if it is armed, its name and off if not, then hits and paused goroutines.
func listing() string {
	var b strings.Builder
	for _, name := range Names() {
		registry.Lock()
		p := registry.points[name]
		registry.Unlock()
		p.mu.Lock()
		text := name + " off"
		if p.mu.global != nil {
			text = p.mu.global.text(name)
		}
		fmt.Fprintf(&b, "%s hits=%d paused=%d\n", text, p.mu.hits, p.mu.paused)
		p.mu.Unlock()
	}
	return b.String()
}
