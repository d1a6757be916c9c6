//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/duckdb/plan"
)

// statement is one prepared SELECT with its own instance. It implements query.Prepared.
type statement struct {
	engine *engine
	st     query.Statement
	spill  string // folder that DuckDB makes when it spills

	travel query.Rewrite // st.SQL with time travel in DuckDB's spelling
	splice query.Rewrite // travel.Text with references renamed; the text that runs

	grant    *grant
	in       *instance
	fn       *function
	prepared bindings.PreparedStatement
	refs     []*reference
	rows     *rows
	literals map[string]typed // of the parameters; the values themselves are bound and gone
	atParams map[string]bool  // parameters of AT clauses
	schema   *arrow.Schema

	explained struct {
		sync.Mutex
		text map[string]string // by the verb
	}

	life context.Context // ends at Close
	end  context.CancelCauseFunc
	busy chan struct{} // one token: who has it may use the instance
	ran  bool          // under busy

	closing sync.Once
}

var errStatementClosed = errors.New("query: the statement is closed")

func newStatement(e *engine, st query.Statement, spill string) *statement {
	s := &statement{
		engine: e, st: st, spill: spill, busy: make(chan struct{}, 1),
		literals: map[string]typed{}, atParams: map[string]bool{},
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.explained.text = map[string]string{}
	s.busy <- struct{}{}
	return s
}

// acquire takes the instance for one goroutine.
func (s *statement) acquire() error {
	select {
	case <-s.busy:
	case <-s.life.Done():
		return errStatementClosed
	}
	if s.life.Err() != nil {
		s.busy <- struct{}{}
		return errStatementClosed
	}
	return nil
}

func (s *statement) release() { s.busy <- struct{}{} }

// prepare does everything up to the run. Whatever it has opened when it fails is closed by Close.
func (s *statement) prepare(ctx context.Context, t query.Tables) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := checkText(s.st.SQL); err != nil {
		return err
	}
	s.travel = query.RewriteTimeTravel(s.st.SQL)
	s.splice = query.NewRewrite(s.travel.Text, nil)
	if err := s.acquire(); err != nil {
		return err
	}
	defer s.release()
	if err := s.open(ctx); err != nil {
		return err
	}
	defer s.in.guard(ctx)()
	refs, err := s.gate()
	if err != nil {
		return err
	}
	if err := s.resolve(ctx, t, refs); err != nil {
		return err
	}
	return s.plan()
}

// checkText refuses what cannot cross the C API, or would be cut there.
func checkText(sql string) error {
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return (&query.Error{Class: query.ClassSyntax, Msg: "the statement has a zero byte"}).At(sql, i)
	}
	if !utf8.ValidString(sql) {
		return &query.Error{Class: query.ClassSyntax, Msg: "the statement is not UTF-8"}
	}
	parts := query.Split(sql)
	switch {
	case len(parts) == 0:
		return &query.Error{Class: query.ClassSyntax, Msg: "the statement is empty"}
	case len(parts) > 1:
		return (&query.Error{Class: query.ClassRefused, Msg: "more than one statement", Hint: "run them one after another"}).At(sql, parts[1].Offset)
	case parts[0].Explain != query.ExplainNone:
		return (&query.Error{Class: query.ClassRefused, Msg: "EXPLAIN is not part of a statement here", Hint: "use --explain, or query.Split in front of Prepare"}).At(sql, 0)
	}
	return nil
}

// open reserves the memory, then opens the instance and confines it; plan locks it.
func (s *statement) open(ctx context.Context) (err error) {
	if s.grant, err = s.engine.memory.take(ctx, s.st.Memory); err != nil {
		return err
	}
	set := settings{
		threads: s.engine.cfg.Threads, memory: s.grant.bytes, spill: s.spill, spillBytes: s.engine.cfg.SpillBytes,
		zone: s.st.Zone, keepOrder: s.st.Order == 0,
	}
	if s.in, err = openInstance(set); err != nil {
		return err
	}
	if s.fn, err = registerFunction(s.in); err != nil {
		return err
	}
	return s.in.confine(set)
}

func (s *statement) gate() ([]plan.TableRef, error) {
	doc, err := s.in.text(plan.SyntaxQuery(s.travel.Text))
	if err != nil {
		return nil, err
	}
	refs, err := plan.Gate(doc)
	if f, ok := errors.AsType[*plan.Fault](err); ok && f.Class == query.ClassRefused && strings.EqualFold(firstWord(s.travel.Text), "PIVOT") {
		f.Msg = "PIVOT must list its values here"
		f.Hint = "PIVOT t ON c IN (a, b, …) USING …"
	}
	return refs, err
}

func firstWord(sql string) string {
	if toks := query.Lex(sql); len(toks) > 0 {
		return sql[toks[0].Start:toks[0].End]
	}
	return ""
}

// Schema implements query.Prepared.
func (s *statement) Schema() *arrow.Schema { return s.schema }

// PlanText implements query.Prepared.
func (s *statement) PlanText() string { return s.explain("EXPLAIN ") }

// PlanJSON implements query.Prepared.
func (s *statement) PlanJSON() string { return s.explain("EXPLAIN (FORMAT json) ") }

// References implements query.Prepared.
func (s *statement) References() []query.Reference {
	out := make([]query.Reference, len(s.refs))
	for i, r := range s.refs {
		out[i] = r.Reference
	}
	return out
}

// Run implements query.Prepared.
func (s *statement) Run(ctx context.Context) (*query.Result, error) {
	start := time.Now()
	if err := s.acquire(); err != nil {
		return nil, err
	}
	defer s.release()
	if s.ran {
		return nil, errors.New("query: a prepared statement runs once")
	}
	s.ran = true
	rows, err := s.start(ctx)
	if err != nil {
		return nil, s.public(ctx, err)
	}
	return query.NewResult(rows, start), nil
}

// Close implements query.Prepared. It ends a run, waits for the goroutine that is inside it, and frees everything.
func (s *statement) Close() error {
	s.closing.Do(func() {
		s.end(errStatementClosed)
		<-s.busy // kept: nobody uses the instance after this
		s.free()
		s.engine.ended(s)
	})
	return nil
}

// free gives back what prepare took, in the reverse order. DuckDB's threads are joined by closing the instance, so that no
// callback runs when the function's handles go.
func (s *statement) free() {
	if s.rows != nil {
		s.rows.destroy()
	}
	if s.in != nil {
		bindings.DestroyPrepare(&s.prepared)
		s.in.close()
	}
	if s.fn != nil {
		s.fn.close()
	}
	s.grant.release()
	_ = os.RemoveAll(s.spill)
}
