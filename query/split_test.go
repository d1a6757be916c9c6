package query

import (
	"reflect"
	"strings"
	"testing"
)

func TestLex_CoversTheText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"select a.b, 'it''s' from \"x\"\"y\"", "w:select w:a p:. w:b p:, s:'it''s' w:from q:\"x\"\"y\""},
		{"1.5e-3+.5 0xFF 1_000", "n:1.5e-3 p:+ n:.5 n:0xFF n:1_000"},
		{"a--b;\n/* ; /* nested ; */ */c", "w:a w:c"},
		{"$1 $name $$a;$b$$ $t$ ; $$ $t$ ?", "$:$1 $:$name s:$$a;$b$$ s:$t$ ; $$ $t$ $:?"},
		{`e'\'' E'a' x'00' ex`, `s:e'\'' s:E'a' s:x'00' w:ex`},
		{"'open", "u:'open"},
		{"/* open", "u:/* open"},
		{"$$ open", "u:$$ open"},
		{"größe", "w:größe"},
	} {
		var got []string
		for _, k := range Lex(c.text) {
			got = append(got, string("wqsn$pu"[k.Kind])+":"+c.text[k.Start:k.End])
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, s, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	text := "select ';' ; -- ;\n explain analyze select 2;; EXPLAIN (FORMAT json) select 3; explain select 4 /* ; */"
	want := []Part{
		{SQL: "select ';'", Offset: 0, Terminated: true},
		{SQL: "select 2", Offset: 35, Explain: ExplainAnalyze, Terminated: true},
		{SQL: "select 3", Offset: 68, Explain: ExplainPlan, JSON: true, Terminated: true},
		{SQL: "select 4", Offset: 86, Explain: ExplainPlan},
	}
	got := Split(text)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for _, p := range got {
		if !strings.HasPrefix(text[p.Offset:], p.SQL) {
			t.Errorf("%q is not at %d", p.SQL, p.Offset)
		}
	}
	if p := Split("select 'a;"); len(p) != 1 || p[0].Terminated {
		t.Errorf("an open string is %+v", p)
	}
	if p := Split(" ; -- nothing\n;"); p != nil {
		t.Errorf("empty statements are %+v", p)
	}
}

func TestRewriteTimeTravel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sql, want string }{
		{"select * from t FOR VERSION AS OF 5", "select * from t  AT (VERSION => 5)"},
		{"select * from t for version as of 'tag' as x where a", "select * from t  as x AT (VERSION => 'tag') where a"},
		{"from a.t FOR TIMESTAMP AS OF TIMESTAMP '2026-01-01 00:00:00' x(p, q) join u", "from a.t  x(p, q) AT (TIMESTAMP => TIMESTAMP '2026-01-01 00:00:00') join u"},
		{"from t x FOR SYSTEM_TIME AS OF now() - INTERVAL 1 DAY, u", "from t x  AT (TIMESTAMP => now() - INTERVAL 1 DAY), u"},
		{"from t FOR SYSTEM_TIME AS OF now() - INTERVAL '1 day' x", "from t  x AT (TIMESTAMP => now() - INTERVAL '1 day')"},
		{"from t FOR TIMESTAMP AS OF '2026-01-01'::TIMESTAMPTZ left join u on true", "from t  AT (TIMESTAMP => '2026-01-01'::TIMESTAMPTZ) left join u on true"},
		{"from t VERSION AS OF 12, u TIMESTAMP AS OF '2026-01-01'", "from t  AT (VERSION => 12), u  AT (TIMESTAMP => '2026-01-01')"},
		{"from t FOR VERSION AS OF $v", "from t  AT (VERSION => $v)"},
		{"from t FOR TIMESTAMP AS OF timestamp with time zone '2026-01-01 00:00+02' group by all", "from t  AT (TIMESTAMP => timestamp with time zone '2026-01-01 00:00+02') group by all"},
		{"select version AS of from t", ""},
		{"select timestamp as of, 5 from t", ""},
		{"select substring(a for 3) from t", ""},
		{"select 'FOR VERSION AS OF 5'", ""},
	} {
		want := c.want
		if want == "" {
			want = c.sql
		}
		if got := RewriteTimeTravel(c.sql).Text; got != want {
			t.Errorf("%s\n got %s\nwant %s", c.sql, got, want)
		}
	}
}

func TestRewrite_Original(t *testing.T) {
	t.Parallel()
	sql := "from t FOR VERSION AS OF 5 AS longer WHERE x"
	r := RewriteTimeTravel(sql)
	for _, word := range []string{"from", "longer", "WHERE", "x"} {
		if got := r.Original(strings.Index(r.Text, word)); got != strings.Index(sql, word) {
			t.Errorf("%s is at %d, not %d", word, got, strings.Index(sql, word))
		}
	}
	if got := r.Original(len(r.Text)); got != len(sql) {
		t.Errorf("the end is at %d", got)
	}
}

func TestError_Text(t *testing.T) {
	t.Parallel()
	sql := "select é,\n  bad from t"
	e := (&Error{Class: ClassBind, Msg: "no such column"}).At(sql, strings.Index(sql, "bad"))
	if got, want := e.Error(), `sql: line 2 column 3: no such column (near "bad")`; got != want {
		t.Errorf("got %s", got)
	}
}
