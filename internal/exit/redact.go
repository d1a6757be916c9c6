package exit

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Redactor removes secrets from texts. The zero value knows only the shapes of signed addresses; nil is allowed.
type Redactor struct {
	mu struct {
		sync.RWMutex
		secrets []string
	}
}

// shapes are secrets that travel in addresses: signatures, session tokens, passwords.
var shapes = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`(?i)(X-Amz-(?:Signature|Credential|Security-Token)=)[^&\s"']+`), "${1}****"},
	{regexp.MustCompile(`(?i)((?:AWSAccessKeyId|Signature|access_token|client_secret|refresh_token)=)[^&\s"']+`), "${1}****"},
	{regexp.MustCompile(`(?i)(\b(?:Bearer|Basic) +)[A-Za-z0-9._~+/=-]{8,}`), "${1}****"},
	{regexp.MustCompile(`(://[^/\s:@]+:)[^/\s@]+@`), "${1}****@"},
}

// minSecret is the length under which a secret is not searched for: it would black out ordinary words.
const minSecret = 6

// Add makes Clean remove these texts wherever they stand.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		if len(s) >= minSecret && !slices.Contains(r.mu.secrets, s) {
			r.mu.secrets = append(r.mu.secrets, s)
		}
	}
	// Longest first: a secret may hold another one.
	slices.SortFunc(r.mu.secrets, func(a, b string) int { return len(b) - len(a) })
}

// Clean returns s without secrets and without what could drive a terminal.
func (r *Redactor) Clean(s string) string {
	if r != nil {
		r.mu.RLock()
		for _, secret := range r.mu.secrets {
			s = strings.ReplaceAll(s, secret, "****")
		}
		r.mu.RUnlock()
	}
	for _, x := range shapes {
		s = x.find.ReplaceAllString(s, x.put)
	}
	return visible(s)
}
