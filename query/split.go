package query

import "strings"

// Explain is what stood in front of a statement.
type Explain uint8

// Modes.
const (
	ExplainNone    Explain = iota
	ExplainPlan            // EXPLAIN: metadata only
	ExplainAnalyze         // EXPLAIN ANALYZE: runs, drops the rows, adds what it cost
)

// Part is one statement of a text.
type Part struct {
	SQL        string  // without EXPLAIN and without the semicolon
	Offset     int     // of SQL in the text
	Explain    Explain // ExplainNone, unless EXPLAIN stood in front
	JSON       bool    // EXPLAIN (FORMAT json)
	Terminated bool    // a semicolon followed; a prompt reads on if the last part has none
}

// Split cuts a text at its semicolons, those in strings, identifiers and comments aside. Empty statements are left out.
func Split(text string) []Part {
	var parts []Part
	var toks []Token
	flush := func(terminated bool) {
		if len(toks) > 0 {
			p := Part{Offset: toks[0].Start, Terminated: terminated}
			p.SQL = text[p.Offset:toks[len(toks)-1].End]
			p.takeExplain()
			parts = append(parts, p)
			toks = toks[:0]
		}
	}
	for _, t := range Lex(text) {
		if t.punct(text, ';') {
			flush(true)
			continue
		}
		toks = append(toks, t)
	}
	flush(false)
	return parts
}

// takeExplain removes EXPLAIN [ANALYZE] or EXPLAIN (option, …) from the front.
func (p *Part) takeExplain() {
	toks := Lex(p.SQL)
	if !toks[0].is(p.SQL, "EXPLAIN") {
		return
	}
	p.Explain = ExplainPlan
	rest := toks[1:]
	switch {
	case len(rest) > 0 && rest[0].is(p.SQL, "ANALYZE"):
		p.Explain = ExplainAnalyze
		rest = rest[1:]
	case len(rest) > 2 && rest[0].punct(p.SQL, '(') && (rest[1].is(p.SQL, "ANALYZE") || rest[1].is(p.SQL, "FORMAT")):
		rest = p.explainOptions(rest)
	}
	if len(rest) == 0 {
		p.SQL = ""
		return
	}
	start := rest[0].Start
	p.Offset += start
	p.SQL = p.SQL[start:]
}

// explainOptions reads "(ANALYZE, FORMAT json)" and returns what follows.
func (p *Part) explainOptions(toks []Token) []Token {
	for i, t := range toks {
		switch word := p.SQL[t.Start:t.End]; {
		case t.is(p.SQL, "ANALYZE"):
			p.Explain = ExplainAnalyze
		case strings.EqualFold(strings.Trim(word, `'"`), "json"):
			p.JSON = true
		case t.punct(p.SQL, ')'):
			return toks[i+1:]
		}
	}
	return nil
}
