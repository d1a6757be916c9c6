package failpoints

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// EnvVar is the variable that cmd/lakescan hands to Arm.
const EnvVar = "LAKESCAN_FAILPOINTS"

// Point is one named place. It is a package variable, made by New.
type Point struct {
	name  string
	armed atomic.Int32 // how many arms: one for the process, one for each scope; 0 = off
	mu    struct {
		sync.Mutex
		global *program
		hits   int64
		paused int
	}
}

// Error is what an error action returns.
type Error struct{ Point, Text string }

func (e *Error) Error() string { return "failpoint " + e.Point + ": " + e.Text }

var registry struct {
	sync.Mutex
	points map[string]*Point
}

var goodName = regexp.MustCompile(`^[a-z0-9_]+(/[a-z0-9_]+)+$`)

// New registers a point. The name is the package, a slash, and what happens there; a second New of a name is a mistake, and panics.
func New(name string) *Point {
	if !goodName.MatchString(name) {
		panic("failpoints: name " + name + ": want package/what in lower case")
	}
	registry.Lock()
	defer registry.Unlock()
	if registry.points == nil {
		registry.points = map[string]*Point{}
	}
	if registry.points[name] != nil {
		panic("failpoints: " + name + " is declared twice")
	}
	p := &Point{name: name}
	registry.points[name] = p
	return p
}

// Names lists all registered points.
func Names() []string {
	registry.Lock()
	defer registry.Unlock()
	names := make([]string, 0, len(registry.points))
	for n := range registry.points {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Name of the point.
func (p *Point) Name() string { return p.name }

// Hits counts how often the point was passed while armed; it starts again with each arming for the process.
func (p *Point) Hits() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.hits
}

// Paused counts the goroutines that a pause holds now.
func (p *Point) Paused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.paused
}

// Do passes the point: nil, unless it is armed and its action says otherwise.
func (p *Point) Do(ctx context.Context) error {
	if p.armed.Load() == 0 {
		return nil
	}
	return p.run(ctx, "")
}

// DoKey passes the point for a key (the name of a scan, the text of a location), which globs and draws look at.
func (p *Point) DoKey(ctx context.Context, key string) error {
	if p.armed.Load() == 0 {
		return nil
	}
	return p.run(ctx, key)
}

type scopeKey struct{ p *Point }

func (p *Point) run(ctx context.Context, key string) error {
	prog, scoped := ctx.Value(scopeKey{p}).(*program)
	p.mu.Lock()
	if !scoped {
		prog = p.mu.global
	}
	p.mu.hits++
	p.mu.Unlock()
	if prog == nil {
		return nil
	}
	return p.act(ctx, prog, prog.pick(p.name, key), key)
}

func (p *Point) act(ctx context.Context, prog *program, t *term, key string) error {
	if t == nil {
		return nil
	}
	switch t.action {
	case actError:
		return &Error{p.name, t.text}
	case actPanic:
		panic("failpoint " + p.name + ": " + t.text)
	case actSleep:
		timer := time.NewTimer(t.sleep)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case actPause:
		p.countPaused(1)
		defer p.countPaused(-1)
		select {
		case <-prog.released:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case actKill:
		return kill()
	case actCall:
		if prog.call == nil {
			return fmt.Errorf("failpoint %s: call without a function", p.name)
		}
		return prog.call(ctx, key)
	}
	return nil
}

func (p *Point) countPaused(d int) {
	p.mu.Lock()
	p.mu.paused += d
	p.mu.Unlock()
}

// kill ends the process as a crash would: no deferred call, no flush.
func kill() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	select {} // the signal is on its way
}

// set arms the point for the process, or disarms it with nil, and releases whoever the old program paused. The old program is
// returned, so that a test can see that it takes over another's.
func (p *Point) set(prog *program) (old *program) {
	p.mu.Lock()
	old, p.mu.global = p.mu.global, prog
	if prog != nil {
		p.mu.hits = 0
	}
	p.mu.Unlock()
	switch {
	case old == nil && prog != nil:
		p.armed.Add(1)
	case old != nil && prog == nil:
		p.armed.Add(-1)
	}
	if old != nil {
		close(old.released)
	}
	return old
}
