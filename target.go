package lakescan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakescan/lakescan/iceberg"
)

// target is what a scan names: a table of a catalog, a metadata document, or plain Parquet files.
type target struct {
	catalog string
	ident   iceberg.Ident
	path    string // of files or of a metadata document; "" = a table of a catalog
}

func (t target) isMetadata() bool { return strings.HasSuffix(t.path, ".metadata.json") }

// TargetError says what is wrong with the text that names a table or files.
type TargetError struct{ Target, Reason string }

func (e *TargetError) Error() string { return fmt.Sprintf("target %q: %s", e.Target, e.Reason) }

// UnknownCatalogError names a catalog that the configuration lacks.
type UnknownCatalogError struct {
	Name  string
	Known []string
}

func (e *UnknownCatalogError) Error() string {
	return fmt.Sprintf("no catalog %q in the configuration (have %s)", e.Name, strings.Join(e.Known, ", "))
}

func (c *Client) catalogNames() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for name := range c.mu.catalogs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// isPath tells files from names: a scheme, a separator that no name has without quotes, a pattern, or a file's ending.
func isPath(text string) bool {
	if strings.HasPrefix(text, `"`) {
		return false
	}
	return strings.Contains(text, "/") || strings.ContainsAny(text, "*?[") || strings.HasSuffix(text, ".parquet") || strings.HasSuffix(text, ".metadata.json")
}

func (c *Client) parseTarget(text string) (target, error) {
	if isPath(text) {
		return target{path: text}, nil
	}
	parts, err := SplitName(text)
	if err != nil {
		return target{}, err
	}
	return c.nameTarget(parts), nil
}

// nameTarget reads the parts of a name: a first part that equals a catalog's name is the catalog, else a namespace.
func (c *Client) nameTarget(parts []string) target {
	if len(parts) == 1 && isPath(parts[0]) {
		return target{path: parts[0]}
	}
	var t target
	if len(parts) > 2 && slices.Contains(c.catalogNames(), parts[0]) {
		t.catalog, parts = parts[0], parts[1:]
	}
	t.ident = iceberg.Ident{Namespace: parts[:len(parts)-1], Name: parts[len(parts)-1]}
	return t
}

// SplitName cuts a name at its dots; a part in double quotes is taken as it is, a quote inside is doubled.
func SplitName(text string) ([]string, error) {
	var parts []string
	for rest := text; ; {
		var part string
		if strings.HasPrefix(rest, `"`) {
			var ok bool
			if part, rest, ok = cutQuoted(rest[1:]); !ok {
				return nil, &TargetError{text, "a quote is not closed"}
			}
		} else {
			i := strings.IndexByte(rest, '.')
			if i < 0 {
				i = len(rest)
			}
			part, rest = rest[:i], rest[i:]
			if strings.ContainsRune(part, '"') {
				return nil, &TargetError{text, "a quote stands inside a part"}
			}
		}
		if part == "" {
			return nil, &TargetError{text, "a part is empty"}
		}
		parts = append(parts, part)
		if rest == "" {
			return parts, nil
		}
		if rest[0] != '.' {
			return nil, &TargetError{text, "text follows a quoted part"}
		}
		rest = rest[1:]
	}
}

// cutQuoted reads up to the closing quote; s begins after the opening one.
func cutQuoted(s string) (part, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			b.WriteByte('"')
			i++
			continue
		}
		return b.String(), s[i+1:], true
	}
	return "", "", false
}

// loadTable loads a table of a catalog or of a metadata document.
func (c *Client) loadTable(ctx context.Context, t target) (*iceberg.Table, error) {
	if t.path == "" {
		if len(t.ident.Namespace) == 0 {
			return nil, &TargetError{t.ident.Name, "a table's name has a namespace, as in ns.table; a path has a slash or ends in .parquet"}
		}
		cat, err := c.open(ctx, t.catalog)
		if err != nil {
			return nil, err
		}
		return cat.Load(ctx, t.ident)
	}
	if !t.isMetadata() {
		return nil, &TargetError{t.path, "these are files, not a table"}
	}
	loc, err := parsePath(t.path)
	if err != nil {
		return nil, err
	}
	return iceberg.LoadMetadata(ctx, iceberg.CatalogConfig{NewStore: c.newStore, Budget: c.budget}, loc.String())
}
