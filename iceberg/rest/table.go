package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/rawjson"
	"github.com/lakescan/lakescan/object"
)

// maxTables bounds what a client remembers of loaded tables.
const maxTables = 64

const (
	snapshotsAll  = "all"
	snapshotsRefs = "refs"
)

// Table is a loaded table: its metadata and what the catalog said of its storage. It is immutable, but for the keys behind
// Credentials, which renew themselves.
type Table struct {
	Ident            meta.Ident
	Metadata         *meta.Metadata
	MetadataLocation string
	// Config are the merged settings of the catalog with the table's own on top; not to be changed.
	Config map[string]string

	client *Client
	creds  *tableCredentials
	auth   authenticator // by the token that came with the table; nil = the catalog's
	etag   string
}

// Credentials answers for every file of the table.
func (t *Table) Credentials() object.Credentials { return t.creds }

type tableKey struct{ ident, snapshots string }

// LoadTable loads a table in one request. With allSnapshots false the catalog may leave out snapshots that no ref names.
// What has been loaded before is validated by its ETag and used again.
func (c *Client) LoadTable(ctx context.Context, id meta.Ident, allSnapshots bool) (*Table, error) {
	mode := snapshotsRefs
	if allSnapshots {
		mode = snapshotsAll
	}
	return c.load(ctx, id, mode, true)
}

func (c *Client) load(ctx context.Context, id meta.Ident, mode string, cached bool) (*Table, error) {
	const op = "load table"
	if !c.paths.expressible(id.Namespace) || len(id.Namespace) == 0 || id.Name == "" {
		return nil, &meta.Error{Op: op, Ident: id, Err: meta.ErrNoSuchTable}
	}
	key := tableKey{c.paths.table(id), mode}
	old := c.remembered(key)
	var unchanged bool
	var t *Table
	rq := request{
		op: op, id: id, method: http.MethodGet, url: key.ident + "?snapshots=" + mode, missing: meta.ErrNoSuchTable, header: delegation(),
		decode: func(body []byte, h http.Header) (err error) {
			t, err = c.decodeTable(id, body)
			if err == nil {
				t.etag = h.Get("ETag")
			}
			return err
		},
	}
	if cached && old != nil && old.etag != "" && !old.creds.starving() {
		rq.header.Set("If-None-Match", old.etag)
		rq.notModified = &unchanged
	}
	if err := c.do(ctx, rq); err != nil {
		return nil, err
	}
	if unchanged {
		return old, nil
	}
	if t == nil {
		return nil, &meta.Error{Op: op, Ident: id, Err: fmt.Errorf("%w: an answer without a body", meta.ErrInvalidMetadata)}
	}
	c.remember(key, t)
	return t, nil
}

func delegation() http.Header {
	return http.Header{"X-Iceberg-Access-Delegation": {"vended-credentials"}}
}

// Load is LoadTable for callers that want the metadata alone.
func (c *Client) Load(ctx context.Context, id meta.Ident, allSnapshots bool) (*meta.Metadata, error) {
	t, err := c.LoadTable(ctx, id, allSnapshots)
	if err != nil {
		return nil, err
	}
	return t.Metadata, nil
}

// Credentials is that of the table as last loaded, created or committed by this client; nil if it has not been.
func (c *Client) Credentials(id meta.Ident) object.Credentials {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.mu.latest[c.paths.table(id)]; t != nil {
		return t.creds
	}
	return nil
}

func (c *Client) remembered(key tableKey) *Table {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.tables[key]
}

func (c *Client) remember(key tableKey, t *Table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.mu.tables[key]; !known && len(c.mu.tables) >= maxTables {
		for k := range c.mu.tables { // any will do: it costs one load without a validator
			delete(c.mu.tables, k)
			break
		}
	}
	c.mu.tables[key] = t
	c.noteLatest(key.ident, t)
}

// noteLatest needs the lock.
func (c *Client) noteLatest(ident string, t *Table) {
	if _, known := c.mu.latest[ident]; !known && len(c.mu.latest) >= 16*maxTables {
		for k := range c.mu.latest {
			delete(c.mu.latest, k)
			break
		}
	}
	// The keys alone are wanted; the metadata must not be kept alive by this map.
	c.mu.latest[ident] = &Table{Ident: t.Ident, Config: t.Config, client: c, creds: t.creds, auth: t.auth}
}

// loadAnswer is a LoadTableResult; metadata stays as it came.
type loadAnswer struct {
	location    string
	metadata    []byte
	config      map[string]string
	credentials []vended
}

type vended struct {
	Prefix string            `json:"prefix"`
	Config map[string]string `json:"config"`
}

func parseLoadAnswer(body []byte) (a loadAnswer, err error) {
	for m, err := range rawjson.Object(body) {
		if err != nil {
			return a, err
		}
		if rawjson.IsNull(m.Value) {
			continue
		}
		switch m.Key {
		case "metadata-location":
			err = json.Unmarshal(m.Value, &a.location)
		case "metadata":
			a.metadata = m.Value
		case "config":
			err = json.Unmarshal(m.Value, &a.config)
		case "storage-credentials":
			err = json.Unmarshal(m.Value, &a.credentials)
		}
		if err != nil {
			return a, fmt.Errorf("%s: %w", m.Key, err)
		}
	}
	if a.metadata == nil {
		return a, errors.New("the answer holds no metadata")
	}
	return a, nil
}

func (c *Client) decodeTable(id meta.Ident, body []byte) (*Table, error) {
	a, err := parseLoadAnswer(body)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(a.config[keyPlanningMode], "server") {
		return nil, &meta.UnsupportedError{
			Ability: "server-side scan planning", Where: "table " + id.String(),
			Hint: "the catalog demands it for this table (" + keyPlanningMode + "=server)",
		}
	}
	md, err := meta.Parse(a.metadata, a.location)
	if err != nil {
		return nil, err
	}
	t := &Table{Ident: id, Metadata: md, MetadataLocation: a.location, Config: maps.Clone(c.props), client: c}
	delete(t.Config, keyCredential) // what signs catalog requests is no business of the store
	maps.Copy(t.Config, a.config)
	if tok := a.config[keyToken]; tok != "" {
		t.auth = &tableToken{bearer: bearer{tok, "the table, sent by the catalog"}, fallback: c.auth}
	}
	t.creds = newTableCredentials(c, t, a)
	return t, nil
}

// tableToken is used for the requests of one table; refused, it gives way to the catalog's own authentication.
type tableToken struct {
	bearer
	fallback authenticator
}

func (t *tableToken) authorize(ctx context.Context, r *http.Request, stale string) (string, error) {
	if stale == "" {
		return t.bearer.authorize(ctx, r, "")
	}
	return t.fallback.authorize(ctx, r, "")
}

func (t *tableToken) renews() bool { return true }

// tableAuth is the authenticator of a table's later requests; nil = the catalog's.
func (c *Client) tableAuth(id meta.Ident) authenticator {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.mu.latest[c.paths.table(id)]; t != nil {
		return t.auth
	}
	return nil
}

// Post commits: body is a CommitTableRequest. A lost answer is meta.ErrCommitUnknown, a failed requirement meta.ErrConflict.
func (c *Client) Post(ctx context.Context, id meta.Ident, body []byte) (*meta.Metadata, error) {
	rq := request{
		op: "commit to table", id: id, method: http.MethodPost, url: c.paths.table(id), body: body, missing: meta.ErrNoSuchTable,
		auth: c.tableAuth(id),
	}
	return c.change(ctx, rq)
}

// Create makes a table: body is a CreateTableRequest, which may ask to be staged only.
func (c *Client) Create(ctx context.Context, namespace []string, name string, body []byte) (*meta.Metadata, error) {
	id := meta.Ident{Namespace: namespace, Name: name}
	rq := request{
		op: "create table", id: id, method: http.MethodPost, url: c.paths.endpoint("namespaces", c.paths.namespace(namespace), "tables"),
		body: body, missing: meta.ErrNoSuchNamespace, header: delegation(),
	}
	return c.change(ctx, rq)
}

func (c *Client) change(ctx context.Context, rq request) (*meta.Metadata, error) {
	if !c.paths.expressible(rq.id.Namespace) || len(rq.id.Namespace) == 0 || rq.id.Name == "" {
		return nil, &meta.Error{Op: rq.op, Ident: rq.id, Err: rq.missing}
	}
	rq.contentType, rq.commit = "application/json", true
	c.idempotent(&rq)
	var t *Table
	rq.decode = func(body []byte, _ http.Header) (err error) {
		t, err = c.decodeTable(rq.id, body)
		return err
	}
	if err := c.do(ctx, rq); err != nil {
		return nil, err
	}
	if t == nil {
		return nil, &meta.Error{Op: rq.op, Ident: rq.id, Err: fmt.Errorf("%w: an answer without a body", meta.ErrCommitUnknown)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.latest[c.paths.table(rq.id)] == nil { // a commit's answer brings no keys; a loaded table's stay
		c.noteLatest(c.paths.table(rq.id), t)
	}
	return t.Metadata, nil
}

// idempotent adds a key if the server honours them, so that the request may be repeated.
func (c *Client) idempotent(rq *request) {
	if c.props[keyIdempotency] == "" {
		return
	}
	if key, err := uuid.NewV7(); err == nil {
		rq.header = maps.Clone(rq.header)
		if rq.header == nil {
			rq.header = http.Header{}
		}
		rq.header.Set("Idempotency-Key", key.String())
	}
}

// Drop removes the table from the catalog; purge asks it to delete the files too. A table that is gone after a repeated
// request was dropped by the first.
func (c *Client) Drop(ctx context.Context, id meta.Ident, purge bool) error {
	if !c.paths.expressible(id.Namespace) || len(id.Namespace) == 0 || id.Name == "" {
		return &meta.Error{Op: "drop table", Ident: id, Err: meta.ErrNoSuchTable}
	}
	rq := request{
		op: "drop table", id: id, method: http.MethodDelete, safe: true, missing: meta.ErrNoSuchTable, auth: c.tableAuth(id),
		url: c.paths.table(id) + "?" + url.Values{"purgeRequested": {fmt.Sprint(purge)}}.Encode(),
	}
	c.idempotent(&rq)
	err := c.do(ctx, rq)
	if e, ok := errors.AsType[*meta.Error](err); ok && e.Attempts > 1 && errors.Is(err, meta.ErrNoSuchTable) {
		return nil
	}
	return err
}

// CreateNamespace makes a namespace.
func (c *Client) CreateNamespace(ctx context.Context, namespace []string, properties map[string]string) error {
	if properties == nil {
		properties = map[string]string{}
	}
	body, err := json.Marshal(map[string]any{"namespace": namespace, "properties": properties})
	if err != nil {
		return err
	}
	rq := request{
		op: "create namespace", id: meta.Ident{Namespace: slices.Clone(namespace)}, method: http.MethodPost, url: c.paths.endpoint("namespaces"),
		body: body, contentType: "application/json",
	}
	c.idempotent(&rq)
	return c.do(ctx, rq)
}

// NamespaceProperties loads a namespace's properties.
func (c *Client) NamespaceProperties(ctx context.Context, namespace []string) (map[string]string, error) {
	if !c.paths.expressible(namespace) || len(namespace) == 0 {
		return nil, &meta.Error{Op: "load namespace", Ident: meta.Ident{Namespace: namespace}, Err: meta.ErrNoSuchNamespace}
	}
	var a struct {
		Properties map[string]string `json:"properties"`
	}
	err := c.do(ctx, request{
		op: "load namespace", id: meta.Ident{Namespace: namespace}, method: http.MethodGet, missing: meta.ErrNoSuchNamespace,
		url:    c.paths.endpoint("namespaces", c.paths.namespace(namespace)),
		decode: func(body []byte, _ http.Header) error { return json.Unmarshal(body, &a) },
	})
	return a.Properties, err
}
