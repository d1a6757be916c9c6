package render

import (
	"unicode"
	"unicode/utf8"
)

// appendVisible appends text with everything escaped that could drive a terminal or mislead a reader: control characters (C0,
// DEL, C1), marks that turn the direction of text, line and paragraph separators, bytes that are not UTF-8.
func appendVisible(dst, v []byte) []byte {
	for i := 0; i < len(v); {
		if b := v[i]; b >= 0x20 && b < 0x7f {
			dst = append(dst, b)
			i++
			continue
		}
		r, n := utf8.DecodeRune(v[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = appendHex(append(dst, `\x`...), uint32(v[i]), 2)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r < 0x20 || r == 0x7f:
			dst = appendHex(append(dst, `\x`...), uint32(r), 2)
		case hidden(r):
			dst = appendHex(append(dst, `\u`...), uint32(r), 4)
		default:
			dst = append(dst, v[i:i+n]...)
		}
		i += n
	}
	return dst
}

// hidden is true of runes from U+0080 on that draw nothing but act on the terminal or on the text around them.
func hidden(r rune) bool {
	return r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || unicode.Is(unicode.Bidi_Control, r)
}

// Visible is text with control characters and the like escaped, for messages that quote data, names or a server's words.
func Visible(s string) string { return string(appendVisible(nil, []byte(s))) }

func appendHex(dst []byte, v uint32, width int) []byte {
	for width--; width >= 0; width-- {
		dst = append(dst, "0123456789abcdef"[v>>(4*width)&15])
	}
	return dst
}
