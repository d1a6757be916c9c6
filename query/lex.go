package query

import (
	"strings"
	"unicode/utf8"
)

// TokenKind of a lexical unit; blanks and comments are no tokens.
type TokenKind uint8

// Kinds. The rules are those of PostgreSQL's scanner, which DuckDB's parser has taken over.
const (
	TokenWord         TokenKind = iota // an unquoted identifier or keyword
	TokenQuoted                        // "identifier"
	TokenString                        // 'text', E'text', X'00', $$text$$
	TokenNumber                        // 1, 1.5e3, 0xff, 1_000
	TokenParam                         // $name, $1, ?
	TokenPunct                         // one byte of anything else
	TokenUnterminated                  // a string, identifier or comment without its end; reaches to the end of the text
)

// Token is a slice [Start, End) of the text.
type Token struct {
	Kind       TokenKind
	Start, End int
}

// Lex cuts a text into tokens. It never fails: what cannot be a token is TokenPunct or TokenUnterminated.
func Lex(text string) []Token {
	var toks []Token
	for i := 0; i < len(text); {
		if n := blank(text[i:]); n > 0 {
			i += n
			continue
		}
		kind, n := scan(text[i:])
		toks = append(toks, Token{kind, i, i + n})
		i += n
	}
	return toks
}

// blank is the length of the spaces and finished comments at the start of s.
func blank(s string) int {
	i := 0
	for i < len(s) {
		switch c := s[i]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			i++
		case c == '-' && strings.HasPrefix(s[i:], "--"):
			n := strings.IndexByte(s[i:], '\n')
			if n < 0 {
				return len(s)
			}
			i += n + 1
		case c == '/' && strings.HasPrefix(s[i:], "/*"):
			n := blockComment(s[i:])
			if n < 0 {
				return i
			}
			i += n
		default:
			return i
		}
	}
	return i
}

// blockComment is the length of the comment at the start of s, which nests; -1 = it has no end.
func blockComment(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); {
		switch s[i : i+2] {
		case "/*":
			depth++
			i += 2
		case "*/":
			depth--
			i += 2
			if depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return -1
}

func scan(s string) (TokenKind, int) {
	switch c := s[0]; {
	case c == '\'':
		return ended(TokenString, quoted(s, '\'', false), s)
	case c == '"':
		return ended(TokenQuoted, quoted(s, '"', false), s)
	case c == '/' && strings.HasPrefix(s, "/*"):
		return TokenUnterminated, len(s)
	case c == '$':
		return dollar(s)
	case c == '?':
		return TokenParam, 1
	case c >= '0' && c <= '9', c == '.' && len(s) > 1 && s[1] >= '0' && s[1] <= '9':
		return TokenNumber, number(s)
	case isWordStart(c):
		if len(s) > 1 && s[1] == '\'' && strings.IndexByte("eExXbB", c) >= 0 {
			n := quoted(s[1:], '\'', c == 'e' || c == 'E')
			if n < 0 {
				return TokenUnterminated, len(s)
			}
			return TokenString, 1 + n
		}
		n := 1
		for n < len(s) && (isWordStart(s[n]) || s[n] >= '0' && s[n] <= '9' || s[n] == '$') {
			n++
		}
		return TokenWord, n
	}
	return TokenPunct, 1
}

func ended(k TokenKind, n int, s string) (TokenKind, int) {
	if n < 0 {
		return TokenUnterminated, len(s)
	}
	return k, n
}

func isWordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

// quoted is the length of the text in quotes at the start of s, where a doubled quote is a quote; -1 = it has no end.
func quoted(s string, quote byte, backslash bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case backslash && s[i] == '\\':
			i++
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return -1
}

// dollar reads $name, $1, $$text$$ or $tag$text$tag$.
func dollar(s string) (TokenKind, int) {
	n := 1
	for n < len(s) && (isWordStart(s[n]) || s[n] >= '0' && s[n] <= '9') {
		n++
	}
	digit := n > 1 && s[1] >= '0' && s[1] <= '9'
	if n < len(s) && s[n] == '$' && !digit {
		tag := s[:n+1]
		if end := strings.Index(s[n+1:], tag); end >= 0 {
			return TokenString, n + 1 + end + len(tag)
		}
		return TokenUnterminated, len(s)
	}
	if n == 1 {
		return TokenPunct, 1
	}
	return TokenParam, n
}

func number(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		exponent := (c == '+' || c == '-') && n > 0 && (s[n-1] == 'e' || s[n-1] == 'E') && !strings.HasPrefix(s, "0x") && !strings.HasPrefix(s, "0X")
		if c >= '0' && c <= '9' || c == '.' || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || exponent {
			n++
			continue
		}
		break
	}
	return n
}

// is reports whether the token is the keyword, whose letters are upper case.
func (t Token) is(text, keyword string) bool {
	return t.Kind == TokenWord && strings.EqualFold(text[t.Start:t.End], keyword)
}

func (t Token) punct(text string, c byte) bool {
	return t.Kind == TokenPunct && text[t.Start] == c
}

// QuoteIdent writes an identifier in quotes.
func QuoteIdent(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// QuoteString writes a string literal.
func QuoteString(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
