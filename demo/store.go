package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

type store struct {
	addr string
	stop func()
}

// startStore serves dir as S3. The gateway wants an address, not a listener, so another program may take the port in between: try again with another one.
func startStore(ctx context.Context, dir, want, key, secret string) (*store, error) {
	for attempt := 1; ; attempt++ {
		addr, err := freeAddr(want)
		if err != nil {
			return nil, err
		}
		s, err := serveStore(ctx, filepath.Join(dir, fmt.Sprintf("store-%d", attempt)), addr, key, secret)
		if err == nil || attempt == 5 || ctx.Err() != nil {
			return s, err
		}
	}
}

func serveStore(ctx context.Context, dir, addr, key, secret string) (*store, error) {
	root := filepath.Join(dir, "buckets")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	var attributes meta.MetadataStorer = meta.XattrMeta{}
	opts := posix.PosixOpts{NewDirPerm: 0o755}
	if err := (meta.XattrMeta{}).Test(root); err != nil { // a file system without user attributes, e.g. an older tmpfs
		side := filepath.Join(dir, "attributes")
		if err := os.MkdirAll(side, 0o700); err != nil {
			return nil, err
		}
		sidecar, err := meta.NewSideCar(side)
		if err != nil {
			return nil, err
		}
		attributes, opts.SideCarDir = sidecar, side
	}
	backend, err := posix.New(root, attributes, opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		ended <- embedgw.RunVersityGW(ctx, backend, &embedgw.Config{
			RootUserAccess: key, RootUserSecret: secret, Region: region, Ports: []string{addr}, Quiet: true,
			MaxConnections: 4096, MaxRequests: 4096, MultipartMaxParts: 10000, KeepAlive: true,
		})
	}()
	s := &store{addr: addr, stop: func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(200 * time.Millisecond): // it waits up to 10 s for idle connections; the process ends sooner
		}
	}}
	deadline := time.After(10 * time.Second)
	for {
		if resp, err := http.Get("http://" + addr + "/"); err == nil {
			resp.Body.Close()
			return s, nil
		}
		select {
		case err := <-ended:
			cancel()
			return nil, fmt.Errorf("store on %s: %w", addr, err)
		case <-deadline:
			s.stop()
			return nil, fmt.Errorf("store on %s did not answer", addr)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// startSlow forwards to the store and delays each answer.
func startSlow(want, upstream string, ms int) (addr string, stop func(), err error) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics log through the global logger
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := toxiproxy.NewProxy(server, "s3", want, upstream)
	if err := p.Start(); err != nil {
		return "", nil, err
	}
	toxic := fmt.Sprintf(`{"type":"latency","stream":"downstream","toxicity":1,"attributes":{"latency":%d}}`, ms)
	if _, err := p.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		p.Stop()
		return "", nil, err
	}
	return p.Listen, p.Stop, nil
}
