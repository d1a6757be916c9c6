package lab

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lakescan/lakescan/source"
)

// ErrMatrix is in the chain of every fault of a matrix file.
var ErrMatrix = errors.New("lab: bad matrix")

// Matrix is one experiment: every combination of the axes, several times.
type Matrix struct {
	Name   string      `yaml:"name" json:"name"`
	Title  string      `yaml:"title" json:"title"`
	About  string      `yaml:"about" json:"about"`
	Runs   int         `yaml:"runs" json:"runs"`     // kept runs of a cell; 0 = 5
	Warmup *int        `yaml:"warmup" json:"warmup"` // rounds over all cells that are dropped; absent = 1
	Seed   uint64      `yaml:"seed" json:"seed"`     // of the order of cells and of jitter; 0 = 1
	Store  StoreConfig `yaml:"store" json:"store"`
	// CellLimit is how long the kept runs of one cell may take, by estimate: slower cells get fewer runs. 0 = no limit.
	CellLimit time.Duration       `yaml:"cell_limit" json:"cell_limit,omitempty"`
	Axes      map[string][]string `yaml:"axes" json:"axes"`

	References []Reference `yaml:"references" json:"references,omitempty"`
	Gate       Gate        `yaml:"gate" json:"gate,omitzero"`
}

// Gate ends a run whose counts are not as they must be. There is none for times: they are the machine's.
type Gate struct {
	RequestsAFile float64 `yaml:"requests_a_file" json:"requests_a_file,omitempty"` // at most; 0 = any
}

// ErrGate is a count beyond the matrix's gate.
var ErrGate = errors.New("lab: a count is beyond the gate")

// agrees compares with what the store saw. A hedge that was called back may have been counted by the scan alone.
func (s *Sample) agrees() bool {
	seen, sent := s.Server.Requests["GET"], s.Sent()
	return seen <= sent && seen >= sent-s.Hedges-s.Retries
}

// check looks at a good sample. A store of ours must have seen what the scan says that it sent, and never a HEAD.
func (g Gate) check(s *Sample) error {
	switch {
	case g.RequestsAFile > 0 && float64(s.FileReads) > g.RequestsAFile*float64(s.FileCount)+float64(s.Retries+s.Hedges):
		return fmt.Errorf("%w: %d requests for %d files, at most %v a file are allowed", ErrGate, s.FileReads, s.FileCount, g.RequestsAFile)
	case s.Requests["head"] > 0:
		return fmt.Errorf("%w: %d HEAD requests, none is needed", ErrGate, s.Requests["head"])
	case s.Server != nil && s.Cell.Neighbour == "none" && s.Cell.Cache == "cold" && s.Cell.Depth != Bare && !s.agrees():
		return fmt.Errorf("%w: the store saw %d requests, the scan counted %d", ErrGate, s.Server.Requests["GET"], s.Sent())
	}
	return nil
}

// Reference is somebody else's measurement, drawn beside ours.
type Reference struct {
	Name      string  `yaml:"name" json:"name"`
	Source    string  `yaml:"source" json:"source"`
	LatencyMS int     `yaml:"latency_ms" json:"latency_ms"`
	Depth     string  `yaml:"depth" json:"depth"`
	Seconds   float64 `yaml:"seconds" json:"seconds"`
}

// StoreConfig says what is scanned. Without S3 it is a store of our own with generated tables; ${NAME} and ${NAME:-default} are replaced
// by the environment's.
type StoreConfig struct {
	S3        string `yaml:"s3" json:"s3,omitempty"`               // URL of a running store; keys are the environment's
	Toxiproxy string `yaml:"toxiproxy" json:"toxiproxy,omitempty"` // URL of its control API; a proxy of our own is made in front of S3
	Catalog   string `yaml:"catalog" json:"catalog,omitempty"`     // URL of an Iceberg REST catalog that knows the tables
	Region    string `yaml:"region" json:"region,omitempty"`
}

// Own reports whether the store is ours.
func (s StoreConfig) Own() bool { return s.S3 == "" }

// Cell is one point of a matrix.
type Cell struct {
	LatencyMS int    `json:"latency_ms"` // before the first byte of every answer
	JitterMS  int    `json:"jitter_ms"`  // added or taken, evenly spread
	RateMBps  int    `json:"rate_mbps"`  // of the whole link, 10^6 bytes/s; 0 = not limited
	Depth     string `json:"depth"`      // max-files-to-prefetch: auto or a number; or Bare
	Streams   int    `json:"streams"`    // consumers
	Files     int    `json:"files"`      // of a generated table
	SizeKiB   int    `json:"size_kib"`   // of each of its files
	Table     string `json:"table"`      // of a store that is not ours
	Columns   string `json:"columns"`    // "all", or names with + between them
	Cache     string `json:"cache"`      // cold, or hot: the same client scanned the table just before
	Neighbour string `json:"neighbour"`  // none, or the depth of another scan that runs beside it in the same process
	Order     string `json:"order"`      // file, arrival
	MemoryMiB int    `json:"memory_mib"` // budget of the process; 0 = the default
}

// Bare is a depth that is none: the requests of a scan, as many and as large, all files at once and nothing decoded. It is what this
// machine, this store and this link can do at best.
const Bare = "bare"

// axis is one dimension: how a value of the file sets a cell, and how the cell shows it.
type axis struct {
	name  string
	unit  string
	def   []string
	set   func(c *Cell, v string) error
	get   func(c Cell) string
	scope string // "own", "foreign" store, or both
}

var columnList = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*(\+[A-Za-z_][A-Za-z0-9_.]*)*$`)

func number(field func(*Cell) *int, units map[string]int, least int) func(*Cell, string) error {
	return func(c *Cell, v string) error {
		digits := strings.TrimRight(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/ ")
		factor, ok := units[strings.TrimSpace(v[len(digits):])]
		n, err := strconv.Atoi(digits)
		if err != nil || !ok || n < least || n > 1<<24 {
			return fmt.Errorf("want a whole number from %d with unit %s", least, strings.Join(sortedKeys(units), " or "))
		}
		*field(c) = n * factor
		return nil
	}
}

func word(field func(*Cell) *string, of ...string) func(*Cell, string) error {
	return func(c *Cell, v string) error {
		if !slices.Contains(of, v) {
			return fmt.Errorf("want one of %s", strings.Join(of, ", "))
		}
		*field(c) = v
		return nil
	}
}

func depth(field func(*Cell) *string, also string) func(*Cell, string) error {
	return func(c *Cell, v string) error {
		if _, err := source.ParseDepth(v); err != nil && (also == "" || v != also) {
			return err
		}
		*field(c) = v
		return nil
	}
}

// axes in the order in which cells are listed and named.
var axes = []axis{
	{name: "table", scope: "foreign", set: func(c *Cell, v string) error { c.Table = v; return nil }, get: func(c Cell) string { return c.Table }},
	{name: "files", scope: "own", def: []string{"70"}, set: number(func(c *Cell) *int { return &c.Files }, map[string]int{"": 1}, 1), get: func(c Cell) string { return strconv.Itoa(c.Files) }},
	{name: "size", scope: "own", def: []string{"1MiB"}, set: number(func(c *Cell) *int { return &c.SizeKiB }, map[string]int{"KiB": 1, "MiB": 1024}, 1), get: func(c Cell) string { return HumanKiB(c.SizeKiB) }},
	{name: "columns", def: []string{"i1+d1"}, set: func(c *Cell, v string) error {
		if v != "all" && !columnList.MatchString(v) {
			return errors.New("want all, or names with + between them")
		}
		c.Columns = v
		return nil
	}, get: func(c Cell) string { return c.Columns }},
	{name: "latency", unit: "ms", def: []string{"100ms"}, set: number(func(c *Cell) *int { return &c.LatencyMS }, map[string]int{"ms": 1}, 0), get: func(c Cell) string { return fmt.Sprintf("%d ms", c.LatencyMS) }},
	{name: "jitter", unit: "ms", def: []string{"0ms"}, set: number(func(c *Cell) *int { return &c.JitterMS }, map[string]int{"ms": 1}, 0), get: func(c Cell) string { return fmt.Sprintf("±%d ms", c.JitterMS) }},
	{name: "rate", unit: "MB/s", def: []string{"0MB/s"}, set: number(func(c *Cell) *int { return &c.RateMBps }, map[string]int{"MB/s": 1}, 0), get: func(c Cell) string {
		if c.RateMBps == 0 {
			return "no limit"
		}
		return fmt.Sprintf("%d MB/s", c.RateMBps)
	}},
	{name: "streams", def: []string{"1"}, set: number(func(c *Cell) *int { return &c.Streams }, map[string]int{"": 1}, 1), get: func(c Cell) string { return strconv.Itoa(c.Streams) }},
	{name: "order", def: []string{"file"}, set: word(func(c *Cell) *string { return &c.Order }, "file", "arrival"), get: func(c Cell) string { return c.Order }},
	{name: "cache", def: []string{"cold"}, set: word(func(c *Cell) *string { return &c.Cache }, "cold", "hot"), get: func(c Cell) string { return c.Cache }},
	{name: "neighbour", def: []string{"none"}, set: depth(func(c *Cell) *string { return &c.Neighbour }, "none"), get: func(c Cell) string { return c.Neighbour }},
	{name: "memory", def: []string{"0MiB"}, set: number(func(c *Cell) *int { return &c.MemoryMiB }, map[string]int{"MiB": 1, "GiB": 1024}, 0), get: func(c Cell) string {
		if c.MemoryMiB == 0 {
			return "default"
		}
		return HumanKiB(c.MemoryMiB * 1024)
	}},
	{name: "depth", def: []string{"0", "auto"}, set: depth(func(c *Cell) *string { return &c.Depth }, Bare), get: func(c Cell) string { return c.Depth }},
}

// Axes are the names of all axes, in the order of Cell.Values.
func Axes() []string {
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = a.name
	}
	return names
}

// Value is the cell's place on an axis, for people.
func (c Cell) Value(name string) string {
	for _, a := range axes {
		if a.name == name {
			return a.get(c)
		}
	}
	return ""
}

// ID names a cell in one line, defaults left out.
func (c Cell) ID() string {
	var parts []string
	for _, a := range axes {
		if a.scope == "own" && c.Files == 0 || a.scope == "foreign" && c.Files > 0 {
			continue
		}
		var def Cell
		if len(a.def) > 0 {
			_ = a.set(&def, a.def[0])
		}
		if v := a.get(c); v != a.get(def) || a.name == "latency" || a.name == "depth" {
			parts = append(parts, a.name+"="+strings.ReplaceAll(v, " ", ""))
		}
	}
	return strings.Join(parts, " ")
}

// ReadMatrix reads and checks a file.
func ReadMatrix(file string, env []string) (*Matrix, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m, err := ParseMatrix(text, env)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// ParseMatrix reads YAML; unknown keys and axes are faults, and every fault of the axes is reported at once.
func ParseMatrix(text []byte, env []string) (*Matrix, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	m := &Matrix{}
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrMatrix, err)
	}
	one := 1
	m.Runs, m.Seed, m.Warmup = cmp.Or(m.Runs, 5), cmp.Or(m.Seed, 1), cmp.Or(m.Warmup, &one)
	for _, s := range []*string{&m.Store.S3, &m.Store.Toxiproxy, &m.Store.Catalog, &m.Store.Region} {
		*s = expand(*s, env)
	}
	return m, m.check()
}

func (m *Matrix) check() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrMatrix}, args...)...))
		}
	}
	bad(m.Name != "" && !strings.ContainsAny(m.Name, "/ "), "name %q: want one word", m.Name)
	bad(m.Runs > 0 && m.Runs <= 1000, "runs %d is not in [1, 1000]", m.Runs)
	bad(*m.Warmup >= 0 && *m.Warmup <= 10, "warmup %d is not in [0, 10]", *m.Warmup)
	bad(m.Store.Own() || m.Store.Toxiproxy != "" && m.Store.Catalog != "", "store: s3 needs toxiproxy and catalog beside it")
	known := map[string]bool{}
	for _, a := range axes {
		known[a.name] = true
		values := m.Axes[a.name]
		foreign := a.scope == "own" && !m.Store.Own() || a.scope == "foreign" && m.Store.Own()
		bad(len(values) == 0 || !foreign, "axis %s does not fit this store", a.name)
		bad(len(values) > 0 || a.name != "table" || m.Store.Own(), "axis table is missing: the store is not ours, so name what is in it")
		for i, v := range values {
			var c Cell
			err := a.set(&c, v)
			bad(err == nil, "axis %s: %q: %v", a.name, v, err)
			bad(!slices.Contains(values[:i], v), "axis %s: %q stands twice", a.name, v)
		}
	}
	for _, name := range sortedKeys(m.Axes) {
		bad(known[name], "no axis %q (have %s)", name, strings.Join(Axes(), ", "))
	}
	if len(errs) == 0 {
		n := len(m.Cells())
		bad(n <= 5000, "%d cells are more than 5000", n)
	}
	return errors.Join(errs...)
}

// Cells are the combinations of the axes, the last axis running fastest.
func (m *Matrix) Cells() []Cell {
	cells := []Cell{{}}
	for _, a := range axes {
		values := m.Axes[a.name]
		switch {
		case len(values) == 0 && (a.scope == "own") == m.Store.Own():
			values = a.def
		case len(values) == 0 && a.scope == "":
			values = a.def
		}
		if len(values) == 0 {
			continue
		}
		next := make([]Cell, 0, len(cells)*len(values))
		for _, c := range cells {
			for _, v := range values {
				_ = a.set(&c, v) // checked by check
				next = append(next, c)
			}
		}
		cells = next
	}
	return cells
}

// Varied are the axes with more than one value.
func (m *Matrix) Varied() []string {
	var out []string
	for _, a := range axes {
		if n := len(m.Axes[a.name]); n > 1 || n == 0 && len(a.def) > 1 {
			out = append(out, a.name)
		}
	}
	return out
}

// Round is the order of the cells in one round: another one each time, the same for one seed.
func (m *Matrix) Round(n int) []int {
	r := rand.New(rand.NewPCG(m.Seed, uint64(n)))
	return r.Perm(len(m.Cells()))
}

// Hash tells matrices apart whose samples must not be mixed. More runs are the same matrix.
func (m *Matrix) Hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %d", m.Name, m.Seed, *m.Warmup)
	for _, c := range m.Cells() {
		fmt.Fprintf(h, "\n%s", c.ID())
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}`)

func expand(text string, env []string) string {
	return variable.ReplaceAllStringFunc(text, func(s string) string {
		m := variable.FindStringSubmatch(s)
		for i := len(env) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(env[i], m[1]+"="); ok && v != "" {
				return v
			}
		}
		return m[2]
	})
}

// HumanKiB is a size for people: 64 KiB, 8 MiB.
func HumanKiB(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d GiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d MiB", n>>10)
	}
	return fmt.Sprintf("%d KiB", n)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
