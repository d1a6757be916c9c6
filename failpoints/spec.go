package failpoints

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lakescan/lakescan/internal/wildcard"
)

type action uint8

const (
	actOff action = iota
	actError
	actSleep
	actPause
	actPanic
	actKill
	actCall
)

var actionNames = [...]string{"off", "error", "sleep", "pause", "panic", "kill", "call"}

// term is immutable; its uses are counted in the program.
type term struct {
	uses    int64 // 0 = without end
	percent float64
	glob    string // "" = every key
	action  action
	text    string
	sleep   time.Duration
}

type rule struct {
	glob  string
	chain []term
}

// program is what one arming makes of a point's entries.
type program struct {
	rules    []rule
	call     func(ctx context.Context, key string) error
	released chan struct{} // closed when it is replaced
	mu       struct {
		sync.Mutex
		used map[*term]int64
		hits map[string]int64 // by key
	}
}

func newProgram() *program {
	p := &program{released: make(chan struct{})}
	p.mu.used, p.mu.hits = map[*term]int64{}, map[string]int64{}
	return p
}

// pick finds the term that a hit uses, or nil.
func (p *program) pick(point, key string) *term {
	p.mu.Lock()
	defer p.mu.Unlock()
	hit := p.mu.hits[key]
	p.mu.hits[key]++
	for i := range p.rules {
		r := &p.rules[i]
		if r.glob != "" && !wildcard.Match(r.glob, key) {
			continue
		}
		for j := range r.chain {
			t := &r.chain[j]
			if t.glob != "" && !wildcard.Match(t.glob, key) {
				continue
			}
			if t.uses > 0 && p.mu.used[t] >= t.uses {
				continue
			}
			if t.percent < 100 && draw(point, key, hit) >= t.percent {
				return nil
			}
			p.mu.used[t]++
			return t
		}
		return nil
	}
	return nil
}

// Seed of the draws; a test that finds something prints it. Set it before anything is armed.
var Seed uint64 = 1

// draw is a number in [0, 100) that depends on nothing but its arguments and the Seed.
func draw(point, key string, hit int64) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d\x00%s\x00%s\x00%d", Seed, point, key, hit)
	x := h.Sum64()
	x ^= x >> 33 // FNV leaves the low input bits in the low output bits: mix (MurmurHash3's finalizer)
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return float64(x>>11) / (1 << 53) * 100
}

// maxSpec bounds what a request or a variable may hand in.
const maxSpec = 64 << 10

// parse reads a spec into programs by point name; it does not look at the registry.
func parse(spec string) (map[string]*program, error) {
	if len(spec) > maxSpec {
		return nil, errors.New("failpoints: spec longer than 64 KiB")
	}
	out := map[string]*program{}
	entries, err := split(spec, ";")
	if err != nil {
		return nil, fmt.Errorf("failpoints: %q: %w", spec, err)
	}
	for _, e := range entries {
		if strings.TrimSpace(e) == "" {
			continue
		}
		name, chain, ok := strings.Cut(e, "=")
		if !ok {
			return nil, fmt.Errorf("failpoints: %q: want point=action", e)
		}
		name, glob, hasGlob := strings.Cut(strings.TrimSpace(name), "@")
		if hasGlob && glob == "" {
			return nil, fmt.Errorf("failpoints: %q: nothing after @", e)
		}
		if !goodName.MatchString(name) {
			return nil, fmt.Errorf("failpoints: %q is no name of a point", name)
		}
		terms, err := parseChain(chain)
		if err != nil {
			return nil, fmt.Errorf("failpoints: %q: %w", e, err)
		}
		if out[name] == nil {
			out[name] = newProgram()
		}
		out[name].rules = append(out[name].rules, rule{glob, terms})
	}
	return out, nil
}

func parseChain(s string) ([]term, error) {
	parts, err := split(s, "->")
	if err != nil {
		return nil, err
	}
	var chain []term
	for _, part := range parts {
		t, err := parseTerm(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		chain = append(chain, t)
	}
	return chain, nil
}

// split cuts at a separator outside of parentheses.
func split(s, sep string) ([]string, error) {
	var out []string
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '(':
			depth++
		case s[i] == ')':
			if depth--; depth < 0 {
				return nil, errors.New("a ) too many")
			}
		case depth == 0 && strings.HasPrefix(s[i:], sep):
			out = append(out, s[from:i])
			i += len(sep) - 1
			from = i + 1
		}
	}
	if depth != 0 {
		return nil, errors.New("a ( is not closed")
	}
	return append(out, s[from:]), nil
}

func parseTerm(s string) (term, error) {
	t := term{percent: 100}
	if n, rest, ok := cutNumber(s, '*'); ok {
		v, err := strconv.ParseInt(n, 10, 64)
		if err != nil || v < 1 {
			return t, fmt.Errorf("%q: want a count of 1 or more before *", n)
		}
		t.uses, s = v, rest
	}
	if n, rest, ok := cutNumber(s, '%'); ok {
		v, err := strconv.ParseFloat(n, 64)
		if err != nil || !(v >= 0 && v <= 100) {
			return t, fmt.Errorf("%q: want 0 to 100 before %%", n)
		}
		t.percent, s = v, rest
	}
	if rest, ok := strings.CutPrefix(s, "@"); ok {
		glob, action, ok := strings.Cut(rest, " ")
		if !ok || glob == "" {
			return t, fmt.Errorf("%q: want @glob, a space, and an action", s)
		}
		t.glob, s = glob, strings.TrimSpace(action)
	}
	return t, t.parseAction(s)
}

// cutNumber finds digits (and a point) right before a mark.
func cutNumber(s string, mark byte) (n, rest string, ok bool) {
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i <= 0 || s[i] != mark {
		return "", s, false
	}
	return s[:i], strings.TrimSpace(s[i+1:]), true
}

func (t *term) parseAction(s string) error {
	name, arg, hasArg := strings.Cut(s, "(")
	if hasArg {
		var ok bool
		if arg, ok = strings.CutSuffix(arg, ")"); !ok {
			return fmt.Errorf("%q: text after )", s)
		}
	}
	for i, n := range actionNames {
		if n == name {
			t.action = action(i)
			return t.checkArg(name, arg, hasArg)
		}
	}
	return fmt.Errorf("action %q: want one of %s", name, strings.Join(actionNames[:], ", "))
}

func (t *term) checkArg(name, arg string, hasArg bool) error {
	switch t.action {
	case actError, actPanic:
		t.text = arg
		return nil
	case actSleep:
		d, err := time.ParseDuration(arg)
		if err != nil || d < 0 {
			return fmt.Errorf("sleep(%s): want a duration such as 50ms", arg)
		}
		t.sleep = d
		return nil
	}
	if hasArg {
		return fmt.Errorf("%s takes nothing in parentheses", name)
	}
	return nil
}

// String gives the term back as text that parses to it.
func (t term) String() string {
	var b strings.Builder
	if t.uses > 0 {
		fmt.Fprintf(&b, "%d*", t.uses)
	}
	if t.percent < 100 {
		b.WriteString(strconv.FormatFloat(t.percent, 'f', -1, 64) + "%")
	}
	if t.glob != "" {
		b.WriteString("@" + t.glob + " ")
	}
	b.WriteString(actionNames[t.action])
	switch {
	case t.action == actSleep:
		b.WriteString("(" + t.sleep.String() + ")")
	case t.text != "":
		b.WriteString("(" + t.text + ")")
	}
	return b.String()
}

// text of the program's entries for a point.
func (p *program) text(name string) string {
	var entries []string
	for _, r := range p.rules {
		left := name
		if r.glob != "" {
			left += "@" + r.glob
		}
		var terms []string
		for _, t := range r.chain {
			terms = append(terms, t.String())
		}
		entries = append(entries, left+"="+strings.Join(terms, "->"))
	}
	return strings.Join(entries, ";")
}
