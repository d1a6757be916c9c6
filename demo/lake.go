package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"

	"github.com/lakescan/lakescan/internal/fakerest"
)

// lake is the sample table as Spark wrote it (interop/spark/demo_lake.py): 70 data files in 12 monthly partitions, one position delete file,
// one deletion vector, one column added on the way. Its metadata records locations in this bucket, so the bucket's name is fixed.
//
//go:embed all:lake
var lake embed.FS

const (
	bucket = "lakescan-demo"
	region = "us-east-1"
	table  = "demo.trips"
)

type options struct {
	latencyMS                int
	s3, slow, rest, slowREST string // addresses; port 0 = any
}

// running is the demo's set of servers. close ends them, last first, and removes the folder.
type running struct {
	Endpoints
	stops []func()
}

func (l *running) close() {
	for i := len(l.stops) - 1; i >= 0; i-- {
		l.stops[i]()
	}
	l.stops = nil
}

func start(ctx context.Context, o options) (_ *running, err error) {
	l := &running{Endpoints: Endpoints{AccessKey: "demo-" + rand.Text()[:8], SecretKey: rand.Text(), Region: region, Table: table, LatencyMS: o.latencyMS}}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	dir, err := os.MkdirTemp("", "lakescan-demo-")
	if err != nil {
		return nil, err
	}
	l.stops = append(l.stops, func() { os.RemoveAll(dir) })
	store, err := startStore(ctx, dir, o.s3, l.AccessKey, l.SecretKey)
	if err != nil {
		return nil, err
	}
	l.stops = append(l.stops, store.stop)
	l.S3 = "http://" + store.addr
	slow, stopSlow, err := startSlow(o.slow, store.addr, o.latencyMS)
	if err != nil {
		return nil, err
	}
	l.stops = append(l.stops, stopSlow)
	l.SlowS3 = "http://" + slow
	if err := makeBucket(ctx, store.addr, l.AccessKey, l.SecretKey); err != nil {
		return nil, err
	}
	newest, err := upload(ctx, store.addr, l.AccessKey, l.SecretKey)
	if err != nil {
		return nil, fmt.Errorf("sample table: %w", err)
	}
	if l.REST, err = l.catalog(ctx, o.rest, l.S3, newest); err != nil {
		return nil, err
	}
	l.SlowREST, err = l.catalog(ctx, o.slowREST, l.SlowS3, newest)
	return l, err
}

func storeClient(addr, key, secret string) (*minio.Client, error) {
	return minio.New(addr, &minio.Options{Creds: credentials.NewStaticV4(key, secret, ""), Region: region, BucketLookup: minio.BucketLookupPath})
}

func makeBucket(ctx context.Context, addr, key, secret string) error {
	c, err := storeClient(addr, key, secret)
	if err != nil {
		return err
	}
	return c.MakeBucket(ctx, bucket, minio.MakeBucketOptions{Region: region})
}

// upload puts the embedded files into the store and returns the path of the newest metadata document.
func upload(ctx context.Context, addr, key, secret string) (newest string, err error) {
	c, err := storeClient(addr, key, secret)
	if err != nil {
		return "", err
	}
	puts, ctx := errgroup.WithContext(ctx)
	puts.SetLimit(8)
	err = fs.WalkDir(lake, "lake", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(name, ".metadata.json") && path.Base(name) > path.Base(newest) {
			newest = name
		}
		body, err := lake.ReadFile(name)
		if err != nil {
			return err
		}
		puts.Go(func() error {
			_, err := c.PutObject(ctx, bucket, strings.TrimPrefix(name, "lake/"), bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
			return err
		})
		return nil
	})
	return newest, errors.Join(err, puts.Wait())
}

// catalog serves the table; its config answer names the store and the keys, so that clients need the catalog's address alone.
func (l *running) catalog(ctx context.Context, addr, s3, newest string) (string, error) {
	document, err := lake.ReadFile(newest)
	if err != nil {
		return "", err
	}
	server := fakerest.New(fakerest.Config{
		Warehouse: "s3://" + bucket,
		Defaults: map[string]string{
			"s3.endpoint": s3, "s3.access-key-id": l.AccessKey, "s3.secret-access-key": l.SecretKey, "s3.region": region,
			"client.region": region, "s3.path-style-access": "true",
		},
	})
	location := "s3://" + bucket + "/" + strings.TrimPrefix(newest, "lake/")
	if err := server.AddTable([]string{"demo"}, "trips", location, document); err != nil {
		return "", err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	h := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() { h.Serve(ln); close(done) }()
	l.stops = append(l.stops, func() { h.Close(); <-done })
	return "http://" + ln.Addr().String(), nil
}

func freeAddr(want string) (string, error) {
	host, port, err := net.SplitHostPort(want)
	if err != nil {
		return "", err
	}
	if n, err := strconv.Atoi(port); err != nil || n != 0 {
		return want, err
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}
