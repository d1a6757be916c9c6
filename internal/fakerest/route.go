package fakerest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// call is one request below the prefix, its path cut at the slashes and still encoded.
type call struct {
	s     *Server
	r     *http.Request
	body  []byte
	parts []string
}

func (c call) route() reply {
	p, m := c.parts, c.r.Method
	at := func(pattern ...string) bool {
		if len(p) != len(pattern) {
			return false
		}
		for i, s := range pattern {
			if s != "*" && s != p[i] {
				return false
			}
		}
		return true
	}
	switch {
	case at("namespaces") && m == "GET":
		return c.listNamespaces()
	case at("namespaces") && m == "POST":
		return c.createNamespace()
	case at("namespaces", "*"):
		return c.oneNamespace()
	case at("namespaces", "*", "tables") && m == "GET":
		return c.listTables()
	case at("namespaces", "*", "tables") && m == "POST":
		return c.createTable()
	case at("namespaces", "*", "register") && m == "POST":
		return c.register()
	case at("namespaces", "*", "tables", "*"):
		return c.oneTable()
	case at("namespaces", "*", "tables", "*", "credentials") && m == "GET":
		return c.credentials()
	case at("namespaces", "*", "tables", "*", "metrics") && m == "POST":
		return reply{status: 204, header: http.Header{}}
	}
	return fail(404, "NotFoundException", "no route for %s %s", m, c.r.URL.EscapedPath())
}

// javaDecode is java.net.URLDecoder: a plus is a space. A malformed escape stays as it is.
func javaDecode(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && i+2 < len(s):
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				b.WriteByte('%')
				continue
			}
			b.WriteByte(byte(n))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func (c call) separator() string {
	if c.s.cfg.Separator == "" {
		return "%1F"
	}
	return c.s.cfg.Separator
}

// DecodeNamespace is how a Java server reads the namespace of a path: cut at the separator first, then decode each part.
func DecodeNamespace(encoded, separator string) []string {
	parts := strings.Split(encoded, separator)
	for i, p := range parts {
		parts[i] = javaDecode(p)
	}
	return parts
}

func (c call) namespaceParts() []string { return DecodeNamespace(c.parts[1], c.separator()) }
func (c call) tableName() string        { return javaDecode(c.parts[3]) }

func nsKey(parts []string) string { return strings.Join(parts, "\x00") }

func (c call) noNamespace() reply {
	return fail(404, "NoSuchNamespaceException", "Namespace does not exist: %s", strings.Join(c.namespaceParts(), "."))
}

func (c call) noTable() reply {
	return fail(404, "NoSuchTableException", "Table does not exist: %s.%s", strings.Join(c.namespaceParts(), "."), c.tableName())
}

// page cuts items, which must be in a fixed order, and adds the next token to doc under the key.
func page[T any](c call, doc map[string]any, key string, items []T) reply {
	q := c.r.URL.Query()
	size, _ := strconv.Atoi(q.Get("pageSize"))
	if most := c.s.cfg.PageSize; most > 0 && (size <= 0 || size > most) {
		size = most
	}
	start := 0
	if t := q.Get("pageToken"); t != "" {
		raw, err := base64.RawURLEncoding.DecodeString(t)
		n, err2 := strconv.Atoi(string(raw))
		if err != nil || err2 != nil || n < 0 || n > len(items) {
			return fail(400, "BadRequestException", "malformed page token")
		}
		start = n
	}
	items = items[start:]
	if q.Has("pageToken") && size > 0 && size < len(items) {
		items = items[:size]
		doc["next-page-token"] = base64.RawURLEncoding.EncodeToString(fmt.Append(nil, start+size))
	}
	if items == nil {
		items = []T{}
	}
	doc[key] = items
	return ok(doc)
}

func (c call) listNamespaces() reply {
	var parent []string
	if p := c.r.URL.Query().Get("parent"); p != "" {
		parent = strings.Split(p, javaDecode(c.separator()))
	}
	c.s.mu.Lock()
	_, known := c.s.mu.namespaces[nsKey(parent)]
	seen := map[string][]string{}
	for _, n := range c.s.mu.namespaces {
		if len(n.parts) > len(parent) && slices.Equal(n.parts[:len(parent)], parent) {
			child := n.parts[:len(parent)+1]
			seen[nsKey(child)] = child
		}
	}
	c.s.mu.Unlock()
	if len(parent) > 0 && !known && len(seen) == 0 {
		return fail(404, "NoSuchNamespaceException", "Namespace does not exist: %s", strings.Join(parent, "."))
	}
	return page(c, map[string]any{}, "namespaces", sortedValues(seen))
}

func sortedValues[V any](m map[string]V) []V {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	out := make([]V, len(keys))
	for i, k := range keys {
		out[i] = m[k]
	}
	return out
}

func (c call) createNamespace() reply {
	var q struct {
		Namespace  []string          `json:"namespace"`
		Properties map[string]string `json:"properties"`
	}
	if err := json.Unmarshal(c.body, &q); err != nil || len(q.Namespace) == 0 {
		return fail(400, "BadRequestException", "malformed request")
	}
	if q.Properties == nil {
		q.Properties = map[string]string{}
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.mu.namespaces[nsKey(q.Namespace)] != nil {
		return fail(409, "AlreadyExistsException", "Namespace already exists: %s", strings.Join(q.Namespace, "."))
	}
	c.s.addNamespace(q.Namespace, q.Properties)
	return ok(q)
}

// addNamespace needs the lock.
func (s *Server) addNamespace(parts []string, properties map[string]string) *namespace {
	n := s.mu.namespaces[nsKey(parts)]
	if n == nil {
		n = &namespace{parts: slices.Clone(parts), properties: properties, tables: map[string]*table{}}
		s.mu.namespaces[nsKey(parts)] = n
	}
	return n
}

func (c call) oneNamespace() reply {
	parts := c.namespaceParts()
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	n := c.s.mu.namespaces[nsKey(parts)]
	if n == nil {
		return c.noNamespace()
	}
	switch c.r.Method {
	case "GET":
		return ok(map[string]any{"namespace": n.parts, "properties": n.properties})
	case "HEAD":
		return reply{status: 204, header: http.Header{}}
	case "DELETE":
		if len(n.tables) > 0 {
			return fail(409, "NamespaceNotEmptyException", "Namespace is not empty: %s", strings.Join(parts, "."))
		}
		delete(c.s.mu.namespaces, nsKey(parts))
		return reply{status: 204, header: http.Header{}}
	}
	return fail(405, "BadRequestException", "method")
}

func (c call) listTables() reply {
	type ident struct {
		Namespace []string `json:"namespace"`
		Name      string   `json:"name"`
	}
	c.s.mu.Lock()
	n := c.s.mu.namespaces[nsKey(c.namespaceParts())]
	ids := map[string]ident{}
	if n != nil {
		for name := range n.tables {
			ids[name] = ident{n.parts, name}
		}
	}
	c.s.mu.Unlock()
	if n == nil {
		return c.noNamespace()
	}
	return page(c, map[string]any{}, "identifiers", sortedValues(ids))
}

// find needs the lock.
func (c call) find() *table {
	if n := c.s.mu.namespaces[nsKey(c.namespaceParts())]; n != nil {
		return n.tables[c.tableName()]
	}
	return nil
}

func (c call) oneTable() reply {
	switch c.r.Method {
	case "POST":
		return c.commit()
	case "GET":
		return c.loadTable()
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.find() == nil {
		return c.noTable()
	}
	if c.r.Method == "DELETE" {
		delete(c.s.mu.namespaces[nsKey(c.namespaceParts())].tables, c.tableName())
	}
	return reply{status: 204, header: http.Header{}}
}

func (c call) credentials() reply {
	c.s.mu.Lock()
	t := c.find()
	c.s.mu.Unlock()
	if t == nil {
		return c.noTable()
	}
	creds := []Credential{}
	if c.s.cfg.Vend != nil {
		creds = c.s.cfg.Vend(c.namespaceParts(), c.tableName())
	}
	return ok(map[string]any{"storage-credentials": creds})
}
