package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lakescan/lakescan/iceberg/meta"
)

// Properties that this package reads. All others are kept for the caller.
const (
	keyURI             = "uri"
	keyWarehouse       = "warehouse"
	keyPrefix          = "prefix"
	keySeparator       = "namespace-separator"
	keyToken           = "token"
	keyCredential      = "credential"
	keyScope           = "scope"
	keyAudience        = "audience"
	keyResource        = "resource"
	keyAuthURI         = "oauth2-server-uri"
	keyAuthType        = "rest.auth.type"
	keySigV4           = "rest.sigv4-enabled"
	keySigningRegion   = "rest.signing-region"
	keySigningName     = "rest.signing-name"
	keySigningKey      = "rest.access-key-id"
	keySigningSecret   = "rest.secret-access-key"
	keySigningToken    = "rest.session-token"
	keyPlanningMode    = "scan-planning-mode"
	keyIdempotency     = "idempotency-key-lifetime"
	keyRefreshEndpoint = "client.refresh-credentials-endpoint"
	keyRefreshEnabled  = "client.refresh-credentials-enabled"
	keyRemoteSigning   = "s3.remote-signing-enabled"
	headerPropPrefix   = "header."
)

// Config of one catalog.
type Config struct {
	// URI is the catalog's address, without /v1.
	URI string
	// Warehouse is sent with the configuration request; empty = not sent.
	Warehouse string
	// Properties are the client's settings, named as in the Java and Python clients: token, credential, scope, audience,
	// resource, oauth2-server-uri, header.NAME, rest.*, s3.*, client.*. The catalog's defaults yield to them, its overrides
	// beat them.
	Properties map[string]string
	// Origin says where a setting came from, for error texts; nil = only its name is given.
	Origin func(key string) string

	// Transport carries all requests of the client; it should limit connecting and waiting for headers, and may unpack
	// answers. nil = one with the standard limits (object/transport). The caller closes a transport of its own.
	Transport http.RoundTripper
	IdleBody  time.Duration // without a byte of an answer's body; 0 = 10 s
	// Keys gives the keys that sign requests under SigV4 when no rest.* property does; nil = none.
	Keys func(ctx context.Context) (keyID, secret, token string, err error)
	// OwnS3Keys says that the caller has storage keys of its own, so that a catalog that offers remote signing alone can be read.
	OwnS3Keys bool

	MaxBody  int64 // largest answer; 0 = 256 MiB
	Attempts int   // of a request that may be repeated; 0 = 5
	PageSize int   // of listings; 0 = 1000
	Logger   *slog.Logger
}

// Validate reports all faults at once.
func (c Config) Validate() error {
	var errs []error
	u, err := url.Parse(c.URI)
	switch {
	case c.URI == "":
		errs = append(errs, errors.New("no catalog address (uri)"))
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		errs = append(errs, fmt.Errorf("catalog address (uri) %q: want http://host or https://host", redactURL(c.URI)))
	case u.User != nil:
		errs = append(errs, errors.New("catalog address (uri): holds a user name; use token or credential"))
	}
	if c.MaxBody < 0 || c.Attempts < 0 || c.PageSize < 0 || c.IdleBody < 0 {
		errs = append(errs, errors.New("negative limit"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("rest catalog: %w", err)
	}
	return nil
}

// redactURL drops what may be a secret in an address.
func redactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil && !strings.Contains(s, "://") { // host:port
		u, err = url.Parse("//" + s)
	}
	if err != nil {
		return "(malformed)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return strings.TrimPrefix(u.String(), "//")
}

func (c Config) withDefaults() Config {
	if c.MaxBody == 0 {
		c.MaxBody = 256 << 20
	}
	if c.Attempts == 0 {
		c.Attempts = 5
	}
	if c.PageSize == 0 {
		c.PageSize = 1000
	}
	if c.IdleBody == 0 {
		c.IdleBody = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Properties = maps.Clone(c.Properties)
	if c.Properties == nil {
		c.Properties = map[string]string{}
	}
	c.Properties[keyURI] = c.URI
	if c.Warehouse != "" {
		c.Properties[keyWarehouse] = c.Warehouse
	}
	return c
}

// configAnswer of GET /v1/config. A null value takes the key out of what came before.
type configAnswer struct {
	Defaults  map[string]*string `json:"defaults"`
	Overrides map[string]*string `json:"overrides"`
	Endpoints []string           `json:"endpoints"`
	// Lifetime of idempotency keys, as ISO 8601; its presence says that they are honoured.
	Idempotency string `json:"idempotency-key-lifetime"`
}

// merge is defaults < client < overrides (REST specification, CatalogConfig).
func (a configAnswer) merge(client map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range a.Defaults {
		if v != nil {
			out[k] = *v
		}
	}
	maps.Copy(out, client)
	for k, v := range a.Overrides {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = *v
		}
	}
	if a.Idempotency != "" {
		out[keyIdempotency] = a.Idempotency
	}
	return out
}

// endpoints is the set of calls that a server offers; nil = it did not say, and the specification's default set holds.
type endpoints map[string]bool

const (
	routeCredentials = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"
	routeTableExists = "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}"
)

func (a configAnswer) endpoints() endpoints {
	if a.Endpoints == nil {
		return nil
	}
	e := endpoints{}
	for _, s := range a.Endpoints {
		e[strings.Join(strings.Fields(s), " ")] = true
	}
	return e
}

// offers says whether an optional call may be made. The default set holds neither of those asked about here.
func (e endpoints) offers(route string) bool { return e[route] }

// Open asks for the configuration, once. The client must be closed.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	c, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	if err := c.configure(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// configure makes the request with the client's own settings, then settles address, paths and authentication anew.
func (c *Client) configure(ctx context.Context) error {
	u := c.paths.base + "/v1/config"
	if c.cfg.Warehouse != "" {
		u += "?" + url.Values{"warehouse": {c.cfg.Warehouse}}.Encode()
	}
	var a configAnswer
	err := c.do(ctx, request{
		op: "configure catalog " + redactURL(c.cfg.URI), method: http.MethodGet, url: u, missing: meta.ErrNoSuchWarehouse,
		decode: func(body []byte, _ http.Header) error { return json.Unmarshal(body, &a) },
	})
	if err != nil {
		if strings.HasSuffix(strings.TrimRight(c.cfg.URI, "/"), "/v1") {
			err = fmt.Errorf("%w: the catalog's address (uri) ends before its /v1", err)
		}
		return err
	}
	c.props = a.merge(c.cfg.Properties)
	c.offered = a.endpoints()
	c.paths = newPaths(c.props[keyURI], c.props[keyPrefix], c.props[keySeparator])
	if _, err := url.Parse(c.paths.base); err != nil {
		return &meta.Error{Op: "configure catalog", Err: fmt.Errorf("%w: the catalog's uri is malformed", meta.ErrInvalidMetadata)}
	}
	return c.settleAuth()
}

// Properties are the merged settings, unknown ones included; the map is the caller's.
func (c *Client) Properties() map[string]string { return maps.Clone(c.props) }

// now is time.Now; virtual under testing/synctest.
func now() time.Time { return time.Now() }
