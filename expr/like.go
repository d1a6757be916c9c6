package expr

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// LikePattern is a compiled LIKE pattern; immutable, safe for concurrent use. % stands for any text, _ for one character (one
// byte where the value is not UTF-8), \ takes the next character as it is.
type LikePattern struct {
	segs []likeSeg // the text between two %; the first is anchored at the start, the last at the end
}

// likeSeg is a run of literal texts with _ between them.
type likeSeg struct {
	parts [][]byte // literal text; between two parts stands one _
}

// CompileLike fails on a pattern that ends in a lone escape.
func CompileLike(pattern string) (*LikePattern, error) {
	l := &LikePattern{segs: []likeSeg{{parts: [][]byte{nil}}}}
	for i := 0; i < len(pattern); i++ {
		seg := &l.segs[len(l.segs)-1]
		switch c := pattern[i]; c {
		case '%':
			l.segs = append(l.segs, likeSeg{parts: [][]byte{nil}})
			continue
		case '_':
			seg.parts = append(seg.parts, nil)
			continue
		case '\\':
			if i++; i == len(pattern) {
				return nil, errors.New(`the LIKE pattern ends in \, which escapes nothing`)
			}
			fallthrough
		default:
			last := len(seg.parts) - 1
			seg.parts[last] = append(seg.parts[last], pattern[i])
		}
	}
	return l, nil
}

type likeShape uint8

const (
	likeGeneral likeShape = iota
	likeExact
	likePrefix
	likeAny
)

// literal tells the simple shapes apart: no wildcard, one trailing %, nothing but %.
func (l *LikePattern) literal() (string, likeShape) {
	head := l.segs[0]
	if len(head.parts) > 1 {
		return "", likeGeneral
	}
	for _, s := range l.segs[1:] {
		if len(s.parts) > 1 || len(s.parts[0]) > 0 {
			return "", likeGeneral
		}
	}
	text := string(head.parts[0])
	switch {
	case len(l.segs) == 1:
		return text, likeExact
	case text == "":
		return "", likeAny
	}
	return text, likePrefix
}

// Match reports whether the whole of s fits the pattern. It is linear in the pattern's segments: the leftmost place of each
// segment between two % leaves the most room for the rest.
func (l *LikePattern) Match(s []byte) bool {
	n, ok := l.segs[0].at(s)
	if !ok {
		return false
	}
	if len(l.segs) == 1 {
		return n == len(s)
	}
	s = s[n:]
	for _, seg := range l.segs[1 : len(l.segs)-1] {
		n, ok := seg.find(s)
		if !ok {
			return false
		}
		s = s[n:]
	}
	return l.segs[len(l.segs)-1].atEnd(s)
}

// at matches the segment at the head of s and returns the bytes it took.
func (g likeSeg) at(s []byte) (int, bool) {
	n := 0
	for i, p := range g.parts {
		if i > 0 {
			if n == len(s) {
				return 0, false
			}
			_, w := utf8.DecodeRune(s[n:])
			n += w
		}
		if !bytes.HasPrefix(s[n:], p) {
			return 0, false
		}
		n += len(p)
	}
	return n, true
}

// find returns the end of the leftmost match in s.
func (g likeSeg) find(s []byte) (end int, ok bool) {
	for from := 0; ; {
		skip := bytes.Index(s[from:], g.parts[0])
		if skip < 0 {
			return 0, false
		}
		from += skip
		if n, ok := g.at(s[from:]); ok {
			return from + n, true
		}
		if from == len(s) {
			return 0, false
		}
		_, w := utf8.DecodeRune(s[from:])
		from += w
	}
}

// atEnd matches the segment at the end of s, going backwards.
func (g likeSeg) atEnd(s []byte) bool {
	for i := len(g.parts) - 1; i >= 0; i-- {
		if !bytes.HasSuffix(s, g.parts[i]) {
			return false
		}
		s = s[:len(s)-len(g.parts[i])]
		if i > 0 {
			if len(s) == 0 {
				return false
			}
			_, w := utf8.DecodeLastRune(s)
			s = s[:len(s)-w]
		}
	}
	return true
}
