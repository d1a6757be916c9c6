package fakes3

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Start serves h on a loopback port until the test ends and gives its URL.
func Start(tb testing.TB, h http.Handler) string {
	tb.Helper()
	srv := httptest.NewUnstartedServer(h)
	ctx, cancel := context.WithCancel(context.Background())
	srv.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	srv.Start()
	tb.Cleanup(func() {
		cancel() // ends handlers that hang
		srv.Close()
	})
	return srv.URL
}

// Pipe serves a handler over in-process connections (net.Pipe), so that a client of real net/http runs in virtual time inside
// testing/synctest. Make and close it inside of the bubble.
type Pipe struct {
	srv   *http.Server
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	wg    sync.WaitGroup
	live  sync.WaitGroup     // connections: the server lingers on one for a moment after a broken request
	stop  context.CancelFunc // ends handlers that hang
	mu    struct {
		sync.Mutex
		dials int
	}
}

// Serve starts serving h.
func Serve(h http.Handler) *Pipe {
	p := &Pipe{conns: make(chan net.Conn), done: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.srv = &http.Server{Handler: h, BaseContext: func(net.Listener) context.Context { return ctx }, ConnState: func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			p.live.Add(1)
		case http.StateClosed, http.StateHijacked:
			p.live.Done()
		}
	}}
	p.wg.Go(func() { _ = p.srv.Serve(pipeListener{p}) }) // ends with ErrServerClosed
	return p
}

// DialContext makes a connection to the handler, whatever the address; it fits http.Transport and transport.Config.Dial.
func (p *Pipe) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		p.mu.Lock()
		p.mu.dials++
		p.mu.Unlock()
		return client, nil
	case <-p.done:
		return nil, errors.New("fakes3: connection refused: pipe closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Dials counts the connections made so far.
func (p *Pipe) Dials() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.dials
}

// Transport is a plain HTTP transport over the pipe.
func (p *Pipe) Transport() *http.Transport {
	return &http.Transport{DialContext: p.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 512}
}

// Close stops the server and waits for it; clients close their own idle connections first.
func (p *Pipe) Close() {
	p.once.Do(func() { close(p.done) })
	p.stop()
	_ = p.srv.Close()
	p.wg.Wait()
	p.live.Wait()
}

type pipeListener struct{ p *Pipe }

func (l pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.p.conns:
		return c, nil
	case <-l.p.done:
		return nil, net.ErrClosed
	}
}

func (l pipeListener) Close() error {
	l.p.once.Do(func() { close(l.p.done) })
	return nil
}

func (l pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
