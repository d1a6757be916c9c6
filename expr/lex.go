package expr

import "strings"

type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokWord             // text = as written
	tokName             // "quoted", text = unquoted
	tokNumber           // unsigned
	tokString           // text = unquoted
	tokOp               // comparison, parenthesis, comma, dot, sign
)

type token struct {
	kind tokenKind
	text string
	at   int  // byte offset
	glue bool // nothing stands between the token before and this one
}

// is reports whether t is the unquoted keyword, in any case.
func (t token) is(keyword string) bool {
	return t.kind == tokWord && strings.EqualFold(t.text, keyword)
}

func (t token) op(text string) bool { return t.kind == tokOp && t.text == text }

// lex cuts the whole text into tokens; the last one is tokEOF.
func lex(text string) ([]token, error) {
	var out []token
	for i := 0; ; {
		start := i
		for i < len(text) && strings.IndexByte(" \t\r\n\f", text[i]) >= 0 {
			i++
		}
		t := token{at: i, glue: i == start}
		if i == len(text) {
			return append(out, t), nil
		}
		n, err := t.scan(text, i)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
		i += n
	}
}

// scan fills t from text[i:] and returns how many bytes it took.
func (t *token) scan(text string, i int) (int, error) {
	c := text[i]
	switch {
	case wordByte(c, true):
		t.kind = tokWord
		n := 1
		for i+n < len(text) && wordByte(text[i+n], false) {
			n++
		}
		t.text = text[i : i+n]
		return n, nil
	case c == '\'' || c == '"':
		body, n := unquote(text[i:])
		if n == 0 {
			return 0, &SyntaxError{text, i, "the quote is not closed"}
		}
		t.kind, t.text = tokString, body
		if c == '"' {
			t.kind = tokName
			if body == "" {
				return 0, &SyntaxError{text, i, "a name is empty"}
			}
		}
		return n, nil
	case isDigit(c) || c == '.' && i+1 < len(text) && isDigit(text[i+1]):
		t.kind = tokNumber
		n := numberLen(text[i:])
		t.text = text[i : i+n]
		return n, nil
	}
	for _, op := range [...]string{"<=", ">=", "<>", "!=", "==", "<", ">", "=", "(", ")", ",", ".", "-", "+"} {
		if strings.HasPrefix(text[i:], op) {
			t.kind, t.text = tokOp, op
			return len(op), nil
		}
	}
	return 0, &SyntaxError{text, i, "unexpected character"}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// unquote returns the body of the quoted text at the head of s and its whole length, 0 if it is not closed.
func unquote(s string) (body string, n int) {
	q := s[:1]
	for n = 1; ; {
		end := strings.Index(s[n:], q)
		if end < 0 {
			return "", 0
		}
		n += end + 1
		if n == len(s) || s[n:n+1] != q {
			return strings.ReplaceAll(s[1:n-1], q+q, q), n
		}
		n++
	}
}

// numberLen is the length of digits[.digits][e[±]digits].
func numberLen(s string) int {
	n := 0
	digits := func() {
		for n < len(s) && isDigit(s[n]) {
			n++
		}
	}
	digits()
	if n < len(s) && s[n] == '.' {
		n++
		digits()
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if m < len(s) && isDigit(s[m]) {
			n = m
			digits()
		}
	}
	return n
}
