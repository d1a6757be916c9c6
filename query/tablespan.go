package query

// TableSpan is the text of one table reference: name, alias, version. A span [a, b) with a == b is absent.
type TableSpan struct {
	Name  [2]int // the dotted name, or a quoted path
	Alias [2]int // [AS] alias [(columns)]
	At    [2]int // AT (unit => value)
	Value [2]int // value
}

// FindTable reads the reference whose name starts at offset; ok is false if no name of so many parts stands there. hasAlias
// is what the parser says, since only it knows.
func FindTable(sql string, toks []Token, offset, parts int, hasAlias bool) (s TableSpan, ok bool) {
	i := 0
	for i < len(toks) && toks[i].Start < offset {
		i++
	}
	if i >= len(toks) || toks[i].Start != offset {
		return s, false
	}
	for k := range parts {
		if k > 0 {
			if i >= len(toks) || !toks[i].punct(sql, '.') {
				return s, false
			}
			i++
		}
		if i >= len(toks) || toks[i].Kind > TokenString {
			return s, false
		}
		i++
	}
	end := toks[i-1].End
	s = TableSpan{Name: [2]int{offset, end}, Alias: [2]int{end, end}, At: [2]int{end, end}, Value: [2]int{end, end}}
	if hasAlias {
		j := aliasEnd(sql, toks, i)
		if j == i {
			return s, false
		}
		s.Alias = [2]int{toks[i].Start, toks[j-1].End}
		i = j
	}
	if i+4 < len(toks) && toks[i].is(sql, "AT") && toks[i+1].punct(sql, '(') {
		j := groupEnd(sql, toks, i+1)
		if toks[i+3].punct(sql, '=') && toks[i+4].punct(sql, '>') && j-1 > i+5 {
			s.At = [2]int{toks[i].Start, toks[j-1].End}
			s.Value = [2]int{toks[i+5].Start, toks[j-2].End}
		}
	}
	return s, true
}
