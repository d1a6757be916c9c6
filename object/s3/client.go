package s3

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lakescan/lakescan/object"
)

// maxClients bounds the clients kept; vended keys come and go, and a client is cheap to make again.
const maxClients = 64

// identity is what a client is bound to. Expires is left out: renewed keys differ anyway.
type identity struct {
	endpoint, region, keyID, secret, token string
	lookup                                 minio.BucketLookupType
}

type bucketAt struct{ endpoint, bucket string }

// clients caches minio clients and learnt regions.
type clients struct {
	mu struct {
		sync.Mutex
		byIdentity map[identity]minio.Core
		regions    map[bucketAt]string
	}
}

func (c *clients) init() {
	c.mu.byIdentity = map[identity]minio.Core{}
	c.mu.regions = map[bucketAt]string{}
}

// learn remembers the region of a bucket.
func (c *clients) learn(endpoint, bucket, region string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.regions[bucketAt{endpoint, bucket}] = region
}

// client finds or makes the client for an access to a bucket, and tells the region it signs for.
func (s *Store) client(a object.Access, bucket string) (minio.Core, string, error) {
	c := &s.clients
	id := identity{endpoint: a.Endpoint, keyID: a.KeyID, secret: a.Secret, token: a.Token, lookup: lookup(a)}
	if a.Anonymous {
		id.keyID, id.secret, id.token = "", "", ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id.region = c.mu.regions[bucketAt{a.Endpoint, bucket}]
	if id.region == "" {
		id.region = or(a.Region, s.cfg.DefaultRegion)
	}
	if core, ok := c.mu.byIdentity[id]; ok {
		return core, id.region, nil
	}
	core, err := s.newClient(id)
	if err != nil {
		return minio.Core{}, "", err
	}
	if len(c.mu.byIdentity) >= maxClients {
		for old := range c.mu.byIdentity { // any one
			delete(c.mu.byIdentity, old)
			break
		}
	}
	c.mu.byIdentity[id] = core
	return core, id.region, nil
}

func (s *Store) newClient(id identity) (minio.Core, error) {
	host, secure, err := parseEndpoint(id.endpoint)
	if err != nil {
		return minio.Core{}, err
	}
	c, err := minio.New(host, &minio.Options{
		Creds:        credentials.NewStaticV4(id.keyID, id.secret, id.token), // empty keys = unsigned
		Secure:       secure,
		Transport:    http.RoundTripper(&recorder{s}),
		Region:       id.region, // set, so that no GetBucketLocation is ever sent
		BucketLookup: id.lookup,
		MaxRetries:   1,
	})
	if err != nil {
		return minio.Core{}, fmt.Errorf("%w: endpoint %q: %w", object.ErrInvalid, id.endpoint, err)
	}
	c.SetS3EnableDualstack(false) // as the AWS tools do unless told otherwise
	if name, version, ok := strings.Cut(s.cfg.UserAgent, "/"); ok {
		c.SetAppInfo(name, version)
	}
	return minio.Core{Client: c}, nil
}

func lookup(a object.Access) minio.BucketLookupType {
	switch {
	case a.PathStyle:
		return minio.BucketLookupPath
	case a.VirtualHost:
		return minio.BucketLookupDNS
	}
	return minio.BucketLookupAuto
}

// parseEndpoint takes a URL, or host[:port] meaning https; "" is AWS.
func parseEndpoint(text string) (host string, secure bool, err error) {
	if text == "" {
		return "s3.amazonaws.com", true, nil
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", false, fmt.Errorf("%w: the endpoint cannot be parsed: %w", object.ErrInvalid, err)
	case u.User != nil:
		return "", false, fmt.Errorf("%w: endpoint %s names a user", object.ErrInvalid, u.Redacted())
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", false, fmt.Errorf("%w: endpoint %q: want http or https and a host", object.ErrInvalid, text)
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "", false, fmt.Errorf("%w: endpoint %q: a path or query cannot be part of an endpoint", object.ErrInvalid, text)
	}
	return u.Host, u.Scheme == "https", nil
}
