package iceberg

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/internal/icetable"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

// counting counts the reads of a store by location.
type counting struct {
	object.Store
	mu struct {
		sync.Mutex
		reads map[string]int
	}
}

func (c *counting) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	c.mu.Lock()
	if c.mu.reads == nil {
		c.mu.reads = map[string]int{}
	}
	c.mu.reads[loc.Recorded]++
	c.mu.Unlock()
	return c.Store.Read(ctx, loc, r, dst, o)
}

// count returns the reads of locations that contain part.
func (c *counting) count(part string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, v := range c.mu.reads {
		if strings.Contains(k, part) {
			n += v
		}
	}
	return n
}

func (c *counting) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.mu.reads)
}

// load saves a table and loads it from its metadata file.
func load(t testing.TB, b *icetable.Table) (*Table, *counting) {
	t.Helper()
	store := &counting{Store: b.Store}
	c, err := Open(t.Context(), CatalogConfig{NewStore: func(object.Credentials) (object.Store, error) { return store, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	table, err := c.LoadLocation(t.Context(), b.Save())
	if err != nil {
		t.Fatal(err)
	}
	return table, store
}

func planned(t testing.TB, table *Table, s ScanSpec) *Plan {
	t.Helper()
	p, err := table.Plan(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tasksOf(ctx context.Context, p *Plan) ([]source.Task, error) {
	var out []source.Task
	for task, err := range p.Tasks(ctx) {
		if err != nil {
			return out, err
		}
		out = append(out, task)
	}
	return out, nil
}

func mustTasks(t testing.TB, p *Plan) []source.Task {
	t.Helper()
	out, err := tasksOf(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// scan plans a filter, and renders each task: file, then what applies to it.
func scan(t testing.TB, table *Table, filter string) []string {
	t.Helper()
	s := ScanSpec{}
	if filter != "" {
		s.Filter = expr.MustParse(filter)
	}
	var out []string
	for _, task := range mustTasks(t, planned(t, table, s)) {
		out = append(out, render(task))
	}
	return out
}

func short(loc object.Location) string {
	return loc.Recorded[strings.LastIndexByte(loc.Recorded, '/')+1:]
}

func render(task source.Task) string {
	var b strings.Builder
	b.WriteString(short(task.File.Location))
	if v := task.Deletes.Vector; v != nil {
		fmt.Fprintf(&b, " vector %s@%d+%d", short(v.File.Location), v.Offset, v.Size)
	}
	for _, f := range task.Deletes.Positions {
		fmt.Fprintf(&b, " pos %s", short(f.File.Location))
	}
	for _, g := range task.Deletes.Equality {
		b.WriteString(" eq(")
		for i, k := range g.Key {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(k.Name)
		}
		b.WriteByte(')')
		for _, f := range g.Files {
			fmt.Fprintf(&b, " %s", short(f.File.Location))
		}
	}
	if task.Filter != nil {
		fmt.Fprintf(&b, " where %s", task.Filter)
	}
	return b.String()
}

func wantLines(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
