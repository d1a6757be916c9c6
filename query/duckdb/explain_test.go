//go:build duckdb_arrow && cgo

package duckdb

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/query"
)

func TestPlanText(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	table := ordersTable(t, 2)
	p, err := e.Prepare(t.Context(), query.Statement{
		SQL:    "select region, sum(total) from t where id > $n group by region order by 1",
		Params: map[string]any{"n": "9990"},
	}, memTables{"t": table})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	text := p.PlanText()
	for _, part := range []string{"LAKESCAN", "HASH_GROUP_BY", "ORDER_BY"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in\n%s", part, text)
		}
	}
	if !json.Valid([]byte(p.PlanJSON())) {
		t.Errorf("no JSON: %s", p.PlanJSON())
	}
	if n := table.opened(); len(n) != 0 {
		t.Errorf("explaining opened %+v", n)
	}
	res, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for rec, err := range res.All() {
		if err != nil {
			t.Fatal(err)
		}
		rows += int(rec.NumRows())
	}
	if rows != 4 {
		t.Errorf("%d rows after explaining", rows)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if p.PlanText() != text {
		t.Error("the plan is forgotten after the run")
	}
}
