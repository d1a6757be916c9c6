package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/lakescan/lakescan/toxiproxy"
)

// Stack is a store and the link before it. It belongs to one goroutine.
type Stack interface {
	// Prepare sets the link for a cell and gives the job that scans it.
	Prepare(ctx context.Context, c Cell, seed uint64) (Job, error)
	// Traffic is what the store has seen since Prepare; nil = it does not tell.
	Traffic(ctx context.Context) (*Traffic, error)
	// Name for people, without secrets.
	Name() string
	Close() error
}

// Served is a Server that somebody runs at URL, in another process as a rule.
type Served struct {
	URL  string
	stop func() error
}

// StartServed runs the command, which must call Serve and write the URL as a line on its standard output, and end with its standard input.
func StartServed(ctx context.Context, cmd *exec.Cmd) (*Served, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("lab: store: %w", err)
	}
	stop := func() error {
		in.Close()
		return cmd.Wait()
	}
	kill := context.AfterFunc(ctx, func() { in.Close() })
	line, err := bufio.NewReader(out).ReadString('\n')
	kill()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lab: the store did not start: %w", err), stop())
	}
	return &Served{URL: strings.TrimSpace(line), stop: stop}, nil
}

// Prepare makes the tables at the first call for their cell.
func (s *Served) Prepare(ctx context.Context, c Cell, seed uint64) (Job, error) {
	spec := TableSpec{Files: c.Files, SizeKiB: c.SizeKiB}
	var t lakeTable
	if err := s.call(ctx, http.MethodPost, "table", spec, &t); err != nil {
		return Job{}, err
	}
	j := Job{Cell: c, Endpoint: s.URL, Target: t.Target, Within: t.Within, Rows: t.Rows, Check: t.Check}
	if c.Columns != "all" && !strings.HasPrefix(c.Columns, "i1") {
		j.Rows = -1 // the sum is that of another column
	}
	if c.Neighbour != "none" {
		spec.Suffix = "-beside"
		if err := s.call(ctx, http.MethodPost, "table", spec, &t); err != nil {
			return Job{}, err
		}
		j.Beside = t.Target
	}
	link := c.Link()
	link.Seed = seed
	if err := s.call(ctx, http.MethodPost, "link", link, nil); err != nil {
		return Job{}, err
	}
	return j, s.call(ctx, http.MethodPost, "reset", nil, nil)
}

// Traffic asks the server.
func (s *Served) Traffic(ctx context.Context) (*Traffic, error) {
	t := &Traffic{}
	return t, s.call(ctx, http.MethodGet, "traffic", nil, t)
}

// Name says whose store it is.
func (s *Served) Name() string {
	return "lakescan's own store, in a process of its own, latency before each answer"
}

// Close ends the process.
func (s *Served) Close() error {
	if s.stop == nil {
		return nil
	}
	return s.stop()
}

// control has no keep-alive: its connections would be counted with the scan's.
var control = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (s *Served) call(ctx context.Context, method, verb string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+"/-/"+verb, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := control.Do(req)
	if err != nil {
		return fmt.Errorf("lab: store: %w", err)
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, maxControl))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		return fmt.Errorf("lab: store: %s: %w", verb, err)
	}
	return nil
}

// Proxied is somebody's store behind a proxy of our own in a running toxiproxy.
type Proxied struct {
	cfg   StoreConfig
	toxi  *toxiproxy.Client
	proxy string
	url   string
}

// StartProxied makes the proxy; Close removes it.
func StartProxied(ctx context.Context, cfg StoreConfig) (*Proxied, error) {
	u, err := url.Parse(cfg.S3)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("%w: store.s3 %q is not an http:// URL, which is what toxiproxy can carry", ErrMatrix, cfg.S3)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	listen := ln.Addr().String()
	ln.Close()
	upstream := u.Host
	if u.Port() == "" {
		upstream += ":80"
	}
	p := &Proxied{cfg: cfg, toxi: &toxiproxy.Client{BaseURL: strings.TrimRight(cfg.Toxiproxy, "/")}, url: "http://" + listen, proxy: "lakescan-bench-" + listen[strings.LastIndexByte(listen, ':')+1:]}
	ready, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := p.toxi.WaitReady(ready); err != nil {
		return nil, err
	}
	return p, p.toxi.Create(ctx, toxiproxy.Proxy{Name: p.proxy, Listen: listen, Upstream: upstream, Enabled: true})
}

// Prepare sets the toxics. A rate is that of each connection: toxiproxy knows no other.
func (p *Proxied) Prepare(ctx context.Context, c Cell, _ uint64) (Job, error) {
	link := toxiproxy.Profile{Name: "cell", LatencyMS: c.LatencyMS, JitterMS: c.JitterMS, RateKBps: c.RateMBps * 1000}
	j := Job{Cell: c, Endpoint: p.url, Catalog: p.cfg.Catalog, Region: p.cfg.Region, Target: c.Table, Beside: c.Table, Rows: -1}
	return j, p.toxi.Apply(ctx, p.proxy, link)
}

// Traffic is not known.
func (p *Proxied) Traffic(context.Context) (*Traffic, error) { return nil, nil }

// Name says what lies behind what.
func (p *Proxied) Name() string { return p.cfg.S3 + " through toxiproxy, catalog " + p.cfg.Catalog }

// Close removes the proxy, also after the run was broken off.
func (p *Proxied) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return p.toxi.Delete(ctx, p.proxy)
}
