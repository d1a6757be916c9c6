package expr_test

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/exprtest"
)

// Bind keeps the rows: over random trees, literals and values of every type, TRUE before is TRUE after, and nothing else is.
func TestBindKeepsTheRows(t *testing.T) {
	t.Parallel()
	var fields []arrow.Field
	for i, typ := range exprtest.Types {
		f := arrow.Field{Name: exprtest.Name(i, typ), Type: typ, Nullable: true}
		fields = append(fields, expr.WithFieldID(f, i+1))
	}
	schema := arrow.NewSchema(fields, nil)
	r := rand.New(rand.NewPCG(1, 2))
	bound := 0
	for range 4_000 {
		a, b := fields[r.IntN(len(fields))], fields[r.IntN(len(fields))]
		cols := []exprtest.Column{{Path: []string{a.Name}, Type: a.Type}, {Path: []string{b.Name}, Type: b.Type}}
		before := exprtest.Tree(r, cols, 3)
		after, err := expr.Bind(before, schema, expr.BindOptions{})
		if err != nil {
			continue // columns that cannot be compared
		}
		bound++
		if again, err := expr.Bind(after, schema, expr.BindOptions{}); err != nil || !expr.Equal(again, after) {
			t.Fatalf("%s binds to %s, and again to %v, %v", before, after, again, err)
		}
		for range 20 {
			row := map[string]exprtest.Value{a.Name: {Type: a.Type}, b.Name: {Type: b.Type}}
			for _, f := range []arrow.Field{a, b} {
				if r.IntN(8) > 0 {
					row[f.Name] = exprtest.Value{Type: f.Type, Value: exprtest.Random(r, f.Type)}
				}
			}
			get := func(c expr.Column) exprtest.Value { return row[c.Path[0]] }
			x, y := exprtest.Evaluate(before, get), exprtest.Evaluate(after, get)
			if (x == exprtest.True) != (y == exprtest.True) {
				t.Fatalf("%s\nbinds to %s\nrow %v: %d before, %d after", before, after, row, x, y)
			}
		}
	}
	if bound < 3_000 {
		t.Errorf("only %d trees could be bound", bound)
	}
}
