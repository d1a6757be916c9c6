package config

import (
	"slices"
	"strings"
)

// Entry is one line of `config show`.
type Entry struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // a secret is masked
	Origin string `json:"origin"`
	Note   string `json:"note,omitempty"` // why it has no effect
}

// Entries lists every value with its origin: settings, then the properties of every catalog, then what was ignored and why.
// With all, settings at their default are listed too.
func (c *Config) Entries(all bool) []Entry {
	var out []Entry
	for _, s := range settings {
		v := c.values[s.Key]
		if v.origin == "default" && (!all || v.text == "") || s.Key == KeyURI || s.Key == KeyWarehouse {
			continue
		}
		if s.secret {
			v.text = mask(v.text)
		}
		out = append(out, Entry{Key: s.Key, Value: strings.ReplaceAll(v.text, "\n", " "), Origin: v.origin})
	}
	out = append(out, c.awsEntries()...)
	for _, name := range sorted(c.catalogs) {
		for _, prop := range sorted(c.catalogs[name]) {
			v := c.catalogs[name][prop]
			if isSecret(prop) {
				v.text = maskProperty(prop, v.text)
			}
			out = append(out, Entry{Key: "catalog." + name + "." + prop, Value: v.text, Origin: v.origin})
		}
	}
	for _, e := range c.ignored {
		if isSecret(e.Key) {
			e.Value = mask(e.Value)
		}
		out = append(out, e)
	}
	return out
}

// secretWords mark properties whose values are secrets. A header may carry a token, whatever its name.
var secretWords = []string{"secret", "token", "credential", "password", "sas", "account-key", "header."}

// notSecret are properties that a word above catches wrongly.
var notSecret = []string{"token-refresh-enabled", "oauth2-server-uri", "token-expires-in-ms", "token-expires-at-ms", "credential-command", "credentials-endpoint", "credentials-enabled"}

func isSecret(prop string) bool {
	prop = strings.ToLower(prop)
	has := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(prop, w) })
	}
	return has(secretWords) && !has(notSecret)
}

// mask keeps the last four characters of a long secret, which tell two of them apart.
func mask(s string) string {
	switch {
	case s == "":
		return ""
	case len(s) < 16:
		return "****"
	}
	return "****" + s[len(s)-4:]
}

// maskProperty keeps the client id of a credential.
func maskProperty(prop, s string) string {
	if id, secret, ok := strings.Cut(s, ":"); ok && strings.HasSuffix(prop, "credential") {
		return id + ":" + mask(secret)
	}
	return mask(s)
}

// Secrets are the texts that must not be printed.
func (c *Config) Secrets() []string {
	var out []string
	for _, s := range settings {
		if s.secret && c.Text(s.Key) != "" {
			out = append(out, c.Text(s.Key))
		}
	}
	for _, props := range c.catalogs {
		for prop, v := range props {
			if !isSecret(prop) {
				continue
			}
			out = append(out, v.text)
			if _, secret, ok := strings.Cut(v.text, ":"); ok && strings.HasSuffix(prop, "credential") {
				out = append(out, secret)
			}
		}
	}
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		if c.env[name] != "" {
			out = append(out, c.env[name])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// KeysOrigin says where the S3 keys come from that a store is asked with, unless the catalog gives out others; "" if it is asked
// without keys.
func (c *Config) KeysOrigin() string {
	name := strings.ToLower(c.Text(KeyCatalog))
	switch {
	case c.Bool(KeyAnonymous):
		return ""
	case c.Text(KeyAccessKey) != "":
		return KeyAccessKey + " (" + c.Origin(KeyAccessKey) + ")"
	}
	for _, prop := range []string{"s3.access-key-id", "client.access-key-id"} {
		if v := c.catalogs[name][prop]; v.text != "" {
			return "catalog." + name + "." + prop + " (" + v.origin + ")"
		}
	}
	switch {
	case c.Text(KeyCommand) != "":
		return "the credential command (" + c.Origin(KeyCommand) + ")"
	case c.Text(KeyProfile) != "":
		return "the AWS profile " + c.Text(KeyProfile) + " (" + c.Origin(KeyProfile) + ")"
	case c.env["AWS_ACCESS_KEY_ID"] != "":
		return "AWS_ACCESS_KEY_ID"
	case c.env["AWS_PROFILE"] != "":
		return "AWS_PROFILE=" + c.env["AWS_PROFILE"]
	}
	if o := c.shared.Origin(); o != "" {
		return "the AWS configuration (" + o + ")"
	}
	return "the catalog, or else the shared AWS configuration"
}

// AddressOrigin says which setting holds the address of the default catalog, or of the store.
func (c *Config) AddressOrigin(store bool) string {
	name := strings.ToLower(c.Text(KeyCatalog))
	if !store {
		if v := c.catalogs[name][KeyURI]; v.text != "" {
			return "catalog." + name + ".uri (" + v.origin + ")"
		}
		return "no catalog address is set (--uri)"
	}
	if v := c.values[KeyEndpoint]; v.text != "" {
		return KeyEndpoint + " (" + v.origin + ")"
	}
	if v := c.catalogs[name][KeyEndpoint]; v.text != "" {
		return "catalog." + name + ".s3.endpoint (" + v.origin + ")"
	}
	for _, e := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		if c.env[e] != "" {
			return e
		}
	}
	return "the catalog, or AWS"
}
