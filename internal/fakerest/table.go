package fakerest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// document is table metadata; integers stay json.Number, so nothing is rounded.
type document map[string]any

func parseDocument(raw []byte) (document, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var doc document
	err := d.Decode(&doc)
	return doc, err
}

func (d document) bytes() []byte {
	b, err := json.Marshal(d)
	if err != nil { // parsed from JSON: cannot fail
		panic(err)
	}
	return b
}

func (d document) text(key string) string { s, _ := d[key].(string); return s }

func (d document) list(key string) []any { l, _ := d[key].([]any); return l }

// number of a key, -1 if absent.
func (d document) number(key string) int64 { return number(d[key]) }

func number(v any) int64 {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	case int64:
		return v
	case int:
		return int64(v)
	}
	return -1
}

func (d document) object(key string) map[string]any {
	m, _ := d[key].(map[string]any)
	if m == nil {
		m = map[string]any{}
		d[key] = m
	}
	return m
}

// AddTable registers a table with the metadata document as it is, making the namespace if need be.
func (s *Server) AddTable(parts []string, name, location string, metadata []byte) error {
	if _, err := parseDocument(metadata); err != nil {
		return fmt.Errorf("fakerest: metadata of %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addNamespace(parts, map[string]string{}).tables[name] = &table{location: location, document: bytes.Clone(metadata)}
	return nil
}

// AddNamespace makes a namespace; it may exist.
func (s *Server) AddNamespace(parts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addNamespace(parts, map[string]string{})
}

// Metadata returns the present document of a table and its location; nil = no such table.
func (s *Server) Metadata(parts []string, name string) (metadata []byte, location string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.mu.namespaces[nsKey(parts)]; n != nil && n.tables[name] != nil {
		return n.tables[name].document, n.tables[name].location
	}
	return nil, ""
}

func (c call) loadTable() reply {
	c.s.mu.Lock()
	t := c.find()
	c.s.mu.Unlock()
	if t == nil {
		return c.noTable()
	}
	mode := c.r.URL.Query().Get("snapshots")
	sum := sha256.Sum256(fmt.Appendf(bytes.Clone(t.document), "%s %s", t.location, mode))
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	if !c.s.cfg.NoETag && c.r.Header.Get("If-None-Match") == tag {
		return reply{status: http.StatusNotModified, header: http.Header{"Etag": {tag}}}
	}
	raw := t.document
	if mode == "refs" {
		doc, err := parseDocument(raw)
		if err != nil {
			return fail(500, "InternalServerError", "%v", err)
		}
		onlyReferenced(doc)
		raw = doc.bytes()
	}
	rep := c.tableReply(t.location, raw, c.namespaceParts(), c.tableName())
	if !c.s.cfg.NoETag {
		rep.header.Set("ETag", tag)
	}
	return rep
}

// onlyReferenced drops the snapshots that no ref names.
func onlyReferenced(doc document) {
	keep := map[int64]bool{doc.number("current-snapshot-id"): true}
	for _, r := range doc.object("refs") {
		if r, ok := r.(map[string]any); ok {
			keep[number(r["snapshot-id"])] = true
		}
	}
	doc["snapshots"] = slices.DeleteFunc(doc.list("snapshots"), func(s any) bool {
		m, ok := s.(map[string]any)
		return ok && !keep[number(m["snapshot-id"])]
	})
}

// tableReply is a LoadTableResult; the metadata goes in as it is.
func (c call) tableReply(location string, metadata []byte, parts []string, name string) reply {
	doc := map[string]any{"metadata": json.RawMessage(metadata), "config": map[string]string{}}
	if location != "" {
		doc["metadata-location"] = location
	}
	if c.s.cfg.TableConfig != nil {
		doc["config"] = c.s.cfg.TableConfig(parts, name)
	}
	if c.s.cfg.Vend != nil && strings.Contains(c.r.Header.Get("X-Iceberg-Access-Delegation"), "vended-credentials") {
		doc["storage-credentials"] = c.s.cfg.Vend(parts, name)
	}
	return ok(doc)
}

func (c call) register() reply {
	var q struct {
		Name     string `json:"name"`
		Location string `json:"metadata-location"`
	}
	if err := json.Unmarshal(c.body, &q); err != nil {
		return fail(400, "BadRequestException", "malformed request")
	}
	return fail(501, "UnsupportedOperationException", "register %s: use AddTable", q.Name)
}

func (c call) createTable() reply {
	var q struct {
		Name       string         `json:"name"`
		Location   string         `json:"location"`
		Schema     map[string]any `json:"schema"`
		Spec       map[string]any `json:"partition-spec"`
		Order      map[string]any `json:"write-order"`
		Stage      bool           `json:"stage-create"`
		Properties map[string]any `json:"properties"`
	}
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.UseNumber()
	if err := d.Decode(&q); err != nil || q.Name == "" || q.Schema == nil {
		return fail(400, "BadRequestException", "malformed request")
	}
	if q.Stage && c.s.cfg.NoStaging {
		return fail(406, "UnsupportedOperationException", "tables cannot be staged")
	}
	parts := c.namespaceParts()
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	n := c.s.mu.namespaces[nsKey(parts)]
	if n == nil {
		return c.noNamespace()
	}
	if n.tables[q.Name] != nil {
		return fail(409, "AlreadyExistsException", "Table already exists: %s", q.Name)
	}
	if q.Location == "" {
		q.Location = c.s.cfg.Warehouse + "/" + strings.Join(parts, "/") + "/" + q.Name
	}
	version := int64(2)
	if v, ok := q.Properties["format-version"].(string); ok {
		fmt.Sscan(v, &version)
		delete(q.Properties, "format-version")
	}
	doc := newDocument(version)
	doc["location"] = strings.TrimRight(q.Location, "/")
	apply := []update{
		{"action": "assign-uuid", "uuid": newUUID()},
		{"action": "add-schema", "schema": q.Schema},
		{"action": "set-current-schema", "schema-id": json.Number("-1")},
	}
	if q.Spec != nil {
		apply = append(apply, update{"action": "add-spec", "spec": q.Spec}, update{"action": "set-default-spec", "spec-id": json.Number("-1")})
	}
	if q.Order != nil {
		apply = append(apply, update{"action": "add-sort-order", "sort-order": q.Order}, update{"action": "set-default-sort-order", "sort-order-id": json.Number("-1")})
	}
	if q.Properties != nil {
		apply = append(apply, update{"action": "set-properties", "updates": q.Properties})
	}
	b := builder{doc: doc}
	for _, u := range apply {
		if err := b.apply(u); err != nil {
			return fail(400, "BadRequestException", "%v", err)
		}
	}
	if q.Stage {
		c.s.touch(doc)
		return c.tableReply("", doc.bytes(), parts, q.Name)
	}
	return c.store(n, q.Name, nil, doc)
}

// touch needs the lock: last-updated-ms never falls.
func (s *Server) touch(doc document) int64 {
	t := time.Now()
	if !t.After(s.mu.last) {
		t = s.mu.last.Add(time.Millisecond)
	}
	s.mu.last = t
	doc["last-updated-ms"] = t.UnixMilli()
	return t.UnixMilli()
}

// store needs the lock.
func (c call) store(n *namespace, name string, old *table, doc document) reply {
	next := &table{version: 0}
	if old != nil {
		next.version = old.version + 1
		was, err := parseDocument(old.document)
		if err == nil && old.location != "" {
			entry := map[string]any{"timestamp-ms": was["last-updated-ms"], "metadata-file": old.location}
			doc["metadata-log"] = append(doc.list("metadata-log"), entry)
		}
	}
	c.s.touch(doc)
	next.document = doc.bytes()
	next.location = fmt.Sprintf("%s/metadata/%05d-%s.metadata.json", doc.text("location"), next.version, newUUID())
	if c.s.cfg.Write != nil {
		if err := c.s.cfg.Write(c.r.Context(), next.location, next.document); err != nil {
			return fail(500, "InternalServerError", "%v", err)
		}
	}
	n.tables[name] = next
	return c.tableReply(next.location, next.document, n.parts, name)
}

func (c call) commit() reply {
	var q struct {
		Requirements []map[string]any `json:"requirements"`
		Updates      []update         `json:"updates"`
	}
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.UseNumber()
	if err := d.Decode(&q); err != nil {
		return fail(400, "BadRequestException", "malformed request: %v", err)
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	n := c.s.mu.namespaces[nsKey(c.namespaceParts())]
	if n == nil {
		return c.noNamespace()
	}
	old := n.tables[c.tableName()]
	creates := slices.ContainsFunc(q.Requirements, func(r map[string]any) bool { return r["type"] == "assert-create" })
	if old == nil && !creates {
		return c.noTable()
	}
	var doc document
	if old != nil {
		var err error
		if doc, err = parseDocument(old.document); err != nil {
			return fail(500, "InternalServerError", "%v", err)
		}
	}
	for _, r := range q.Requirements {
		if why := unmet(r, doc); why != "" {
			return fail(409, "CommitFailedException", "Requirement failed: %s", why)
		}
	}
	if doc == nil {
		doc = newDocument(1)
	}
	b := builder{doc: doc}
	b.now = func() int64 { return c.s.touch(doc) }
	for _, u := range q.Updates {
		if err := b.apply(u); err != nil {
			if b.stale {
				return fail(409, "CommitFailedException", "%v", err)
			}
			return fail(400, "ValidationException", "%v", err)
		}
	}
	if doc.text("location") == "" || doc.text("table-uuid") == "" || len(doc.list("schemas")) == 0 {
		return fail(400, "ValidationException", "the table has no location, uuid or schema")
	}
	return c.store(n, c.tableName(), old, doc)
}

func newDocument(version int64) document {
	doc := document{
		"format-version": version, "last-sequence-number": int64(0), "last-column-id": int64(0), "schemas": []any{},
		"current-schema-id": int64(-1), "partition-specs": []any{map[string]any{"spec-id": int64(0), "fields": []any{}}},
		"default-spec-id": int64(0), "last-partition-id": int64(999),
		"sort-orders": []any{map[string]any{"order-id": int64(0), "fields": []any{}}}, "default-sort-order-id": int64(0),
		"properties": map[string]any{}, "snapshots": []any{}, "snapshot-log": []any{}, "metadata-log": []any{}, "refs": map[string]any{},
		"current-snapshot-id": nil,
	}
	if version >= 3 {
		doc["next-row-id"] = int64(0)
	}
	return maps.Clone(doc)
}
