//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/internal/rig"
	"github.com/lakescan/lakescan/object/transport"
	"github.com/lakescan/lakescan/source"
	"github.com/lakescan/lakescan/toxiproxy"
)

// aheadClient is a client behind 50 ms whose connections are counted.
func aheadClient(t *testing.T, l *lab, conns *atomic.Int64, slots int) *lakescan.Client {
	t.Helper()
	tr := &trial{lab: l, t: t}
	tr.toxic(toxiproxy.Toxic{Name: "latency", Type: "latency", Stream: "downstream", Toxicity: 1, Attributes: map[string]any{"latency": 50}})
	t.Cleanup(func() {
		for _, f := range tr.cleanup {
			f()
		}
	})
	dialer := &net.Dialer{Timeout: 3 * time.Second}
	cfg := lakescan.Config{Catalog: iceberg.CatalogConfig{URI: l.rig.REST}, Memory: 256 << 20, PoolSlots: slots}
	cfg.S3.Access = rigAccess(tr.s3)
	cfg.S3.Access.PathStyle, cfg.S3.Access.Region = true, rig.Region
	cfg.S3.Transport = transport.Config{ProxyURL: "none", Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		conns.Add(1)
		return &countedConn{Conn: c, open: conns}, nil
	}}
	c, err := lakescan.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// aheadScan reads the laboratory's table, k files at the most; it reports how long that took and how long Close did.
func aheadScan(ctx context.Context, c *lakescan.Client, columns []string, depth source.Depth) (rows int64, wall, closing time.Duration, err error) {
	start := time.Now()
	r, err := c.Scan(ctx, labTable, lakescan.Columns(columns...), lakescan.MaxFilesToPrefetch(depth))
	if err != nil {
		return 0, 0, 0, err
	}
	for {
		b, nerr := r.Next(ctx)
		if errors.Is(nerr, io.EOF) {
			break
		}
		if nerr != nil {
			err = nerr
			break
		}
		rows += b.Record.NumRows()
	}
	wall = time.Since(start)
	start = time.Now()
	err = errors.Join(err, r.Close())
	return rows, wall, time.Since(start), err
}

// TestLookAheadBesideOthers prints figures of scans that share a pool and are cancelled, on real servers behind 50 ms:
//
//	. integration/env.sh && go test -count=1 -tags duckdb_arrow,integration -run TestLookAheadBesideOthers -v ./integration
func TestLookAheadBesideOthers(t *testing.T) {
	l := getLab(t)
	t.Run("neighbour", l.besideANeighbour)
	t.Run("close", l.closeBesideAFullPool)
	t.Run("cancel", l.aThousandCancels)
}

// besideANeighbour: time of a scan alone and beside endless scans at depth 256 of every column.
func (l *lab) besideANeighbour(t *testing.T) {
	var conns atomic.Int64
	c := aheadClient(t, l, &conns, 32)
	small := func() time.Duration {
		rows, wall, _, err := aheadScan(t.Context(), c, []string{"k"}, source.Auto)
		if err != nil || rows != labFiles*labRows {
			t.Fatalf("%d rows, %v", rows, err)
		}
		return wall
	}
	var alone, beside []time.Duration
	small() // connections
	for range 5 {
		alone = append(alone, small())
		ctx, stop := context.WithCancel(t.Context())
		var others sync.WaitGroup
		for range 3 {
			others.Go(func() {
				for ctx.Err() == nil {
					_, _, _, _ = aheadScan(ctx, c, []string{"k", "v", "pad"}, 256)
				}
			})
		}
		time.Sleep(200 * time.Millisecond)
		beside = append(beside, small())
		stop()
		others.Wait()
	}
	slices.Sort(alone)
	slices.Sort(beside)
	t.Logf("a scan of %d files: alone %v, beside three scans of depth 256 %v (medians of 5), ratio %.2f", labFiles, alone[2], beside[2], beside[2].Seconds()/alone[2].Seconds())
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// closeBesideAFullPool: Close of a scan that waits for slots which other scans have.
func (l *lab) closeBesideAFullPool(t *testing.T) {
	var conns atomic.Int64
	c := aheadClient(t, l, &conns, 2)
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for ctx.Err() == nil {
				_, _, _, _ = aheadScan(ctx, c, []string{"k", "v", "pad"}, 256)
			}
		})
	}
	for began := time.Now(); c.Pool().Stats().Queued == 0; runtime.Gosched() { // else Close would have nothing to wait behind
		if time.Since(began) > 10*time.Second {
			t.Fatal("the pool does not fill")
		}
	}
	var took []time.Duration
	for range 50 {
		r, err := c.Scan(t.Context(), labTable, lakescan.MaxFilesToPrefetch(64))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_ = r.Close()
		took = append(took, time.Since(start))
	}
	stop()
	others.Wait()
	slices.Sort(took)
	t.Logf("Close beside a pool of 2 slots that 4 scans fill: median %v, 95th %v, longest %v of %d", took[len(took)/2], took[len(took)*95/100], took[len(took)-1], len(took))
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// aThousandCancels: scans cancelled at random moments; what is left afterwards is counted, and must be nothing.
func (l *lab) aThousandCancels(t *testing.T) {
	const scans = 1000
	var conns atomic.Int64
	before := runtime.NumGoroutine()
	c := aheadClient(t, l, &conns, 32)
	rnd := rand.New(rand.NewPCG(7, 7))
	var closing []time.Duration
	whole := 0
	for range scans {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.IntN(150))*time.Millisecond)
		rows, _, took, err := aheadScan(ctx, c, []string{"k", "pad"}, []source.Depth{1, 4, 64, source.Auto}[rnd.IntN(4)])
		cancel()
		switch {
		case err == nil && rows == labFiles*labRows:
			whole++
		case err == nil:
			t.Fatalf("a clean end after %d rows", rows)
		case !errors.Is(err, context.DeadlineExceeded):
			t.Fatal(err)
		}
		closing = append(closing, took)
	}
	slices.Sort(closing)
	p := c.Pool().Stats()
	held := c.Budget().Stats().Total
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for wait := time.Now(); (conns.Load() > 0 || runtime.NumGoroutine() > before) && time.Since(wait) < 5*time.Second; {
		runtime.Gosched()
	}
	left := fmt.Sprintf("%d jobs running, %d queued, %d bytes in the pool, %d connections, %d goroutines", p.Running, p.Queued, p.Bytes, conns.Load(), max(runtime.NumGoroutine()-before, 0))
	t.Logf("%d scans cancelled (%d were through before): Close median %v, 99th %v, longest %v; the caches held %d bytes before the client was closed; left: %s",
		scans-whole, whole, closing[scans/2], closing[scans*99/100], closing[scans-1], held, left)
	if p.Running != 0 || p.Queued != 0 || p.Bytes != 0 || conns.Load() != 0 || runtime.NumGoroutine() > before {
		t.Error("something is left")
	}
}
