//go:build duckdb_arrow && cgo

package duckdb

import (
	"errors"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/duckdb/plan"
)

// plan makes the views, then plans and prepares the text that runs, all in one transaction, so that now() is the same instant
// in the plan and in the run.
func (s *statement) plan() error {
	doc, err := s.planOnce()
	if err != nil && s.spliced() {
		doc, err = s.planUnspliced(err)
	}
	if err != nil {
		return err
	}
	if err := s.in.lock(); err != nil {
		return err
	}
	if err := s.bindParameters(s.prepared); err != nil {
		return err
	}
	if err := s.learnSchema(); err != nil {
		return err
	}
	return s.needs(doc)
}

// planOnce plans and prepares the text as it is now. A plan that fails where the text prepares is a fault of the planner's
// document (it has some, with parameters of unknown type): the statement then runs without hints, and doc is empty.
func (s *statement) planOnce() (doc string, err error) {
	if err := s.makeViews(); err != nil {
		return "", err
	}
	if err := s.in.exec("BEGIN TRANSACTION"); err != nil {
		return "", err
	}
	if doc, err = s.document(); err != nil {
		return "", err
	}
	fault := plan.Failure(doc)
	if bindings.Prepare(s.in.conn, s.splice.Text, &s.prepared) != bindings.StateError {
		if fault != nil {
			s.engine.cfg.Logger.Debug("no pruning: the statement cannot be planned ahead", "reason", fault)
			doc = ""
		}
		return doc, nil
	}
	text := bindings.PrepareError(s.prepared)
	bindings.DestroyPrepare(&s.prepared)
	if f, ok := errors.AsType[*plan.Fault](fault); ok && f.Class == query.ClassBind && f.Offset >= 0 {
		return "", fault
	}
	return "", &engineError{text: text}
}

// document is the plan as JSON. DuckDB's writer looks up columns by types that it computed before the optimizer's pass column_lifetime
// moved them, and then gives up with an internal error (joins of several tables; TPC-H q2, q5, q7, q9). The pass only drops columns
// between operators, which moves no condition, so the plan that is read does without it and the one that runs has it.
func (s *statement) document() (string, error) {
	if err := s.in.set("disabled_optimizers = 'column_lifetime'"); err != nil {
		return "", err
	}
	doc, err := s.in.text(plan.Query(s.splice.Text))
	if err != nil {
		return "", err
	}
	return doc, s.in.set("disabled_optimizers = ''")
}

func (s *statement) spliced() bool { return s.splice.Text != s.travel.Text }

// planUnspliced is for a text that qualifies columns by the full name of a table whose references got views of their own:
// "sales.orders.total" then names nothing. The references share one view again, and one predicate that serves all of them.
// first is the error of the spliced text.
func (s *statement) planUnspliced(first error) (string, error) {
	if s.classOf(first) != query.ClassBind {
		return "", first
	}
	shared := map[string]string{}
	for _, r := range s.refs {
		if r.syntax.Unit != "" || slices.Contains(builtIn, strings.ToLower(r.Name[0])) {
			if f, ok := errors.AsType[*plan.Fault](first); ok {
				f.Hint = "give the table an alias: with AT, its columns have no other qualifier"
			}
			return "", first
		}
		name := dotted(r.Name)
		if shared[name] == "" {
			shared[name] = r.key
		}
		r.view, r.key = r.ownView(), shared[name]
	}
	if err := s.in.exec("ROLLBACK"); err != nil {
		return "", err
	}
	s.splice = query.NewRewrite(s.travel.Text, nil)
	return s.planOnce()
}

// learnSchema asks for the result's columns. Their types may still change with the values of parameters: the running result
// has the last word.
func (s *statement) learnSchema() error {
	var options bindings.ArrowOptions
	bindings.ConnectionGetArrowOptions(s.in.conn, &options)
	defer bindings.DestroyArrowOptions(&options)
	n := bindings.PreparedStatementColumnCount(s.prepared)
	types, names := make([]bindings.LogicalType, n), make([]string, n)
	for i := range n {
		types[i] = bindings.PreparedStatementColumnLogicalType(s.prepared, i)
		names[i] = bindings.PreparedStatementColumnName(s.prepared, i)
	}
	defer destroyTypes(types)
	unknown := func(t bindings.LogicalType) bool { return bindings.GetTypeId(t) == bindings.TypeInvalid }
	if slices.ContainsFunc(types, unknown) {
		return nil
	}
	var err error
	s.schema, err = arrowSchema(options, types, names)
	return err
}

// needs reads the plan and tells every reference what it has to give.
func (s *statement) needs(doc string) error {
	if doc == "" {
		for _, r := range s.refs {
			r.Unused = []string{"any, since the engine cannot write down its plan"}
		}
		return nil
	}
	scans, err := plan.Scans(doc, plan.Options{
		Function: functionName,
		Columns:  func(key string) []plan.Column { return s.fn.refs[key].planColumns() },
		Param:    s.parameterLiteral,
		UTC:      isUTC(s.st.Zone),
	})
	if err != nil {
		return err
	}
	uses := map[string]int{}
	for i := range scans {
		s.fn.refs[scans[i].Key].bindFilter(&scans[i])
		uses[scans[i].Key]++
	}
	merged := plan.Merge(scans)
	for _, r := range s.refs {
		m, ok := merged[r.key]
		if !ok {
			continue // nothing of it is read; should that be wrong, all of it will be
		}
		r.Need = query.Need{Filter: m.Filter, Limit: m.Limit, StopsEarly: m.StopsEarly, RowsOnly: true}
		r.Unused = m.Unused
		for _, c := range m.Columns {
			if c > 0 && c < len(r.columns) {
				r.Need.Columns = append(r.Need.Columns, r.columns[c].field.Name)
				r.Need.RowsOnly = false
				r.once = append(r.once, c)
			}
		}
		if uses[r.key] > 1 {
			r.once = nil
		}
	}
	return nil
}

func isUTC(zone string) bool {
	switch strings.ToUpper(zone) {
	case "", "UTC", "ETC/UTC":
		return true
	}
	return false
}

func (r *reference) planColumns() []plan.Column {
	if r == nil {
		return nil
	}
	out := make([]plan.Column, len(r.columns))
	for i, c := range r.columns {
		out[i] = plan.Column{Name: c.name, Path: c.field.Name, Type: c.field.Type}
	}
	return out
}

// bindFilter binds every condition to the table's schema and drops those that do not bind: what comes out of a plan is a hint,
// and never an error. With field ids in the schema the result is bound, so that nobody reads its names or zones again.
func (r *reference) bindFilter(s *plan.Scan) {
	if r == nil {
		return
	}
	schema, complete := withIDs(r.Table.Schema())
	var kept []expr.Expr
	for _, c := range s.Conjuncts {
		bound, err := expr.Bind(c, schema, expr.BindOptions{CaseSensitive: true})
		switch {
		case err != nil:
			s.Unused = append(s.Unused, c.String())
		case complete:
			kept = append(kept, bound)
		default:
			kept = append(kept, c)
		}
	}
	s.Conjuncts, s.Filter = kept, nil
	if len(kept) > 0 {
		s.Filter = expr.Conj(kept...)
	}
}

// withIDs gives a field id to every field without one, at any depth of structs; complete says that none lacked it.
func withIDs(s *arrow.Schema) (out *arrow.Schema, complete bool) {
	next, complete := 1<<30, true
	var fill func(fields []arrow.Field) []arrow.Field
	fill = func(fields []arrow.Field) []arrow.Field {
		fields = slices.Clone(fields)
		for i, f := range fields {
			if _, ok := expr.FieldID(f); !ok {
				complete = false
				next++
				fields[i] = expr.WithFieldID(f, next)
			}
			if st, ok := f.Type.(*arrow.StructType); ok {
				fields[i].Type = arrow.StructOf(fill(st.Fields())...)
			}
		}
		return fields
	}
	return arrow.NewSchema(fill(s.Fields()), nil), complete
}
