package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
)

// tableCredentials answers for the files of one table, from three levels: the vended entry whose prefix names the file, the
// table's configuration, the catalog's merged settings. It implements object.Credentials.
type tableCredentials struct {
	client *Client
	ident  meta.Ident
	auth   authenticator
	sets   renewer[*credentialSet]
}

// credentialSet is what one answer of the catalog vended. It is immutable.
type credentialSet struct {
	entries []vended
	config  map[string]string // of the table
}

func newTableCredentials(c *Client, t *Table, a loadAnswer) *tableCredentials {
	tc := &tableCredentials{client: c, ident: t.Ident, auth: t.auth}
	tc.sets = renewer[*credentialSet]{flights: &c.flights, fetch: tc.fetch, margin: keyMargin, onError: func(err error) {
		c.cfg.Logger.Warn("renewing storage keys failed; the old ones still serve", "table", t.Ident.String(), "err", err)
	}}
	set := &credentialSet{entries: a.credentials, config: a.config}
	tc.sets.set(set, set.expires())
	return tc
}

// keyMargin: renew when less than this remains.
func keyMargin(life time.Duration) time.Duration { return min(5*time.Minute, life/2) }

const keyExpiresAt = "s3.session-token-expires-at-ms"

// expires is the first end of any key of the set; zero = none is known.
func (s *credentialSet) expires() time.Time {
	first := expiry(s.config)
	for _, e := range s.entries {
		if t := expiry(e.Config); !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

func expiry(config map[string]string) time.Time {
	ms, err := strconv.ParseInt(config[keyExpiresAt], 10, 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// choose returns the entry with the longest prefix that names the location; nil if none does.
func (s *credentialSet) choose(location string) map[string]string {
	var best map[string]string
	longest := -1
	loc := foldScheme(location)
	for _, e := range s.entries {
		p := foldScheme(e.Prefix)
		if len(p) > longest && covers(p, loc) {
			best, longest = e.Config, len(p)
		}
	}
	return best
}

// covers: the prefix ends where a part of the location does, or it is no more than a scheme.
func covers(prefix, loc string) bool {
	if !strings.HasPrefix(loc, prefix) {
		return false
	}
	return len(prefix) == len(loc) || prefix == "" || strings.HasSuffix(prefix, "/") || loc[len(prefix)] == '/' ||
		strings.HasPrefix(loc[len(prefix):], "://")
}

// foldScheme: s3a and s3n open the same objects as s3.
func foldScheme(loc string) string {
	for _, s := range []string{"s3a", "s3n"} {
		if rest, ok := strings.CutPrefix(loc, s); ok && (rest == "" || strings.HasPrefix(rest, ":")) {
			return "s3" + rest
		}
	}
	return loc
}

// Access answers with the keys for a location. stale is what the store was just refused with: equal keys force one renewal.
func (tc *tableCredentials) Access(ctx context.Context, loc object.Location, stale object.Access) (object.Access, error) {
	set, err := tc.sets.get(ctx, nil)
	if err != nil {
		return object.Access{}, tc.fail(err)
	}
	a, err := tc.access(set, loc)
	if err != nil || stale.KeyID == "" || !sameKeys(a, stale) {
		return a, err
	}
	if set, err = tc.sets.get(ctx, set); err != nil {
		return object.Access{}, tc.fail(err)
	}
	return tc.access(set, loc)
}

// Settings tells endpoint, region and style without waiting for keys.
func (tc *tableCredentials) Settings(_ context.Context, loc object.Location) (object.Access, error) {
	tc.sets.mu.Lock()
	set := tc.sets.mu.value
	tc.sets.mu.Unlock()
	a := resolveAccess(tc.levels(set, loc))
	return object.Access{Endpoint: a.Endpoint, Region: a.Region, PathStyle: a.PathStyle, VirtualHost: a.VirtualHost}, nil
}

func sameKeys(a, b object.Access) bool {
	return a.KeyID == b.KeyID && a.Secret == b.Secret && a.Token == b.Token
}

func (tc *tableCredentials) fail(err error) error {
	return fmt.Errorf("storage keys of table %s: %w", tc.ident, err)
}

func (tc *tableCredentials) access(set *credentialSet, loc object.Location) (object.Access, error) {
	levels := tc.levels(set, loc)
	a := resolveAccess(levels)
	if a.KeyID == "" && !a.Anonymous && !tc.client.cfg.OwnS3Keys && strings.EqualFold(first(levels, keyRemoteSigning), "true") {
		return a, &meta.UnsupportedError{
			Ability: "S3 remote signing", Where: loc.Recorded,
			Hint: "let the catalog vend credentials, or give storage keys of your own",
		}
	}
	return a, nil
}

// levels, highest first.
func (tc *tableCredentials) levels(set *credentialSet, loc object.Location) []map[string]string {
	return []map[string]string{set.choose(loc.Recorded), set.config, tc.client.props}
}

// resolveAccess takes each setting from the highest level that has it; the three of a key, or the wish to send none, belong
// together. Inside one level s3.* beats client.*.
func resolveAccess(levels []map[string]string) object.Access {
	a := object.Access{Endpoint: first(levels, "s3.endpoint"), Region: first(levels, "s3.region", "client.region")}
	for _, l := range levels { // the Java name and the Python one, whose senses are opposite
		if v := l["s3.path-style-access"]; v != "" {
			a.PathStyle = strings.EqualFold(v, "true")
			a.VirtualHost = !a.PathStyle
			break
		}
		if v := l["s3.force-virtual-addressing"]; v != "" {
			a.VirtualHost = strings.EqualFold(v, "true")
			a.PathStyle = !a.VirtualHost
			break
		}
	}
	for _, l := range levels {
		if strings.EqualFold(l["s3.anonymous"], "true") {
			a.Anonymous = true
			return a
		}
		for _, p := range []string{"s3.", "client."} {
			if id := l[p+"access-key-id"]; id != "" {
				a.KeyID, a.Secret, a.Token = id, l[p+"secret-access-key"], l[p+"session-token"]
				a.Expires = expiry(l)
				return a
			}
		}
	}
	return a
}

func first(levels []map[string]string, keys ...string) string {
	for _, l := range levels {
		for _, k := range keys {
			if v := l[k]; v != "" {
				return v
			}
		}
	}
	return ""
}

// endpoint for renewals; "" = the table must be loaded again.
func (tc *tableCredentials) endpoint(set *credentialSet) string {
	c := tc.client
	if e := first([]map[string]string{set.config, c.props}, keyRefreshEndpoint); e != "" {
		if u, err := url.Parse(e); err == nil && u.IsAbs() {
			return e
		}
		return c.paths.base + "/" + strings.TrimLeft(e, "/")
	}
	if c.offered.offers(routeCredentials) {
		return c.paths.table(tc.ident, "credentials")
	}
	return ""
}

// starving: the keys near their end, and only a full load brings new ones.
func (tc *tableCredentials) starving() bool {
	tc.sets.mu.Lock()
	defer tc.sets.mu.Unlock()
	return tc.sets.due(now()) && tc.endpoint(tc.sets.mu.value) == ""
}

func (tc *tableCredentials) fetch(ctx context.Context) (*credentialSet, time.Time, error) {
	tc.sets.mu.Lock()
	old := tc.sets.mu.value
	tc.sets.mu.Unlock()
	next, err := tc.ask(ctx, old)
	if err != nil {
		return nil, time.Time{}, err
	}
	if len(next.entries) == 0 && resolveAccess([]map[string]string{next.config}).KeyID == "" {
		return nil, time.Time{}, &meta.Error{Op: "renew storage keys", Ident: tc.ident, Err: fmt.Errorf("%w: the catalog vends no keys any more", meta.ErrDenied)}
	}
	if reflect.DeepEqual(old, next) {
		next = old
	}
	return next, next.expires(), nil
}

func (tc *tableCredentials) ask(ctx context.Context, old *credentialSet) (*credentialSet, error) {
	c := tc.client
	where := tc.endpoint(old)
	if where == "" {
		t, err := c.load(ctx, tc.ident, snapshotsRefs, false)
		if err != nil {
			return nil, err
		}
		t.creds.sets.mu.Lock()
		defer t.creds.sets.mu.Unlock()
		return t.creds.sets.mu.value, nil
	}
	var a struct {
		Credentials []vended `json:"storage-credentials"`
	}
	err := c.do(ctx, request{
		op: "renew storage keys", id: tc.ident, method: http.MethodGet, url: where, header: delegation(),
		auth: tc.auth, missing: meta.ErrNoSuchTable, decode: func(body []byte, _ http.Header) error { return json.Unmarshal(body, &a) },
	})
	if err != nil {
		return nil, err
	}
	// Keys in the table's configuration came with a load; those of this answer replace them.
	config := maps.Clone(old.config)
	for _, k := range []string{"s3.access-key-id", "s3.secret-access-key", "s3.session-token", keyExpiresAt} {
		delete(config, k)
	}
	return &credentialSet{entries: a.Credentials, config: config}, nil
}
