package rest

import (
	"net/url"
	"strings"

	"github.com/lakescan/lakescan/iceberg/meta"
)

// unitSeparator joins the parts of a namespace unless the server says otherwise (already encoded).
const unitSeparator = "%1F"

const upperHex = "0123456789ABCDEF"

// unreserved characters (RFC 3986, section 2.3) are the only ones sent as they are: url.PathEscape keeps '+', which Java
// servers read as a space even in a path.
func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// encodePart encodes one part of a namespace, or a table's name. A part that is nothing but dots would be taken for a step
// in the path, so its dots are encoded too.
func encodePart(s string) string {
	dots := strings.Trim(s, ".") == ""
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; unreserved(c) && !dots {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}

// encodePrefix keeps slashes and valid %XX, since a prefix is path text already.
func encodePrefix(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '/' || unreserved(c):
			b.WriteByte(c)
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b.WriteString(s[i : i+3])
			i += 2
		default:
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// paths makes the addresses of one catalog. base has no trailing slash; prefix and separator are path text.
type paths struct {
	base      string
	prefix    string
	separator string
}

func newPaths(base, prefix, separator string) paths {
	if separator == "" {
		separator = unitSeparator
	}
	return paths{strings.TrimRight(base, "/"), strings.Trim(prefix, "/"), separator}
}

// endpoint is an address below the prefix; elements are encoded already.
func (p paths) endpoint(elements ...string) string {
	var b strings.Builder
	b.WriteString(p.base)
	b.WriteString("/v1")
	if p.prefix != "" {
		b.WriteByte('/')
		b.WriteString(encodePrefix(p.prefix))
	}
	for _, e := range elements {
		b.WriteByte('/')
		b.WriteString(e)
	}
	return b.String()
}

// namespace joins the encoded parts with the separator as it came.
func (p paths) namespace(parts []string) string {
	enc := make([]string, len(parts))
	for i, s := range parts {
		enc[i] = encodePart(s)
	}
	return strings.Join(enc, p.separator)
}

// expressible says whether a path can name the namespace: no empty part, none that holds the separator.
func (p paths) expressible(parts []string) bool {
	for _, s := range parts {
		if s == "" || strings.Contains(encodePart(s), p.separator) {
			return false
		}
	}
	return true
}

// parent is the value of the query parameter, before query encoding: the parts joined by the decoded separator.
func (p paths) parent(parts []string) string {
	sep, err := url.PathUnescape(p.separator)
	if err != nil {
		sep = p.separator
	}
	return strings.Join(parts, sep)
}

func (p paths) table(id meta.Ident, more ...string) string {
	return p.endpoint(append([]string{"namespaces", p.namespace(id.Namespace), "tables", encodePart(id.Name)}, more...)...)
}
