package fakerest

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// TB is the part of testing.TB that Pipe needs.
type TB interface{ Cleanup(func()) }

// Pipe serves h over in-memory connections until the test ends, so that a test inside a synctest bubble runs in virtual time.
// Every address leads to h.
func Pipe(t TB, h http.Handler) *http.Transport {
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	var wg sync.WaitGroup
	wg.Go(func() { srv.Serve(l) })
	tr := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			client, server := net.Pipe()
			select {
			case l.conns <- server:
				return client, nil
			case <-l.done:
				return nil, net.ErrClosed
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		MaxIdleConnsPerHost: 64,
	}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		srv.Close()
		wg.Wait()
	})
	return tr
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
