package fakerest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Config chooses the catalog's behaviour; the zero value is an open catalog without paging limits.
type Config struct {
	Warehouse string            // root of table locations; "" = s3://warehouse
	Prefix    string            // path prefix of all routes but config and tokens, sent as an override
	Separator string            // of namespace parts, URL-encoded, sent as an override; "" = %1F, not sent
	Defaults  map[string]string // of the config answer
	Overrides map[string]string
	Endpoints []string // of the config answer; nil = not sent
	PageSize  int      // most items of a page; 0 = what the client asks for

	Token string // accepted bearer token; "" and no OAuth = everybody may call
	OAuth *OAuth

	NoETag              bool
	NoStaging           bool   // refuse stage-create
	IdempotencyLifetime string // ISO 8601, sent with the config; "" = keys are ignored

	// Vend gives the storage credentials of a load, create or credentials call; nil = none.
	Vend func(namespace []string, table string) []Credential
	// TableConfig is the config of a load answer; nil = empty.
	TableConfig func(namespace []string, table string) map[string]string
	// Before sees every request first; a non-nil answer is sent instead of the catalog's.
	Before func(r *http.Request) *Answer
	// After sees every answer of the catalog; a non-nil one is sent instead, so that what was done is not told.
	After func(r *http.Request, status int) *Answer
	// Write stores each new metadata document; an error fails the request.
	Write func(ctx context.Context, location string, document []byte) error
}

// OAuth is the client-credentials token route, POST /v1/oauth/tokens.
type OAuth struct {
	ClientID, Secret string
	Lifetime         time.Duration
	NoExpiresIn      bool // leave out expires_in
	JWT              bool // tokens carry their end as the exp claim
}

// Credential is one entry of storage-credentials.
type Credential struct {
	Prefix string            `json:"prefix"`
	Config map[string]string `json:"config"`
}

// Answer of a hook: after Delay, the status, header and body.
type Answer struct {
	Delay  time.Duration
	Status int // 0 = only delay, then the catalog's answer
	Header http.Header
	Body   string
}

// Request is one line of the log.
type Request struct {
	Method, Path string // Path as sent, encoded
	Query        url.Values
	Header       http.Header
	Form         url.Values // of the token route
	Body         string
	Status       int
}

// Server is the handler.
type Server struct {
	cfg Config
	mu  struct {
		sync.Mutex
		namespaces map[string]*namespace // by parts joined with \x00
		tokens     map[string]time.Time  // live until
		replies    map[string]reply      // by idempotency key
		log        []Request
		last       time.Time // of last-updated-ms
	}
}

type namespace struct {
	parts      []string
	properties map[string]string
	tables     map[string]*table
}

type table struct {
	location string // of the metadata document
	document []byte
	version  int
}

type reply struct {
	status int
	body   []byte
	header http.Header
}

// New makes an empty catalog.
func New(cfg Config) *Server {
	if cfg.Warehouse == "" {
		cfg.Warehouse = "s3://warehouse"
	}
	s := &Server{cfg: cfg}
	s.mu.namespaces = map[string]*namespace{}
	s.mu.tokens = map[string]time.Time{}
	s.mu.replies = map[string]reply{}
	return s
}

// Log returns the requests so far.
func (s *Server) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.log)
}

// Count returns how many requests so far had the method and a path that holds part.
func (s *Server) Count(method, part string) int {
	n := 0
	for _, r := range s.Log() {
		if r.Method == method && strings.Contains(r.Path, part) {
			n++
		}
	}
	return n
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	form := url.Values{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, _ = url.ParseQuery(string(body))
	}
	s.mu.Lock()
	at := len(s.mu.log)
	s.mu.log = append(s.mu.log, Request{r.Method, r.URL.EscapedPath(), r.URL.Query(), r.Header.Clone(), form, string(body), 0})
	s.mu.Unlock()

	rep := s.answer(r, body, form)
	if s.cfg.After != nil {
		if a := s.cfg.After(r, rep.status); a != nil {
			rep = reply{a.Status, []byte(a.Body), a.Header.Clone()}
		}
	}
	s.mu.Lock()
	s.mu.log[at].Status = rep.status
	s.mu.Unlock()
	if rep.status == 0 { // the client is gone
		return
	}
	maps.Copy(w.Header(), rep.header)
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(rep.status)
	if r.Method != http.MethodHead {
		w.Write(rep.body)
	}
}

func (s *Server) answer(r *http.Request, body []byte, form url.Values) reply {
	if s.cfg.Before != nil {
		if a := s.cfg.Before(r); a != nil {
			if a.Delay > 0 {
				t := time.NewTimer(a.Delay)
				defer t.Stop()
				select {
				case <-t.C:
				case <-r.Context().Done():
					return reply{}
				}
			}
			if a.Status != 0 {
				return reply{a.Status, []byte(a.Body), a.Header.Clone()}
			}
		}
	}
	path := r.URL.EscapedPath()
	if path == "/v1/oauth/tokens" {
		return s.token(r, form)
	}
	if !s.authorized(r) {
		return fail(401, "NotAuthorizedException", "the token is missing, wrong or has ended")
	}
	if path == "/v1/config" {
		return s.config()
	}
	rest, ok := strings.CutPrefix(path, "/v1/")
	if ok && s.cfg.Prefix != "" {
		rest, ok = strings.CutPrefix(rest, s.cfg.Prefix+"/")
	}
	if !ok {
		return fail(404, "NotFoundException", "no route for %s", path)
	}
	c := call{s: s, r: r, body: body, parts: strings.Split(rest, "/")}
	if key := r.Header.Get("Idempotency-Key"); key != "" && s.cfg.IdempotencyLifetime != "" && r.Method != http.MethodGet {
		return s.once(key, c)
	}
	return c.route()
}

// once repeats the reply of an idempotency key that has been answered.
func (s *Server) once(key string, c call) reply {
	s.mu.Lock()
	rep, seen := s.mu.replies[key]
	s.mu.Unlock()
	if seen {
		return rep
	}
	rep = c.route()
	if rep.status < 500 {
		s.mu.Lock()
		s.mu.replies[key] = rep
		s.mu.Unlock()
	}
	return rep
}

func (s *Server) config() reply {
	overrides := maps.Clone(s.cfg.Overrides)
	if overrides == nil {
		overrides = map[string]string{}
	}
	if s.cfg.Prefix != "" {
		overrides["prefix"] = s.cfg.Prefix
	}
	if s.cfg.Separator != "" {
		overrides["namespace-separator"] = s.cfg.Separator
	}
	defaults := s.cfg.Defaults
	if defaults == nil {
		defaults = map[string]string{}
	}
	doc := map[string]any{"defaults": defaults, "overrides": overrides}
	if s.cfg.Endpoints != nil {
		doc["endpoints"] = s.cfg.Endpoints
	}
	if s.cfg.IdempotencyLifetime != "" {
		doc["idempotency-key-lifetime"] = s.cfg.IdempotencyLifetime
	}
	return ok(doc)
}

func (s *Server) authorized(r *http.Request) bool {
	if s.cfg.Token == "" && s.cfg.OAuth == nil {
		return true
	}
	t, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		return false
	}
	if s.cfg.Token != "" && t == s.cfg.Token {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	until, known := s.mu.tokens[t]
	return known && time.Now().Before(until)
}

// Revoke ends all tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.mu.tokens)
}

func (s *Server) token(r *http.Request, form url.Values) reply {
	oauthError := func(status int, code, text string) reply {
		return jsonReply(status, map[string]string{"error": code, "error_description": text})
	}
	o := s.cfg.OAuth
	switch {
	case o == nil || r.Method != http.MethodPost:
		return fail(404, "NotFoundException", "no token route")
	case form.Get("grant_type") != "client_credentials":
		return oauthError(400, "unsupported_grant_type", "only client_credentials")
	case form.Get("client_id") != o.ClientID || form.Get("client_secret") != o.Secret:
		return oauthError(401, "invalid_client", "wrong id or secret")
	}
	end := time.Now().Add(o.Lifetime)
	t := randomHex(16)
	if o.JWT {
		enc := base64.RawURLEncoding.EncodeToString
		t = enc([]byte(`{"alg":"none"}`)) + "." + enc(fmt.Appendf(nil, `{"exp":%d,"jti":%q}`, end.Unix(), t)) + "." + enc([]byte("sig"))
	}
	s.mu.Lock()
	s.mu.tokens[t] = end
	s.mu.Unlock()
	doc := map[string]any{"access_token": t, "token_type": "bearer", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
	if !o.NoExpiresIn {
		doc["expires_in"] = o.Lifetime.Seconds()
	}
	return ok(doc)
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func newUUID() string {
	h := randomHex(16)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:]
}

func ok(doc any) reply { return jsonReply(200, doc) }

func jsonReply(status int, doc any) reply {
	b, err := json.Marshal(doc)
	if err != nil {
		return fail(500, "InternalServerError", "%v", err)
	}
	return reply{status: status, body: b, header: http.Header{}}
}

// fail is an ErrorModel.
func fail(status int, errorType, format string, args ...any) reply {
	return jsonReply(status, map[string]any{"error": map[string]any{"message": fmt.Sprintf(format, args...), "type": errorType, "code": status}})
}
