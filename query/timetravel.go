package query

import "strings"

// RewriteTimeTravel turns the spellings of Trino and Spark,
//
//	t FOR VERSION AS OF 5 AS o          t VERSION AS OF 'tag'
//	t FOR TIMESTAMP AS OF now() - INTERVAL 1 DAY o
//
// into t AS o AT (VERSION => 5), the only spelling and the only place that DuckDB's parser takes. SYSTEM_VERSION and
// SYSTEM_TIME are understood too. A text without them is returned as it is.
func RewriteTimeTravel(sql string) Rewrite {
	toks := Lex(sql)
	var edits []Edit
	for i := 0; i < len(toks); i++ {
		c, ok := asOf(sql, toks, i)
		if !ok {
			continue
		}
		alias := aliasEnd(sql, toks, c.end)
		insert := toks[c.end-1].End
		edits = append(edits, Edit{Start: toks[i].Start, End: toks[c.end-1].End})
		if alias > c.end {
			insert = toks[alias-1].End
		}
		value := sql[toks[c.value].Start:toks[c.end-1].End]
		edits = append(edits, Edit{Start: insert, End: insert, Text: " AT (" + c.unit + " => " + value + ")"})
		i = c.end - 1
	}
	return NewRewrite(sql, edits)
}

// clause is [FOR] unit AS OF value; value and end are token indexes.
type clause struct {
	unit       string
	value, end int
}

func asOf(sql string, toks []Token, i int) (clause, bool) {
	explicit := toks[i].is(sql, "FOR")
	if explicit {
		i++
	}
	if i+3 >= len(toks) || !toks[i+1].is(sql, "AS") || !toks[i+2].is(sql, "OF") {
		return clause{}, false
	}
	c := clause{value: i + 3}
	switch {
	case toks[i].is(sql, "VERSION"), toks[i].is(sql, "SYSTEM_VERSION"):
		c.unit = "VERSION"
	case toks[i].is(sql, "TIMESTAMP"), toks[i].is(sql, "SYSTEM_TIME"):
		c.unit = "TIMESTAMP"
	default:
		return clause{}, false
	}
	// "SELECT version AS of FROM t" names a column: without FOR only a literal can follow
	if next := toks[c.value]; !explicit && next.Kind != TokenString && next.Kind != TokenNumber && next.Kind != TokenParam &&
		!(next.is(sql, "TIMESTAMP") || next.is(sql, "DATE")) {
		return clause{}, false
	}
	c.end = operandEnd(sql, toks, c.value)
	for c.end+1 < len(toks) && (toks[c.end].punct(sql, '+') || toks[c.end].punct(sql, '-')) {
		c.end = operandEnd(sql, toks, c.end+1)
	}
	return c, c.end > c.value
}

// operandEnd is the token after one operand: literal, DATE 'x', INTERVAL 1 DAY, name(…), (…), each with ::casts.
func operandEnd(sql string, toks []Token, i int) int {
	at := func(k int) Token {
		if k < len(toks) {
			return toks[k]
		}
		return Token{Kind: TokenUnterminated}
	}
	switch t := at(i); {
	case t.Kind == TokenString, t.Kind == TokenNumber, t.Kind == TokenParam:
		i++
	case t.punct(sql, '('):
		i = groupEnd(sql, toks, i)
	case t.is(sql, "INTERVAL"):
		i++
		if at(i).punct(sql, '(') {
			i = groupEnd(sql, toks, i)
		} else {
			i++
		}
		if at(i).Kind == TokenWord && isUnit(sql[at(i).Start:at(i).End]) {
			i++
		}
	case t.Kind == TokenWord:
		i++
		if at(i).is(sql, "WITH") && at(i+1).is(sql, "TIME") && at(i+2).is(sql, "ZONE") {
			i += 3
		}
		if at(i).Kind == TokenString {
			i++
		} else if at(i).punct(sql, '(') {
			i = groupEnd(sql, toks, i)
		}
	default:
		return i
	}
	for at(i).punct(sql, ':') && at(i+1).punct(sql, ':') && at(i+2).Kind == TokenWord {
		i += 3
	}
	return min(i, len(toks))
}

// groupEnd is the token after the parenthesis that closes the one at i.
func groupEnd(sql string, toks []Token, i int) int {
	depth := 0
	for ; i < len(toks); i++ {
		if toks[i].punct(sql, '(') {
			depth++
		} else if toks[i].punct(sql, ')') {
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

func isUnit(word string) bool {
	switch strings.TrimSuffix(strings.ToUpper(word), "S") {
	case "YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND":
		return true
	}
	return false
}

// aliasEnd is the token after [AS] alias [(columns)] at i, or i if no alias stands there.
func aliasEnd(sql string, toks []Token, i int) int {
	start := i
	explicit := i < len(toks) && toks[i].is(sql, "AS")
	if explicit {
		i++
	}
	if i >= len(toks) || toks[i].Kind != TokenQuoted && toks[i].Kind != TokenWord {
		return start
	}
	if !explicit && toks[i].Kind == TokenWord && afterTable[strings.ToUpper(sql[toks[i].Start:toks[i].End])] {
		return start
	}
	i++
	if i < len(toks) && toks[i].punct(sql, '(') {
		i = groupEnd(sql, toks, i)
	}
	return i
}

// afterTable are the words that may follow a table and are no alias.
var afterTable = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`ANTI ASOF AT CROSS EXCEPT FETCH FOR FROM FULL GROUP HAVING INNER INTERSECT JOIN LATERAL
		LEFT LIMIT NATURAL OFFSET ON ORDER OUTER PIVOT POSITIONAL QUALIFY RETURNING RIGHT SAMPLE SELECT SEMI SET TABLESAMPLE
		UNION UNPIVOT USING WHERE WINDOW WITH`) {
		m[w] = true
	}
	return m
}()
