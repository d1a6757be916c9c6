package rest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lakescan/lakescan/iceberg/meta"
)

// oauth fetches tokens by the client-credentials grant (RFC 6749, section 4.4) and renews them by the same.
type oauth struct {
	c        *Client
	settings oauthSettings
	origin   string
	tokens   renewer[string]
}

type oauthSettings struct {
	url, id, secret, scope, audience, resource string
}

func (c *Client) settleOAuth() error {
	s := oauthSettings{scope: c.props[keyScope], audience: c.props[keyAudience], resource: c.props[keyResource], url: c.props[keyAuthURI]}
	if s.scope == "" {
		s.scope = "catalog"
	}
	// The first colon parts the two: secrets hold colons, ids do not.
	if id, secret, ok := strings.Cut(c.props[keyCredential], ":"); ok {
		s.id, s.secret = id, secret
	} else {
		s.secret = c.props[keyCredential]
	}
	if s.url == "" {
		s.url = c.paths.base + "/v1/oauth/tokens"
		c.warnOnce("the catalog's own token address is deprecated by the REST specification: set oauth2-server-uri")
	} else if u, err := url.Parse(s.url); err != nil || !u.IsAbs() {
		s.url = c.paths.base + "/" + strings.TrimLeft(s.url, "/")
	}
	if old, ok := c.auth.(*oauth); ok && old.settings == s {
		return nil
	}
	o := &oauth{c: c, settings: s, origin: c.origin(keyCredential)}
	o.tokens = renewer[string]{
		flights: &c.flights, fetch: o.fetch, margin: tokenMargin,
		onError: func(err error) {
			c.cfg.Logger.Warn("renewing the catalog token failed; the old one still serves", "err", err)
		},
	}
	if t := c.props[keyToken]; t != "" { // a first token beside the credential, as the Java client takes it
		o.tokens.set(t, jwtExpiry(t))
	}
	c.auth = o
	return nil
}

// tokenMargin: renew when less than this remains.
func tokenMargin(life time.Duration) time.Duration { return min(60*time.Second, life/5) }

func (o *oauth) authorize(ctx context.Context, r *http.Request, stale string) (string, error) {
	t, err := o.tokens.get(ctx, stale)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+t)
	return t, nil
}

func (*oauth) renews() bool       { return true }
func (o *oauth) describe() string { return "the token was fetched with " + o.origin }

// fetch asks the authorization server. A repeat is harmless, so it is retried like a read.
func (o *oauth) fetch(ctx context.Context) (token string, expires time.Time, err error) {
	form := url.Values{"grant_type": {"client_credentials"}, "client_secret": {o.settings.secret}, "scope": {o.settings.scope}}
	for k, v := range map[string]string{"client_id": o.settings.id, "audience": o.settings.audience, "resource": o.settings.resource} {
		if v != "" {
			form.Set(k, v)
		}
	}
	asked := now()
	err = o.c.do(ctx, request{
		op: "fetch token from " + redactURL(o.settings.url), method: http.MethodPost, url: o.settings.url,
		body: []byte(form.Encode()), contentType: "application/x-www-form-urlencoded", auth: tokenRequest{o.origin}, safe: true, missing: meta.ErrDenied,
		decode: func(body []byte, _ http.Header) error {
			token, expires, err = parseToken(body, asked)
			return err
		},
	})
	if e, ok := errors.AsType[*meta.Error](err); ok && e.Status == http.StatusBadRequest { // invalid_client, invalid_scope, …
		e.Err = fmt.Errorf("%w: %w (%s)", meta.ErrDenied, e.Err, o.origin)
	}
	return token, expires, err
}

// tokenRequest carries no token: the form holds the secret.
type tokenRequest struct{ origin string }

func (tokenRequest) authorize(context.Context, *http.Request, string) (string, error) { return "", nil }

func (tokenRequest) renews() bool { return false }

func (t tokenRequest) describe() string { return "the secret is that of " + t.origin }

func parseToken(body []byte, asked time.Time) (string, time.Time, error) {
	var a struct {
		Token     string   `json:"access_token"`
		Type      string   `json:"token_type"`
		ExpiresIn *float64 `json:"expires_in"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return "", time.Time{}, errors.New("malformed token answer")
	}
	if a.Token == "" {
		return "", time.Time{}, errors.New("the token answer holds no access_token")
	}
	if !strings.EqualFold(a.Type, "bearer") && !strings.EqualFold(a.Type, "n_a") && a.Type != "" {
		return "", time.Time{}, fmt.Errorf("token type %q is not bearer", clean(a.Type, 32))
	}
	if a.ExpiresIn != nil && *a.ExpiresIn > 0 && *a.ExpiresIn < math.MaxInt32 {
		return a.Token, asked.Add(time.Duration(*a.ExpiresIn * float64(time.Second))), nil
	}
	return a.Token, jwtExpiry(a.Token), nil
}

// jwtExpiry reads the exp claim of a token that is a JWT (RFC 7519); zero = not known. The signature is the server's matter.
func jwtExpiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return time.Time{}
	}
	var c struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(claims, &c) != nil || c.Exp <= 0 || c.Exp > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(c.Exp), 0)
}
