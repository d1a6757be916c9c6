// Package transport builds the HTTP transport of stores and catalogs from one set of TLS and proxy settings, so that a private
// CA or a proxy works for data as well as for metadata. Each New is a pool of idle connections of its own.
//
// The tuning is for many short ranged GETs to few hosts: every connection is kept (net/http keeps two to sixteen and closes the
// rest after each burst), no HTTP/2 (one TCP stream would carry all ranges), no compression, larger read buffers.
package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Config; the zero value takes system roots, the proxy of the environment and the default limits.
type Config struct {
	CAFile            string // PEM roots, used beside the system's
	CertFile, KeyFile string // PEM client certificate and its key; both or none
	ProxyURL          string // "" = HTTP_PROXY, HTTPS_PROXY, NO_PROXY; "none" = no proxy
	Insecure          bool   // accept any certificate; for laboratories

	MaxConns       int           // per host, hard cap; 0 = 512
	ConnectTimeout time.Duration // TCP and, apart, TLS; 0 = 3 s
	HeaderTimeout  time.Duration // until the headers of an answer; 0 = 30 s
	IdleTimeout    time.Duration // of a kept connection; 0 = 60 s

	// Dial replaces the network, in tests (net.Pipe) and for tunnels.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Validate reports every fault at once, files included.
func (c Config) Validate() error {
	_, err := c.parts()
	return err
}

type parts struct {
	tls   *tls.Config
	proxy func(*http.Request) (*url.URL, error)
}

func (c Config) parts() (parts, error) {
	var p parts
	var errs []error
	p.tls = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	if c.CAFile != "" {
		roots, err := readRoots(c.CAFile)
		p.tls.RootCAs = roots
		errs = append(errs, err)
	}
	switch {
	case c.CertFile != "" && c.KeyFile != "":
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("transport: client certificate %s: %w", c.CertFile, err))
		}
		p.tls.Certificates = []tls.Certificate{cert}
	case c.CertFile != "" || c.KeyFile != "":
		errs = append(errs, errors.New("transport: a client certificate needs both its file and its key's file"))
	}
	proxy, err := parseProxy(c.ProxyURL)
	p.proxy = proxy
	errs = append(errs, err)
	for _, d := range []time.Duration{c.ConnectTimeout, c.HeaderTimeout, c.IdleTimeout, time.Duration(c.MaxConns)} {
		if d < 0 {
			errs = append(errs, errors.New("transport: negative limit"))
			break
		}
	}
	return p, errors.Join(errs...)
}

func readRoots(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("transport: CA file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("transport: CA file %s holds no certificate", file)
	}
	return roots, nil
}

func parseProxy(text string) (func(*http.Request) (*url.URL, error), error) {
	switch text {
	case "":
		return http.ProxyFromEnvironment, nil
	case "none":
		return nil, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("transport: the proxy URL cannot be parsed") // the text may hold a password
	case u.Host == "" || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" && u.Scheme != "socks5h"):
		return nil, fmt.Errorf("transport: proxy URL %s: want http, https or socks5 and a host", u.Redacted())
	}
	return http.ProxyURL(u), nil
}

// New builds a transport, or reports what Validate would. Its owner calls CloseIdleConnections at the end.
func (c Config) New() (*http.Transport, error) {
	p, err := c.parts()
	if err != nil {
		return nil, err
	}
	dial := (&net.Dialer{Timeout: or(c.ConnectTimeout, 3*time.Second), KeepAlive: 30 * time.Second}).DialContext
	if c.Dial != nil {
		dial = c.bounded
	}
	conns := or(c.MaxConns, 512)
	return &http.Transport{
		Proxy:                 p.proxy,
		DialContext:           dial,
		TLSClientConfig:       p.tls,
		TLSHandshakeTimeout:   or(c.ConnectTimeout, 3*time.Second),
		ResponseHeaderTimeout: or(c.HeaderTimeout, 30*time.Second),
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       or(c.IdleTimeout, time.Minute),
		MaxIdleConns:          0, // no bound over all hosts
		MaxIdleConnsPerHost:   conns,
		MaxConnsPerHost:       conns,
		ReadBufferSize:        64 << 10,
		WriteBufferSize:       16 << 10,
		DisableCompression:    true,
	}, nil
}

// bounded puts the connect limit on a Dial that may have none.
func (c Config) bounded(ctx context.Context, network, addr string) (net.Conn, error) {
	limit := or(c.ConnectTimeout, 3*time.Second)
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := c.Dial(inner, network, addr)
	if err != nil && inner.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("transport: no connection to %s within %v: %w", addr, limit, err)
	}
	return conn, err
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
