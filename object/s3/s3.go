package s3

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/transport"
)

// Config of a Store; the zero value reads public buckets of AWS.
type Config struct {
	// Credentials are asked before every request; nil = anonymous. object.Layered puts several sources in order.
	Credentials object.Credentials
	// Transport carries the requests; nil = the Store makes one with default settings, and Close ends it.
	Transport *http.Transport
	// Wrap, if set, goes around the transports: fault injection, signing proxies, request logs.
	Wrap func(http.RoundTripper) http.RoundTripper

	DefaultRegion string        // when nobody names one and none is learnt; "" = us-east-1
	BodyStall     time.Duration // longest wait for the next byte of a body; 0 = 10 s
	PartSize      int64         // of multipart uploads, at least 5 MiB; 0 = 8 MiB. Shorter objects take one PUT
	PartsAtOnce   int           // of one upload; 0 = 2. An upload holds up to PartsAtOnce+1 parts in memory
	UserAgent     string        // "name/version", added to minio-go's
}

// Validate reports every fault at once.
func (c Config) Validate() error {
	var errs []error
	if c.PartSize != 0 && (c.PartSize < minPart || c.PartSize > maxPart) {
		errs = append(errs, fmt.Errorf("s3: part size %d outside of [5 MiB, 5 GiB]", c.PartSize))
	}
	if c.PartsAtOnce < 0 || c.BodyStall < 0 {
		errs = append(errs, errors.New("s3: negative limit"))
	}
	return errors.Join(errs...)
}

const (
	minPart = 5 << 20
	maxPart = 5 << 30
)

// Store reads, writes and lists S3 objects. It is an object.Store, Lister and Writer.
type Store struct {
	cfg     Config
	own     *http.Transport   // made here, nil if given
	fresh   *http.Transport   // twin without kept connections
	kept    http.RoundTripper // what clients use for ordinary requests
	oneShot http.RoundTripper // what they use when a new connection is wanted
	clients clients
}

// New validates; it makes no request.
func New(cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Credentials == nil {
		cfg.Credentials = object.Static(object.Access{Anonymous: true})
	}
	if cfg.DefaultRegion == "" {
		cfg.DefaultRegion = "us-east-1"
	}
	cfg.BodyStall = or(cfg.BodyStall, 10*time.Second)
	cfg.PartSize = or(cfg.PartSize, 8<<20)
	cfg.PartsAtOnce = or(cfg.PartsAtOnce, 2)
	s := &Store{cfg: cfg}
	base := cfg.Transport
	if base == nil {
		t, err := transport.Config{}.New()
		if err != nil {
			return nil, err
		}
		s.own, base = t, t
	}
	s.fresh = base.Clone()
	s.fresh.DisableKeepAlives = true
	s.kept, s.oneShot = base, s.fresh
	if cfg.Wrap != nil {
		s.kept, s.oneShot = cfg.Wrap(base), cfg.Wrap(s.fresh)
	}
	s.clients.init()
	return s, nil
}

// Close drops idle connections of transports that the store made; requests under way are not touched.
func (s *Store) Close() error {
	s.fresh.CloseIdleConnections()
	if s.own != nil {
		s.own.CloseIdleConnections()
	}
	return nil
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
