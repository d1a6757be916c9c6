//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/duckdb/plan"
)

// resolve finds the tables of all references and decides under which name each becomes a view.
func (s *statement) resolve(ctx context.Context, t query.Tables, refs []plan.TableRef) error {
	toks := query.Lex(s.travel.Text)
	spans := make([]query.TableSpan, len(refs))
	for i, syntax := range refs {
		r := &reference{syntax: syntax, key: strconv.Itoa(i), utc: isUTC(s.st.Zone)}
		r.Name, r.Alias, r.Version = syntax.Parts(), syntax.Alias, s.st.Version
		if r.Alias == "" {
			r.Alias = syntax.Name
		}
		span, ok := query.FindTable(s.travel.Text, toks, syntax.Offset, len(r.Name), syntax.Alias != "")
		if !ok || (syntax.Unit != "") != (span.At[0] < span.At[1]) {
			return s.at(&query.Error{
				Class: query.ClassUnsupported, Msg: fmt.Sprintf("the reference of %s cannot be read", dotted(r.Name)),
				Hint: "write it as namespace.table AS alias",
			}, syntax.Offset)
		}
		spans[i] = span
		if syntax.Unit != "" {
			v, err := s.version(syntax.Unit, s.travel.Text[span.Value[0]:span.Value[1]])
			if err != nil {
				return s.at(&query.Error{Class: query.ClassBind, Msg: "version of " + dotted(r.Name), Err: err}, span.Value[0])
			}
			r.Version = v
		}
		s.refs = append(s.refs, r)
		s.fn.refs[r.key] = r
	}
	if err := s.load(ctx, t); err != nil {
		return err
	}
	return s.nameViews(spans)
}

func dotted(parts []string) string { return strings.Join(parts, ".") }

// at places an error in the user's own text. offset is one of travel.Text.
func (s *statement) at(e *query.Error, offset int) *query.Error {
	if offset < 0 {
		return e
	}
	return e.At(s.st.SQL, s.travel.Original(offset))
}

// load asks for every table once, all at the same time: each is a round trip to the catalog.
func (s *statement) load(ctx context.Context, t query.Tables) error {
	type result struct {
		table query.Table
		err   error
		refs  []*reference
	}
	found := map[string]*result{}
	var order []*result
	for _, r := range s.refs {
		id := fmt.Sprintf("%q %+v", r.Name, r.Version)
		if found[id] == nil {
			found[id] = &result{}
			order = append(order, found[id])
		}
		found[id].refs = append(found[id].refs, r)
	}
	var wg sync.WaitGroup
	for _, f := range order {
		wg.Go(func() {
			defer recovered(&f.err)
			f.table, f.err = t.Load(ctx, f.refs[0].Name, f.refs[0].Version)
		})
	}
	wg.Wait()
	for _, f := range order {
		first := f.refs[0]
		if f.err != nil {
			e, ok := errors.AsType[*query.Error](s.scanError(f.err))
			if ok && errors.Is(f.err, meta.ErrNoSuchTable) {
				e.Class = query.ClassNotFound
			}
			return s.at(e, first.syntax.Offset)
		}
		for _, r := range f.refs {
			r.Table = f.table
			r.makeColumns()
			if len(r.columns) == 1 {
				return s.at(&query.Error{Class: query.ClassUnsupported, Msg: fmt.Sprintf("table %s has no columns", dotted(r.Name))}, first.syntax.Offset)
			}
		}
	}
	return nil
}

// version reads the value of an AT clause: a snapshot id, the name of a branch or tag, or a time.
func (s *statement) version(unit, value string) (iceberg.Version, error) {
	kind, text, err := s.constant(value)
	if err != nil {
		return iceberg.Version{}, err
	}
	number, isNumber := strconv.ParseInt(text, 10, 64)
	wantsNumber := isNumber == nil && kind != "VARCHAR"
	switch {
	case unit == "VERSION" && wantsNumber:
		return iceberg.Version{Snapshot: number}, nil
	case unit == "VERSION" && kind == "VARCHAR":
		return iceberg.Version{Ref: text}, nil
	case unit == "VERSION":
		return iceberg.Version{}, fmt.Errorf("a version is a snapshot id or the name of a branch or tag, not %s", kind)
	case wantsNumber: // Spark's seconds since 1970
		return iceberg.Version{AsOf: time.Unix(number, 0).UTC()}, nil
	}
	us, err := s.in.text("SELECT epoch_us(CAST(" + query.QuoteString(text) + " AS TIMESTAMPTZ))::VARCHAR")
	if err != nil {
		return iceberg.Version{}, err
	}
	micros, err := strconv.ParseInt(us, 10, 64)
	if err != nil {
		return iceberg.Version{}, fmt.Errorf("%s is no time", text)
	}
	return iceberg.Version{AsOf: time.UnixMicro(micros).UTC()}, nil
}

// constant evaluates the text of an AT clause. It passes the gate on its own, and must name no table.
func (s *statement) constant(value string) (kind, text string, err error) {
	if toks := query.Lex(value); len(toks) == 1 && toks[0].Kind == query.TokenParam {
		return s.parameterConstant(strings.TrimPrefix(value, "$"))
	}
	sql := "SELECT (" + value + ")"
	doc, err := s.in.text(plan.SyntaxQuery(sql))
	if err != nil {
		return "", "", err
	}
	refs, err := plan.Gate(doc)
	if err != nil {
		return "", "", err
	}
	if len(refs) > 0 {
		return "", "", fmt.Errorf("%s reads a table", value)
	}
	both, err := s.in.text("SELECT typeof(v) || ' ' || v::VARCHAR FROM (" + sql + " AS v)")
	if err != nil {
		return "", "", err
	}
	kind, text, ok := strings.Cut(both, " ")
	if strings.HasPrefix(both, "TIMESTAMP WITH TIME ZONE ") {
		kind, text = "TIMESTAMPTZ", strings.TrimPrefix(both, "TIMESTAMP WITH TIME ZONE ")
	}
	if !ok {
		return "", "", fmt.Errorf("%s is null", value)
	}
	return kind, text, nil
}

func (s *statement) parameterConstant(name string) (kind, text string, err error) {
	s.atParams[name] = true
	switch v := s.st.Params[name].(type) {
	case nil:
		return "", "", fmt.Errorf("parameter $%s has no value", name)
	case string:
		return "VARCHAR", v, nil
	case time.Time:
		return "TIMESTAMPTZ", v.UTC().Format("2006-01-02 15:04:05.999999+00"), nil
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return "BIGINT", fmt.Sprint(v), nil
	default:
		return "", "", fmt.Errorf("parameter $%s is no version: %T", name, v)
	}
}
