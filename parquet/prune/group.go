package prune

import (
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Off switches evaluators off, each by itself. Rows must not depend on it.
type Off struct{ Statistics, PageIndex, Dictionary, Bloom bool }

// Evaluator names what removed something, for explain.
type Evaluator uint8

// Evaluators in the order in which they are asked, cheapest first.
const (
	NoEvaluator Evaluator = iota
	ByStatistics
	ByPageIndex
	ByDictionary
	ByBloom
)

func (e Evaluator) String() string {
	return [...]string{"none", "statistics", "page index", "dictionary", "bloom filter"}[e]
}

// Chunk is the evidence about one leaf in one row group; absent parts are nil.
type Chunk struct {
	Column     Column
	Statistics *thrift.Statistics
	Pages      *Pages
	Dictionary *Dictionary // only if every data page uses it
	Bloom      *Bloom
	// Constant stands for a column that the file lacks and that has one value in every row; the rest is ignored then.
	// ConstantNullable: it is null in rows whose parent is absent.
	Constant         *expr.Literal
	ConstantNullable bool
}

// Result is what is known of the rows of a row group.
type Result struct {
	Verdict expr.Verdict
	// Rows that may satisfy the predicate, relative to the row group; none under verdict None.
	Rows rowsel.Selection
	// By is the evaluator that gave verdict None, NoEvaluator for another verdict or a predicate that is false by itself.
	By Evaluator
}

// Group decides a bound predicate for a row group. chunk gives the evidence on the leaf with a field id, nil for none; it may
// be called several times.
func Group(e expr.Expr, rows int64, chunk func(id int) *Chunk, off Off) Result {
	g := group{rows: rows, chunk: chunk}
	g.use[NoEvaluator], g.has[NoEvaluator] = true, true
	skip := [...]bool{ByStatistics: off.Statistics, ByPageIndex: off.PageIndex, ByDictionary: off.Dictionary, ByBloom: off.Bloom}
	var maybe rowsel.Selection
	for by := NoEvaluator; by <= ByBloom; by++ {
		if skip[by] || !g.has[by] {
			continue
		}
		g.use[by] = true
		o := g.tree(e)
		switch {
		case o.maybe.Count(rows) == 0 && (rows > 0 || o.maybe.None()):
			return Result{Verdict: expr.None, Rows: rowsel.None(), By: by}
		case o.surely.Count(rows) == rows:
			return Result{Verdict: expr.All}
		}
		maybe = o.maybe
	}
	if maybe.Count(rows) == rows {
		maybe = rowsel.Selection{}
	}
	return Result{Rows: maybe}
}

// group evaluates a tree with the evaluators in use.
type group struct {
	rows  int64
	chunk func(id int) *Chunk
	use   [ByBloom + 1]bool
	has   [ByBloom + 1]bool // evidence of that kind exists; found out by the first pass
}

// note remembers the kinds of evidence that a chunk has.
func (g *group) note(c *Chunk) {
	if c == nil {
		return
	}
	g.has[ByStatistics] = g.has[ByStatistics] || c.Statistics != nil || c.Constant != nil
	g.has[ByPageIndex] = g.has[ByPageIndex] || c.Pages != nil
	g.has[ByDictionary] = g.has[ByDictionary] || c.Dictionary != nil
	g.has[ByBloom] = g.has[ByBloom] || c.Bloom != nil
}

// outcome holds two proofs about the rows of the group: none outside maybe is selected, all inside surely are.
type outcome struct{ maybe, surely rowsel.Selection }

func whole(v expr.Verdict) outcome {
	switch v {
	case expr.None:
		return outcome{rowsel.None(), rowsel.None()}
	case expr.All:
		return outcome{}
	}
	return outcome{rowsel.Selection{}, rowsel.None()}
}

func (g *group) tree(e expr.Expr) outcome {
	switch e := e.(type) {
	case expr.And:
		out := whole(expr.All)
		for _, a := range e {
			o := g.tree(a)
			out = outcome{out.maybe.And(o.maybe), out.surely.And(o.surely)}
		}
		return out
	case expr.Or:
		out := whole(expr.None)
		for _, a := range e {
			o := g.tree(a)
			out = outcome{out.maybe.Or(o.maybe), out.surely.Or(o.surely)}
		}
		return out
	case expr.Bool:
		if e {
			return whole(expr.All)
		}
		return whole(expr.None)
	case expr.Unknown:
		return whole(expr.None)
	case expr.CompareColumns:
		return whole(compareColumns(e.Op, g.metrics(g.chunk(e.Left.ID)), g.metrics(g.chunk(e.Right.ID))))
	}
	if col, ok := leafColumn(e); ok {
		return g.leaf(e, g.chunk(col.ID))
	}
	return whole(expr.Some)
}

// metrics of a chunk as a whole.
func (g *group) metrics(c *Chunk) Metrics {
	g.note(c)
	switch {
	case c == nil:
		return Unknown(g.rows)
	case c.Constant != nil && g.use[ByStatistics]:
		return Constant(*c.Constant, g.rows, c.ConstantNullable)
	case c.Constant != nil:
		return Unknown(g.rows)
	case c.Statistics != nil && g.use[ByStatistics]:
		return c.Column.Metrics(*c.Statistics, g.rows)
	}
	return c.Column.Metrics(thrift.Statistics{NullCount: -1, NaNCount: -1}, g.rows) // what the schema alone tells
}

func (g *group) leaf(e expr.Expr, c *Chunk) outcome {
	m := g.metrics(c)
	if v := m.leaf(e); v != expr.Some || c == nil || c.Constant != nil {
		return whole(v)
	}
	if c.Dictionary != nil && g.use[ByDictionary] {
		if v := c.Dictionary.leaf(e, m); v != expr.Some {
			return whole(v)
		}
	}
	if c.Bloom != nil && g.use[ByBloom] {
		if v := c.Bloom.leaf(e, c.Column); v != expr.Some {
			return whole(v)
		}
	}
	if c.Pages != nil && g.use[ByPageIndex] {
		verdicts := c.Pages.leaf(e)
		return outcome{
			maybe:  rowsel.FromPages(c.Pages.firstRows, g.rows, func(i int) bool { return verdicts[i] != expr.None }),
			surely: rowsel.FromPages(c.Pages.firstRows, g.rows, func(i int) bool { return verdicts[i] == expr.All }),
		}
	}
	return whole(expr.Some)
}

// leafColumn is the column of a predicate on one column.
func leafColumn(e expr.Expr) (expr.Column, bool) {
	switch e := e.(type) {
	case expr.Compare:
		return e.Col, true
	case expr.In:
		return e.Col, true
	case expr.IsNull:
		return e.Col, true
	case expr.IsNaN:
		return e.Col, true
	case expr.StartsWith:
		return e.Col, true
	case expr.Like:
		return e.Col, true
	case expr.Match:
		return e.Col, true
	}
	return expr.Column{}, false
}

// Uses tells for which columns (by field id) of a bound predicate the dearer evidence could prove anything, so that nobody
// fetches it in vain.
func Uses(e expr.Expr) (pageIndex, dictionary, bloom map[int]bool) {
	pageIndex, dictionary, bloom = map[int]bool{}, map[int]bool{}, map[int]bool{}
	expr.Walk(e, func(e expr.Expr) bool {
		col, ok := leafColumn(e)
		if !ok {
			return true
		}
		if _, isMatch := e.(expr.Match); !isMatch {
			pageIndex[col.ID] = true
		}
		if matcher(e) != nil {
			dictionary[col.ID] = true
		}
		switch e := e.(type) {
		case expr.Compare:
			bloom[col.ID] = bloom[col.ID] || e.Op == expr.EQ
		case expr.In:
			bloom[col.ID] = bloom[col.ID] || !e.Negated
		}
		return true
	})
	return pageIndex, dictionary, bloom
}
