//go:build integration

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/commit"
	"github.com/lakescan/lakescan/iceberg/icebergtest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/faulty"
	"github.com/lakescan/lakescan/internal/parquetfile"
	"github.com/lakescan/lakescan/internal/rig"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/diskcache"
	"github.com/lakescan/lakescan/object/transport"
	"github.com/lakescan/lakescan/source"
	"github.com/lakescan/lakescan/toxiproxy"
)

// The laboratory's table: every file has a wide column that no case reads, so a file takes a footer request and data requests.
const (
	labFiles    = 16
	labRows     = 16_000 // of a file
	labGroup    = 4_000  // rows of a row group
	labTable    = "faults.t"
	labPadding  = 120 // bytes a row
	labMaxNanos = 1_000_000_007
)

// lab is the table that the cases read, and what it takes to break and mend it.
type lab struct {
	rig   *rig.Rig
	minio *minio.Client
	files []labFile
}

type labFile struct {
	key  string
	data []byte
}

func labValue(k int64) string { return fmt.Sprintf("value-%09d", k*2_654_435_761%labMaxNanos) }

const labSchema = `{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"k","required":false,"type":"long"},
	{"id":2,"name":"v","required":false,"type":"string"},{"id":3,"name":"pad","required":false,"type":"string"}]}`

var theLab *lab

// getLab is the laboratory of this run of the tests, made at first use; its tests run one after another.
func getLab(t *testing.T) *lab {
	t.Helper()
	if theLab == nil {
		theLab = newLab(t, rig.Get(t))
	}
	return theLab
}

// newLab writes the table through the real catalog.
func newLab(t *testing.T, r *rig.Rig) *lab {
	t.Helper()
	l := &lab{rig: r}
	var err error
	l.minio, err = minio.New(r.S3[len("http://"):], &minio.Options{
		Creds: credentials.NewStaticV4(rig.AccessKey, rig.SecretKey, ""), Region: rig.Region, BucketLookup: minio.BucketLookupPath,
		Transport: &http.Transport{DisableKeepAlives: true}, // so that goroutines can be counted
	})
	if err != nil {
		t.Fatal(err)
	}
	lake, client := open(t, r, false), catalogClient(t, r)
	if err := client.CreateNamespace(t.Context(), []string{"faults"}, nil); err != nil {
		t.Fatal(err)
	}
	schema, err := meta.ParseSchema([]byte(labSchema))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(t.Context(), []string{"faults"}, "store", icebergtest.CreateRequest("store", "")); err != nil {
		t.Fatal(err)
	}
	anyTable, err := lake.Table(t.Context(), "faults.store")
	if err != nil {
		t.Fatal(err)
	}
	target := &commit.Table{Backend: client, Ident: meta.Ident{Namespace: []string{"faults"}, Name: "t"}, Store: anyTable.Store()}
	staged, err := target.Stage(t.Context(), commit.NewTable{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	var add []commit.DataFile
	for i := range labFiles {
		data := labParquet(t, i, 0)
		path := fmt.Sprintf("%s/data/f%02d.parquet", staged.Metadata.Location, i)
		put(t, target.Store, path, data)
		l.files = append(l.files, labFile{strings.TrimPrefix(path, "s3://"+rig.Warehouse+"/"), data})
		add = append(add, commit.DataFile{Path: path, Rows: labRows, Size: int64(len(data))})
	}
	if _, err := staged.Commit(t.Context(), commit.Change{Add: add}); err != nil {
		t.Fatal(err)
	}
	return l
}

// labParquet is a file of the table; shift makes another version of it, whose rows would be wrong ones.
func labParquet(t *testing.T, file int, shift int64) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		icebergtest.Field(1, "k", arrow.PrimitiveTypes.Int64), icebergtest.Field(2, "v", arrow.BinaryTypes.String), icebergtest.Field(3, "pad", arrow.BinaryTypes.String),
	}, nil)
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, schema)
	rng := rand.New(rand.NewPCG(uint64(file), 7))
	pad := make([]byte, labPadding)
	for i := range int64(labRows) {
		k := int64(file)*labRows + i
		b.Field(0).(*array.Int64Builder).Append(k + shift)
		b.Field(1).(*array.StringBuilder).Append(labValue(k + shift))
		for j := range pad {
			pad[j] = 'a' + byte(rng.IntN(26))
		}
		b.Field(2).(*array.StringBuilder).Append(string(pad))
	}
	data, err := parquetfile.Write(parquetfile.Options{GroupRows: labGroup, Plain: true}, b.NewRecordBatch())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// replace puts other bytes in the place of a file.
func (l *lab) replace(file int, data []byte) error {
	_, err := l.minio.PutObject(context.Background(), rig.Warehouse, l.files[file].key, bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{DisableMultipart: true})
	return err
}

func (l *lab) remove(file int) error {
	return l.minio.RemoveObject(context.Background(), rig.Warehouse, l.files[file].key, minio.RemoveObjectOptions{})
}

func (l *lab) mend(t *testing.T, file int) {
	t.Helper()
	if err := l.replace(file, l.files[file].data); err != nil {
		t.Error(err)
	}
}

// trial is one scan under a fault.
type trial struct {
	*lab
	t        *testing.T
	s3, rest string // addresses that the client gets
	config   lakescan.Config
	onMiddle func() // called once, when the scan is in the middle
	once     sync.Once
	helpers  sync.WaitGroup // what onMiddle left running
	cleanup  []func()
}

func (tr *trial) defers(f func()) { tr.cleanup = append(tr.cleanup, f) }

// rules puts a proxy with these faults in front of MinIO.
func (tr *trial) rules(text string) *faulty.Rules {
	tr.t.Helper()
	rules := faulty.New(tr.t, text)
	srv := httptest.NewServer(rules.Handler(tr.forward()))
	tr.defers(srv.Close)
	tr.s3 = srv.URL
	return rules
}

// forward passes requests on with their Host, which is signed.
func (tr *trial) forward() http.Handler {
	tr.t.Helper()
	u, err := url.Parse(tr.rig.S3)
	if err != nil {
		tr.t.Fatal(err)
	}
	wire := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	tr.defers(wire.CloseIdleConnections)
	return &httputil.ReverseProxy{
		Transport: wire, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = u.Scheme, u.Host, r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
}

// toxic puts a toxiproxy of its own in front of MinIO.
func (tr *trial) toxic(toxics ...toxiproxy.Toxic) (name string) {
	tr.t.Helper()
	addr, err := rig.FreePort()
	if err != nil {
		tr.t.Fatal(err)
	}
	name = "fault-" + addr
	ctl := tr.rig.Toxi
	if err := ctl.Create(tr.t.Context(), toxiproxy.Proxy{Name: name, Listen: addr, Upstream: tr.rig.S3[len("http://"):], Enabled: true}); err != nil {
		tr.t.Fatal(err)
	}
	tr.defers(func() { _ = ctl.Delete(context.Background(), name) })
	for _, x := range toxics {
		if err := ctl.Add(tr.t.Context(), name, x); err != nil {
			tr.t.Fatal(err)
		}
	}
	tr.s3 = "http://" + addr
	return name
}

// inMiddle runs f beside the scan, once the third file is open or the first third of the rows is here.
func (tr *trial) inMiddle(f func()) {
	tr.onMiddle = func() { tr.once.Do(func() { tr.helpers.Go(f) }) }
}

// report is what came of one scan.
type report struct {
	rows    int64
	err     error
	wall    time.Duration
	stats   object.Stats
	disk    diskcache.Stats
	leftOut []string // what was not given back
}

// run scans the table and judges every row as it comes. It never waits longer than limit: a hang ends the test with all stacks.
func (tr *trial) run(depth source.Depth, limit time.Duration) report {
	tr.t.Helper()
	var conns atomic.Int64
	dialer := &net.Dialer{Timeout: 3 * time.Second}
	tr.config.Catalog = iceberg.CatalogConfig{URI: tr.rest}
	if !tr.config.S3.Access.HasKeys() && tr.config.S3.Fallback == nil {
		tr.config.S3.Access = rigAccess("")
	}
	tr.config.S3.Access.Endpoint, tr.config.S3.Access.PathStyle, tr.config.S3.Access.Region = tr.s3, true, rig.Region
	tr.config.S3.Transport = transport.Config{ProxyURL: "none", Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		conns.Add(1)
		return &countedConn{Conn: c, open: &conns}, nil
	}}
	tr.config.OnEvent = func(e source.Event) {
		if e.Name == "open" && e.Ordinal >= 3 && tr.onMiddle != nil {
			tr.onMiddle()
		}
	}
	tr.config.Memory = 256 << 20
	out := make(chan report, 1)
	go func() { out <- tr.scan(depth, &conns) }()
	select {
	case r := <-out:
		tr.helpers.Wait()
		return r
	case <-time.After(limit):
		buf := make([]byte, 1<<20)
		tr.t.Fatalf("still running after %v:\n%s", limit, buf[:runtime.Stack(buf, true)])
		return report{}
	}
}

func (tr *trial) scan(depth source.Depth, conns *atomic.Int64) (rep report) {
	start := time.Now()
	c, err := lakescan.Open(context.Background(), tr.config)
	if err != nil {
		return report{err: err}
	}
	rep.rows, rep.err = tr.read(c, depth)
	rep.wall, rep.stats, rep.disk = time.Since(start), c.Requests(), c.DiskCache()
	left := func(what string, n int64) {
		if n != 0 {
			rep.leftOut = append(rep.leftOut, fmt.Sprintf("%d %s", n, what))
		}
	}
	p := c.Pool().Stats()
	left("jobs running", int64(p.Running))
	left("jobs queued", int64(p.Queued))
	left("bytes in the pool", p.Bytes)
	if err := c.Close(); err != nil { // the budget says who still holds memory
		rep.leftOut = append(rep.leftOut, err.Error())
	}
	for wait := time.Now(); conns.Load() > 0 && time.Since(wait) < 2*time.Second; { // net/http closes idle ones beside us
		runtime.Gosched()
	}
	left("connections", conns.Load())
	return rep
}

func (tr *trial) read(c *lakescan.Client, depth source.Depth) (rows int64, err error) {
	r, err := c.Scan(context.Background(), labTable, lakescan.Columns("k", "v"), lakescan.MaxFilesToPrefetch(depth))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for b, err := range r.All() {
		if err != nil {
			return rows, err
		}
		k, v := b.Record.Column(0).(*array.Int64), b.Record.Column(1).(*array.String)
		for i := range int(b.Record.NumRows()) {
			if k.Value(i) != rows || v.Value(i) != labValue(rows) {
				return rows, fmt.Errorf("WRONG ROW %d: %d %q", rows, k.Value(i), v.Value(i))
			}
			rows++
		}
		if rows > labFiles*labRows/3 && tr.onMiddle != nil {
			tr.onMiddle()
		}
	}
	if rows != labFiles*labRows {
		return rows, fmt.Errorf("WRONG COUNT: %d rows, the table has %d", rows, labFiles*labRows)
	}
	return rows, nil
}

// countedConn counts itself out once.
type countedConn struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
