package toxiproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Client of one server; safe for concurrent use. A nil HTTP is http.DefaultClient.
type Client struct {
	BaseURL string // e.g. http://127.0.0.1:8474
	HTTP    *http.Client
}

// Proxy forwards Listen to Upstream, both host:port.
type Proxy struct {
	Name     string `json:"name"`
	Listen   string `json:"listen"`
	Upstream string `json:"upstream"`
	Enabled  bool   `json:"enabled"`
}

// Toxic is one disturbance of a proxy's stream ("downstream" or "upstream").
type Toxic struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Stream     string         `json:"stream"`
	Toxicity   float64        `json:"toxicity"` // share of connections
	Attributes map[string]any `json:"attributes"`
}

// Error is an answer of the server other than success.
type Error struct {
	Op, Path string
	Status   int
	Message  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("toxiproxy: %s %s: %d %s", e.Op, e.Path, e.Status, e.Message)
}

// Version of the server; also the way to see that it is up. Releases answer {"version":"2.5.0"}, a build from source plain text.
func (c *Client) Version(ctx context.Context) (string, error) {
	text, err := c.send(ctx, http.MethodGet, "/version", nil)
	var v struct {
		Version string `json:"version"`
	}
	if err == nil && json.Unmarshal(text, &v) == nil {
		return v.Version, nil
	}
	return string(bytes.TrimSpace(text)), err
}

// Create adds a proxy; one of the same name is replaced.
func (c *Client) Create(ctx context.Context, p Proxy) error {
	return c.do(ctx, http.MethodPost, "/populate", []Proxy{p}, nil)
}

// Delete removes a proxy and closes its connections.
func (c *Client) Delete(ctx context.Context, proxy string) error {
	return c.do(ctx, http.MethodDelete, proxyPath(proxy), nil, nil)
}

// SetEnabled stops or starts a proxy; stopped, it refuses connections and drops the open ones.
func (c *Client) SetEnabled(ctx context.Context, proxy string, on bool) error {
	return c.do(ctx, http.MethodPost, proxyPath(proxy), map[string]any{"enabled": on}, nil)
}

// Toxics lists what is set on a proxy.
func (c *Client) Toxics(ctx context.Context, proxy string) ([]Toxic, error) {
	var list []Toxic
	err := c.do(ctx, http.MethodGet, proxyPath(proxy)+"/toxics", nil, &list)
	return list, err
}

// Add sets a toxic, at once also on live connections.
func (c *Client) Add(ctx context.Context, proxy string, t Toxic) error {
	return c.do(ctx, http.MethodPost, proxyPath(proxy)+"/toxics", t, nil)
}

// Remove takes a toxic off.
func (c *Client) Remove(ctx context.Context, proxy, toxic string) error {
	return c.do(ctx, http.MethodDelete, proxyPath(proxy)+"/toxics/"+url.PathEscape(toxic), nil, nil)
}

// Apply makes a proxy behave as a link profile: what was set before is taken off.
func (c *Client) Apply(ctx context.Context, proxy string, p Profile) error {
	old, err := c.Toxics(ctx, proxy)
	if err != nil {
		return err
	}
	for _, t := range old {
		if err := c.Remove(ctx, proxy, t.Name); err != nil {
			return err
		}
	}
	for _, t := range p.toxics() {
		if err := c.Add(ctx, proxy, t); err != nil {
			return err
		}
	}
	return nil
}

// WaitReady polls until the server answers or ctx ends.
func (c *Client) WaitReady(ctx context.Context) error {
	for {
		_, err := c.Version(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("toxiproxy: not ready at %s: %w (last: %v)", c.BaseURL, ctx.Err(), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func proxyPath(name string) string { return "/proxies/" + url.PathEscape(name) }

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 20

func (c *Client) do(ctx context.Context, method, path string, body, answer any) error {
	text, err := c.send(ctx, method, path, body)
	if err != nil || answer == nil {
		return err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("toxiproxy: %s %s: %w", method, path, err)
	}
	return nil
}

func (c *Client) send(ctx context.Context, method, path string, body any) ([]byte, error) {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("toxiproxy: %s %s: %w", method, path, err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, in)
	if err != nil {
		return nil, fmt.Errorf("toxiproxy: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	hc := c.HTTP
	if hc == nil {
		hc = http.DefaultClient
	}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, fmt.Errorf("toxiproxy: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("toxiproxy: %s %s: %w", method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		return nil, &Error{Op: method, Path: path, Status: resp.StatusCode, Message: string(bytes.TrimSpace(text))}
	}
	return text, nil
}
