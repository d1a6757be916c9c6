package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/lakescan/lakescan/iceberg/meta"
)

// authenticator adds what proves the caller's identity to a request. It is safe for concurrent use and logs no secret.
type authenticator interface {
	// authorize signs r. stale is the token that the server has just refused, "" otherwise; used is the one put in.
	authorize(ctx context.Context, r *http.Request, stale string) (used string, err error)
	// renews says whether a refused request is worth one repeat.
	renews() bool
	// describe says which setting a refusal should make one look at.
	describe() string
}

// settleAuth chooses by the settings now in force. An OAuth2 token survives if nothing about it has changed.
func (c *Client) settleAuth() error {
	get := func(k string) string { return c.props[k] }
	kind := strings.ToLower(get(keyAuthType))
	if kind == "" {
		switch {
		case strings.EqualFold(get(keySigV4), "true"):
			kind = "sigv4"
		case get(keyCredential) != "":
			kind = "oauth2"
		case get(keyToken) != "":
			kind = "token"
		default:
			kind = "none"
		}
	}
	switch kind {
	case "none", "noop":
		c.auth = noAuth{}
	case "token", "bearer":
		c.auth = bearer{get(keyToken), c.origin(keyToken)}
	case "oauth2":
		if get(keyCredential) == "" && get(keyToken) != "" {
			c.auth = bearer{get(keyToken), c.origin(keyToken)}
			return nil
		}
		return c.settleOAuth()
	case "sigv4":
		c.auth = c.newSigV4()
	default:
		return &meta.Error{Op: "configure catalog", Err: &meta.UnsupportedError{
			Ability: fmt.Sprintf("authentication by %q", kind),
			Where:   keyAuthType, Hint: "none, token, oauth2 and sigv4 are known",
		}}
	}
	return nil
}

// origin names a setting and, if the caller knows, where it came from.
func (c *Client) origin(key string) string {
	if c.cfg.Origin != nil && c.props[key] == c.cfg.Properties[key] {
		if s := c.cfg.Origin(key); s != "" {
			return fmt.Sprintf("setting %s from %s", key, s)
		}
	}
	if c.props[key] != c.cfg.Properties[key] {
		return "setting " + key + " sent by the catalog"
	}
	return "setting " + key
}

type noAuth struct{}

func (noAuth) authorize(context.Context, *http.Request, string) (string, error) { return "", nil }
func (noAuth) renews() bool                                                     { return false }
func (noAuth) describe() string                                                 { return "no token or credential is set" }

// bearer is a token that somebody else renews.
type bearer struct{ token, origin string }

func (b bearer) authorize(_ context.Context, r *http.Request, _ string) (string, error) {
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.token, nil
}
func (bearer) renews() bool       { return false }
func (b bearer) describe() string { return "the token is that of " + b.origin }
