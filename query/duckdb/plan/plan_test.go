package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/query"
)

// Documents as DuckDB writes them are judged by the golden plans of query/duckdb; here stand those that it never writes.

func TestDecode_BareFloats(t *testing.T) {
	t.Parallel()
	d, err := decode(`{"a":NaN,"b":-Infinity,"c":"NaN \" Infinity","d":[Infinity,1]}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%v %v %v %v", d["a"], d["b"], d["c"], d["d"]); got != `NaN -Infinity NaN " Infinity [Infinity 1]` {
		t.Error(got)
	}
}

func TestConstant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, value, want string }{
		{"INTEGER", "5", "5"},
		{"UBIGINT", "18446744073709551615", "18446744073709551615"},
		{"DOUBLE", "NaN", "DOUBLE 'NaN'"},
		{"HUGEINT", `{"upper":-1,"lower":18446744073709551615}`, "-1"},
		{"DATE", "19723", "DATE '2024-01-01'"},
		{"BLOB", `"\\xAAa"`, "X'aa61'"},
		{"UUID", `{"upper":2373041421604835064,"lower":13505569303041673745}`, "UUID 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"},
		// not of the type, cut short, or unknown: no constant
		{"INTEGER", `"5"`, ""},
		{"INTEGER", "5.5", ""},
		{"BLOB", `"\\xA"`, ""},
		{"UUID", "7", ""},
		{"HUGEINT", `{"upper":1}`, ""},
		{"DECIMAL", "5", ""},
		{"INTERVAL", "5", ""},
		{"DOUBLE", `"many"`, ""},
		{"", "1", ""},
	} {
		d, err := decode(`{"type":{"id":"` + c.id + `"},"is_null":false,"value":` + c.value + `}`)
		if err != nil {
			t.Fatal(err)
		}
		lit, ok := constant(d)
		if ok != (c.want != "") || ok && lit.String() != c.want {
			t.Errorf("%s %s: %v %v", c.id, c.value, lit, ok)
		}
	}
}

func TestScans_OddDocuments(t *testing.T) {
	t.Parallel()
	get := `{"type":"LOGICAL_GET","name":"lakescan","parameters":[{"value":"k"}],"returned_types":[{"id":"TINYINT"},{"id":"INTEGER"}],"column_indexes":[{"index":1}],"children":[]}`
	filter := func(expression string) string {
		return `{"plans":[{"type":"LOGICAL_FILTER","expressions":[` + expression + `],"children":[` + get + `]}]}`
	}
	greater := `{"expression_class":"BOUND_COMPARISON","type":"COMPARE_GREATERTHAN","left":{"expression_class":"BOUND_REF","index":%d},"right":{"expression_class":"BOUND_CONSTANT","value":{"type":{"id":"INTEGER"},"is_null":false,"value":5}}}`
	opt := Options{Function: "lakescan", Columns: func(string) []Column {
		return []Column{{Name: "__n"}, {Name: "i", Path: "i", Type: arrow.PrimitiveTypes.Int32}}
	}}
	for _, c := range []struct{ name, doc, want string }{
		{"as it should be", filter(fmt.Sprintf(greater, 0)), "i > 5"},
		{"an index beyond the columns", filter(fmt.Sprintf(greater, 7)), "nothing"},
		{"an index that is no number", filter(strings.Replace(fmt.Sprintf(greater, 0), `"index":0`, `"index":"0"`, 1)), "nothing"},
		{"an expression of no kind", filter(`{}`), "nothing"},
		// a scan that the walk does not see may need rows that the other does not
		{"a scan in an unknown place", strings.Replace(filter(fmt.Sprintf(greater, 0)), `{"plans"`, `{"elsewhere":`+get+`,"plans"`, 1), "nothing"},
	} {
		scans, err := Scans(c.doc, opt)
		if err != nil || len(scans) != 1 {
			t.Fatalf("%s: %v %v", c.name, scans, err)
		}
		got := "nothing"
		if scans[0].Filter != nil {
			got = scans[0].Filter.String()
		}
		if got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
	for _, doc := range []string{"", "{", "[]", `{"error":true,"error_type":"binder","error_message":"x"}`} {
		if _, err := Scans(doc, opt); err == nil {
			t.Errorf("%q: no error", doc)
		}
	}
}

func TestGate_Faults(t *testing.T) {
	t.Parallel()
	_, err := Gate(`{"error":false,"statements":[{},{}]}`)
	f, ok := errors.AsType[*Fault](err)
	if !ok || f.Class != query.ClassRefused {
		t.Errorf("two statements: %v", err)
	}
	_, err = Gate(`{"error":true,"error_type":"parser","error_message":"syntax error","position":"7"}`)
	if f, ok = errors.AsType[*Fault](err); !ok || f.Class != query.ClassSyntax || f.Offset != 7 {
		t.Errorf("a syntax error: %v", err)
	}
}
