package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// ErrIdle is the cause of a body that stopped flowing. It is a timeout to net.Error.
var ErrIdle error = idleError{}

type idleError struct{}

func (idleError) Error() string   { return "transport: the answer's body stalled" }
func (idleError) Timeout() bool   { return true }
func (idleError) Temporary() bool { return true }

// Config of a transport. Zero durations take the defaults; a negative one means no limit.
type Config struct {
	CAFile            string // PEM; trusted beside the system's
	CertFile, KeyFile string // client certificate, PEM; both or none
	ProxyURL          string // empty = HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment

	Connect  time.Duration // 3 s, TCP and TLS each
	Headers  time.Duration // 30 s from the end of the request
	IdleBody time.Duration // 10 s without a byte of the body

	IdleConnsPerHost int  // 16
	HTTP2            bool // offer it over TLS
	Gzip             bool // ask for packed answers and unpack them; never for objects, which are read as stored
}

// Transport is a RoundTripper with a limit on idle bodies.
type Transport struct {
	base *http.Transport
	idle time.Duration
}

// New reads the files of c. Errors name the setting and the file.
func New(c Config) (*Transport, error) {
	tlsConfig, err := c.tls()
	if err != nil {
		return nil, err
	}
	proxy := http.ProxyFromEnvironment
	if c.ProxyURL != "" {
		u, err := url.Parse(c.ProxyURL)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("proxy URL %q: want scheme://host:port", c.ProxyURL)
		}
		proxy = http.ProxyURL(u)
	}
	connect := limit(c.Connect, 3*time.Second)
	perHost := c.IdleConnsPerHost
	if perHost == 0 {
		perHost = 16
	}
	return &Transport{
		base: &http.Transport{
			Proxy:                 proxy,
			DialContext:           (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:       tlsConfig,
			TLSHandshakeTimeout:   connect,
			ResponseHeaderTimeout: limit(c.Headers, 30*time.Second),
			ExpectContinueTimeout: time.Second,
			IdleConnTimeout:       90 * time.Second,
			MaxIdleConnsPerHost:   perHost,
			ForceAttemptHTTP2:     c.HTTP2,
			DisableCompression:    !c.Gzip,
		},
		idle: limit(c.IdleBody, 10*time.Second),
	}, nil
}

func limit(d, standard time.Duration) time.Duration {
	if d == 0 {
		return standard
	}
	return max(d, 0)
}

func (c Config) tls() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("CA file: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil { // a machine without a store of its own
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s: holds no certificate in PEM form", c.CAFile)
		}
		t.RootCAs = pool
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, errors.New("client certificate: certificate file and key file go together")
	}
	if c.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate %s: %w", c.CertFile, err)
		}
		t.Certificates = []tls.Certificate{cert}
	}
	return t, nil
}

// Base is the transport without the limit on idle bodies, for a client that wants *http.Transport.
func (t *Transport) Base() *http.Transport { return t.base }

// CloseIdleConnections closes what no request uses.
func (t *Transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// RoundTrip sends the request. The body it returns fails with ErrIdle when no byte came for the limit.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return WithIdleLimit(t.base, t.idle).RoundTrip(r)
}

// WithIdleLimit adds the limit to any transport; 0 = none.
func WithIdleLimit(base http.RoundTripper, idle time.Duration) http.RoundTripper {
	if idle <= 0 {
		return base
	}
	return &idleLimiter{base, idle}
}

type idleLimiter struct {
	base http.RoundTripper
	idle time.Duration
}

func (l *idleLimiter) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	resp, err := l.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	b := &idleBody{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, idle: l.idle}
	b.timer = time.AfterFunc(l.idle, func() { cancel(ErrIdle) })
	b.timer.Stop() // it runs during a Read only: a slow consumer is not an idle server
	resp.Body = b
	return resp, nil
}

// idleBody is read by one goroutine at a time, as any body.
type idleBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
}

func (b *idleBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.idle)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && err != io.EOF && context.Cause(b.ctx) == ErrIdle {
		err = ErrIdle
	}
	return n, err
}

func (b *idleBody) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
