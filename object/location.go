package object

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Location keeps the text that a table recorded, for ever, and the parsed form used to open it.
// Comparison (position deletes) uses Recorded; only Mapped and the stores look at the rest.
//
//	text                      Scheme  Bucket  Key
//	s3a://b/x%20y//z?q#f      s3a     b       x%20y//z?q#f     keys are literal: nothing is decoded or cleaned
//	file:///a/b, file:/a/b    file            /a/b             and file://localhost/a/b
//	file://host/a             file    host    /a               opens through Mapped only: a table moved with wrong URIs
//	/a/b                      file            /a/b
//	data/x.parquet                            data/x.parquet   relative: opens through Mapped only
type Location struct{ Recorded, Scheme, Bucket, Key string }

// ParseLocation takes s3, s3a, s3n, file, absolute local paths and relative texts; a relative text has no scheme and opens
// through Mapped only. Other schemes are parsed as scheme://bucket/key, and Mux decides whether a store serves them.
func ParseLocation(recorded string) (Location, error) {
	loc := Location{Recorded: recorded}
	if recorded == "" || strings.ContainsRune(recorded, 0) {
		return Location{}, fmt.Errorf("%w: location %q is empty or holds a zero byte", ErrInvalid, recorded)
	}
	scheme, rest, ok := cutScheme(recorded)
	switch {
	case !ok && recorded[0] == '/':
		loc.Scheme, loc.Key = "file", recorded
		return loc, nil
	case !ok:
		loc.Key = recorded
		return loc, nil
	case scheme == "file":
		return parseFile(loc, rest)
	}
	loc.Scheme = scheme
	rest, ok = strings.CutPrefix(rest, "//")
	if !ok {
		return Location{}, fmt.Errorf("%w: location %q lacks // after its scheme", ErrInvalid, recorded)
	}
	loc.Bucket, loc.Key, _ = strings.Cut(rest, "/")
	switch {
	case strings.Contains(loc.Bucket, "@"): // s3a://KEY:SECRET@bucket of old Hadoop: say so without printing it
		return Location{}, fmt.Errorf("%w: a %s location names credentials before @: set them as credentials instead", ErrInvalid, scheme)
	case loc.Bucket == "":
		return Location{}, fmt.Errorf("%w: location %q names no bucket", ErrInvalid, recorded)
	}
	return loc, nil
}

// parseFile takes what follows "file:".
func parseFile(loc Location, rest string) (Location, error) {
	loc.Scheme = "file"
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host, path, _ := strings.Cut(after, "/")
		if !strings.EqualFold(host, "localhost") {
			loc.Bucket = host
		}
		rest = "/" + path
	}
	if !strings.HasPrefix(rest, "/") {
		return Location{}, fmt.Errorf("%w: location %q is a relative file URI", ErrInvalid, loc.Recorded)
	}
	loc.Key = rest
	return loc, nil
}

// cutScheme splits "scheme:rest" by RFC 3986, section 3.1; a single letter is a Windows drive, not a scheme. A colon
// that no slash follows belongs to a relative name (a partition value such as ts=10:30).
func cutScheme(s string) (scheme, rest string, ok bool) {
	i := strings.IndexByte(s, ':')
	if i < 2 || !strings.HasPrefix(s[i+1:], "/") {
		return "", "", false
	}
	for j := range i {
		c := s[j] | 0x20
		if c < 'a' || c > 'z' {
			if j == 0 || !(s[j] >= '0' && s[j] <= '9' || s[j] == '+' || s[j] == '-' || s[j] == '.') {
				return "", "", false
			}
		}
	}
	return strings.ToLower(s[:i]), s[i+1:], true
}

// LocalPath is the location of a path typed by a user, made absolute against the working directory.
func LocalPath(path string) (Location, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Location{}, fmt.Errorf("%w: %q: %w", ErrInvalid, path, err)
	}
	abs = filepath.ToSlash(abs)
	return Location{Recorded: abs, Scheme: "file", Key: abs}, nil
}

// String is the recorded text.
func (l Location) String() string { return l.Recorded }

// Canonical names the object that l opens: s3a and s3n fold to s3, file forms to one. Two locations with equal
// Canonical open the same object; recorded texts are what the table format compares.
func (l Location) Canonical() string {
	switch l.Scheme {
	case "":
		return l.Key
	case "s3a", "s3n":
		return "s3://" + l.Bucket + "/" + l.Key
	case "file":
		return "file://" + l.Bucket + l.Key
	}
	return l.Scheme + "://" + l.Bucket + "/" + l.Key
}

// Join is the location of name under l, taken as a folder; one slash goes between, name is literal.
func (l Location) Join(name string) Location {
	l.Recorded = joinText(l.Recorded, name)
	l.Key = joinText(l.Key, name)
	return l
}

func joinText(dir, name string) string {
	if dir == "" || strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

// WithKey is the location of another key of the same bucket. Recorded follows if it ends in the old key.
func (l Location) WithKey(key string) Location {
	if prefix, ok := strings.CutSuffix(l.Recorded, l.Key); ok {
		l.Recorded = prefix + key
		if l.Bucket != "" && l.Key == "" && !strings.HasSuffix(prefix, "/") {
			l.Recorded = prefix + "/" + key // s3://bucket without a slash
		}
		l.Key = key
		return l
	}
	l.Key = key
	l.Recorded = l.Canonical()
	return l
}
