package faulty

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lakescan/lakescan/internal/wildcard"
)

// Rules is one rule set with its log. It is safe for concurrent use.
type Rules struct {
	seed uint64
	mu   struct {
		sync.Mutex
		rules    []*rule
		ordinals map[string]int // by path
		repeats  map[string]int // by path and range
		calls    map[string]func(*http.Request)
		log      []*Entry
	}
}

type rule struct {
	index        int
	method, path string
	from, to     int // ordinals, 0 = any
	rng          string
	hasRange     bool
	percent      float64
	uses, used   int // uses 0 = without end
	faults       []fault
}

type kind uint8

const (
	status kind = iota
	delay
	hang
	deaf
	refuse
	lose
	cut
	reset
	stall
	corrupt
	ignoreRange
	contentRange
	etag
	call
)

var kinds = map[string]kind{
	"status": status, "delay": delay, "hang": hang, "deaf": deaf, "refuse": refuse, "lose": lose, "cut": cut, "reset": reset, "stall": stall, "corrupt": corrupt,
	"ignore-range": ignoreRange, "content-range": contentRange, "etag": etag, "call": call,
}

type fault struct {
	kind   kind
	n      int64
	wait   func(draw float64) time.Duration // of delay; u in [0,1)
	dur    time.Duration
	text   string
	params map[string]string
	source string
}

// Parse reads rules.
func Parse(text string, seed uint64) (*Rules, error) {
	r := &Rules{seed: seed}
	r.mu.ordinals, r.mu.repeats, r.mu.calls = map[string]int{}, map[string]int{}, map[string]func(*http.Request){}
	return r, r.Add(text)
}

// New parses rules for a test.
func New(tb testing.TB, text string) *Rules {
	tb.Helper()
	r, err := Parse(text, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// Add appends rules.
func (r *Rules) Add(text string) error {
	var parsed []*rule
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if i := strings.Index(line, " # "); i >= 0 {
			line = strings.TrimSpace(line[:i])
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		one, err := parseRule(line)
		if err != nil {
			return fmt.Errorf("faulty: line %d: %q: %w", n, line, err)
		}
		parsed = append(parsed, one)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("faulty: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range parsed {
		one.index = len(r.mu.rules)
		r.mu.rules = append(r.mu.rules, one)
	}
	return nil
}

// Clear drops all rules; ordinals and the log go on.
func (r *Rules) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.rules = nil
}

// On names a function for call faults.
func (r *Rules) On(name string, f func(*http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.calls[name] = f
}

func parseRule(line string) (*rule, error) {
	left, right, ok := strings.Cut(line, "->")
	fields := strings.Fields(left)
	if !ok || len(fields) < 2 {
		return nil, fmt.Errorf("want: METHOD path -> fault")
	}
	out := &rule{method: fields[0], path: fields[1], percent: 100}
	switch out.method {
	case "GET", "HEAD", "PUT", "POST", "DELETE", "LIST", "*":
	default:
		return nil, fmt.Errorf("method %q", out.method)
	}
	for _, f := range fields[2:] {
		if err := out.parseMatch(f); err != nil {
			return nil, err
		}
	}
	for part := range strings.SplitSeq(right, ",") {
		words := strings.Fields(part)
		if len(words) == 0 {
			return nil, fmt.Errorf("an empty fault")
		}
		if n := len(words) - 1; n > 0 || isUses(words[0]) { // xN may end a fault or stand alone
			if isUses(words[n]) {
				if err := out.parseMatch(words[n]); err != nil {
					return nil, err
				}
				if words = words[:n]; len(words) == 0 {
					continue
				}
			}
		}
		f, err := parseFault(words)
		if err != nil {
			return nil, err
		}
		out.faults = append(out.faults, f)
	}
	if len(out.faults) == 0 {
		return nil, fmt.Errorf("no fault")
	}
	return out, nil
}

func isUses(w string) bool {
	_, err := strconv.Atoi(strings.TrimPrefix(w, "x"))
	return err == nil && strings.HasPrefix(w, "x")
}

func (r *rule) parseMatch(f string) error {
	switch {
	case strings.HasPrefix(f, "#"):
		a, b, span := strings.Cut(f[1:], "-")
		open := strings.HasSuffix(a, "+")
		from, err := strconv.Atoi(strings.TrimSuffix(a, "+"))
		if err != nil || from < 1 {
			return fmt.Errorf("ordinal %q", f)
		}
		r.from, r.to = from, from
		if open {
			r.to = math.MaxInt
		}
		if span {
			if r.to, err = strconv.Atoi(b); err != nil || r.to < from {
				return fmt.Errorf("ordinal %q", f)
			}
		}
	case strings.HasPrefix(f, "range="):
		r.rng, r.hasRange = f[len("range="):], true
	case strings.HasSuffix(f, "%"):
		p, err := strconv.ParseFloat(strings.TrimSuffix(f, "%"), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return fmt.Errorf("share %q", f)
		}
		r.percent = p
	case isUses(f):
		n, _ := strconv.Atoi(f[1:]) // isUses has read it
		if n < 1 {
			return fmt.Errorf("uses %q", f)
		}
		r.uses = n
	default:
		return fmt.Errorf("matcher %q", f)
	}
	return nil
}

func parseFault(words []string) (fault, error) {
	k, ok := kinds[words[0]]
	f := fault{kind: k, params: map[string]string{}, source: strings.Join(words, " ")}
	if !ok {
		return f, fmt.Errorf("fault %q", words[0])
	}
	var plain []string
	for _, w := range words[1:] {
		if key, v, ok := strings.Cut(w, "="); ok {
			f.params[key] = v
		} else {
			plain = append(plain, w)
		}
	}
	arg := func(i int) string {
		if i < len(plain) {
			return plain[i]
		}
		return ""
	}
	var err error
	switch k {
	case status, cut, reset, corrupt, stall:
		f.n, err = strconv.ParseInt(arg(0), 10, 64)
		if err == nil && k == stall && arg(1) != "" {
			f.dur, err = time.ParseDuration(arg(1))
		}
	case delay:
		f.wait, err = parseDelay(arg(0))
	case hang, deaf:
		if arg(0) != "" {
			f.dur, err = time.ParseDuration(arg(0))
		}
	case etag, call:
		if f.text = arg(0); f.text == "" {
			err = fmt.Errorf("needs a name")
		}
	case contentRange:
		f.text = arg(0)
	}
	if err != nil || f.n < 0 {
		return f, fmt.Errorf("fault %q: %v", f.source, err)
	}
	return f, nil
}

func parseDelay(s string) (func(float64) time.Duration, error) {
	if in, ok := strings.CutPrefix(s, "lognormal("); ok {
		m, sg, _ := strings.Cut(strings.TrimSuffix(in, ")"), ";")
		median, err := time.ParseDuration(m)
		if err != nil {
			return nil, err
		}
		sigma, err := strconv.ParseFloat(sg, 64)
		if err != nil {
			return nil, err
		}
		return func(u float64) time.Duration {
			return time.Duration(float64(median) * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*u-1)))
		}, nil
	}
	a, b, span := strings.Cut(s, "..")
	low, err := time.ParseDuration(a)
	if err != nil {
		return nil, err
	}
	high := low
	if span {
		if high, err = time.ParseDuration(b); err != nil {
			return nil, err
		}
	}
	if low < 0 || high < low {
		return nil, fmt.Errorf("delay %q", s)
	}
	return func(u float64) time.Duration { return low + time.Duration(u*float64(high-low)) }, nil
}

// Entry is one request in the log.
type Entry struct {
	Method, Path, Query, Range, IfMatch string
	Ordinal                             int // of the path
	Status                              int // 0 = none was sent
	Bytes                               int64
	Closed                              bool // the client closed the body (RoundTripper), the handler returned (Handler)
	Faults                              []string
	Start, End                          time.Time
}

// String is one line: what a failing test prints.
func (e Entry) String() string {
	return fmt.Sprintf("%s %s range=%q if-match=%q #%d -> %d, %d bytes %v", e.Method, e.Path, e.Range, e.IfMatch, e.Ordinal, e.Status, e.Bytes, e.Faults)
}

// Log gives the requests so far.
func (r *Rules) Log() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Entry, len(r.mu.log))
	for i, e := range r.mu.log {
		out[i] = *e
	}
	return out
}

// Count counts the logged requests of a method ("" = all, LIST as in rules) whose path matches a glob.
func (r *Rules) Count(method, glob string) int {
	n := 0
	for _, e := range r.Log() {
		if (method == "" || method == e.Method) && wildcard.Match(glob, e.Path) {
			n++
		}
	}
	return n
}

// Open counts answers whose body the client has not closed yet.
func (r *Rules) Open() int {
	n := 0
	for _, e := range r.Log() {
		if !e.Closed {
			n++
		}
	}
	return n
}

// plan is what one request suffers.
type plan struct {
	rules  *Rules
	entry  *Entry
	faults []fault
	draws  []float64
}

// admit logs a request and picks its faults.
func (r *Rules) admit(q *http.Request) *plan {
	e := &Entry{
		Method: q.Method, Path: strings.TrimPrefix(q.URL.Path, "/"), Query: q.URL.RawQuery,
		Range: strings.TrimPrefix(q.Header.Get("Range"), "bytes="), IfMatch: strings.Trim(q.Header.Get("If-Match"), `"`), Start: time.Now(),
	}
	if q.Method == http.MethodGet && q.URL.Query().Has("list-type") {
		e.Method = "LIST"
	}
	p := &plan{rules: r, entry: e}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.ordinals[e.Path]++
	e.Ordinal = r.mu.ordinals[e.Path]
	r.mu.repeats[e.Path+"\x00"+e.Range]++
	repeat := r.mu.repeats[e.Path+"\x00"+e.Range]
	r.mu.log = append(r.mu.log, e)
	for _, one := range r.mu.rules {
		if !one.matches(e) || draw(r.seed, one.index, e, repeat, "take")*100 >= one.percent {
			continue
		}
		one.used++
		for _, f := range one.faults {
			p.faults = append(p.faults, f)
			p.draws = append(p.draws, draw(r.seed, one.index, e, repeat, f.source))
			e.Faults = append(e.Faults, f.source)
		}
	}
	return p
}

func (r *rule) matches(e *Entry) bool {
	switch {
	case r.method != "*" && r.method != e.Method,
		r.uses > 0 && r.used >= r.uses,
		r.from > 0 && (e.Ordinal < r.from || e.Ordinal > r.to),
		r.hasRange && r.rng != e.Range:
		return false
	}
	return wildcard.Match(r.path, e.Path)
}

// draw is in [0, 1), and depends on the arguments alone.
func draw(seed uint64, index int, e *Entry, repeat int, what string) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d\x00%d\x00%s\x00%s\x00%d\x00%s", seed, index, e.Path, e.Range, repeat, what)
	x := h.Sum64()
	x ^= x >> 33 // FNV mixes its low bits badly: MurmurHash3's finalizer
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}
