package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/file"
	"github.com/lakescan/lakescan/object/s3"
	"github.com/lakescan/lakescan/prefetchpool"
	"github.com/lakescan/lakescan/source"
)

// catalog opens a REST catalog whose files are on the endpoint, or none for local files.
func catalog(ctx context.Context, t task) (*iceberg.Catalog, object.Store, error) {
	local, err := file.New(file.Config{})
	if err != nil {
		return nil, nil, err
	}
	store := object.Store(local)
	cfg := iceberg.CatalogConfig{NewStore: func(object.Credentials) (object.Store, error) { return store, nil }}
	if t.URI != "" {
		cfg.URI, cfg.OwnS3Keys = t.URI, true
		if store, err = s3.New(s3.Config{Credentials: object.Static(access(t))}); err != nil {
			return nil, nil, err
		}
	}
	cat, err := iceberg.Open(ctx, cfg)
	return cat, store, err
}

func access(t task) object.Access {
	return object.Access{Endpoint: t.Endpoint, Region: "us-east-1", KeyID: "key", Secret: "secret", PathStyle: true}
}

func lakescanPlan(t task, r *result) error {
	ctx := context.Background()
	var base uint64
	if t.Heap {
		base = liveHeap()
	}
	start := time.Now()
	cat, store, err := catalog(ctx, t)
	if err != nil {
		return err
	}
	defer cat.Close()
	if t.NoCache {
		cat.Close() // its cache keeps nothing from here on
	}
	var table *iceberg.Table
	if t.URI != "" {
		table, err = cat.Load(ctx, iceberg.Ident{Namespace: []string{"bench"}, Name: t.Location})
	} else {
		table, err = cat.LoadLocation(ctx, t.Location)
	}
	if err != nil {
		return err
	}
	pool, err := prefetchpool.New(prefetchpool.Config{})
	if err != nil {
		return err
	}
	defer pool.Close()
	lane := pool.Lane(prefetchpool.LaneConfig{Name: "plan", Weight: 1, Streams: 1})
	defer lane.Close()
	spec := iceberg.ScanSpec{Fetcher: source.NewFetcher(lane, store)}
	if t.Below > 0 {
		spec.Filter = expr.MustParse(fmt.Sprintf("c1 < %d", t.Below))
	}
	p, err := table.Plan(ctx, spec)
	if err != nil {
		return err
	}
	seen := func() {
		if r.Count++; r.Count == 1 {
			r.First = time.Since(start).Seconds()
		}
		if t.Heap && r.Count%heapEvery == 0 {
			r.Live = max(r.Live, liveHeap()-min(base, liveHeap()))
		}
	}
	if t.Metered {
		for _, err := range p.TasksWithMetrics(ctx, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
			if err != nil {
				return err
			}
			seen()
		}
		return nil
	}
	for _, err := range p.Tasks(ctx) {
		if err != nil {
			return err
		}
		seen()
	}
	return nil
}

// heapEvery is after how many tasks the heap is looked at.
const heapEvery = 20_000

// lakescanMetadata loads table metadata and looks one snapshot up, so that all are indexed.
func lakescanMetadata(t task, r *result) error {
	ctx := context.Background()
	base := liveHeap()
	cpu := cpuSeconds()
	start := time.Now()
	cat, _, err := catalog(ctx, t)
	if err != nil {
		return err
	}
	defer cat.Close()
	table, err := cat.LoadLocation(ctx, t.Location)
	if err != nil {
		return err
	}
	if _, err := table.Metadata().Snapshot(1); err != nil {
		return err
	}
	end := cpuSeconds()
	r.Sum, r.First = int64((end-cpu)*1e6), time.Since(start).Seconds()
	r.Live = liveHeap() - base
	for _, err := range table.Metadata().Snapshots() {
		if err != nil {
			return err
		}
		r.Count++
	}
	return nil
}

// lakescanScan reads all rows, or as many as the limit says, through the facade.
func lakescanScan(t task, r *result) (err error) {
	ctx := context.Background()
	cfg := lakescan.Config{}
	if t.Endpoint != "" {
		cfg.S3.Access = access(t)
	}
	c, err := lakescan.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	opts := []lakescan.ScanOption{lakescan.Columns("id")}
	if t.Limit > 0 {
		opts = append(opts, lakescan.Limit(t.Limit))
	}
	if t.Filtered {
		opts = append(opts, lakescan.Where(expr.MustParse("id >= 0")))
	}
	start := time.Now()
	reader, err := c.Scan(ctx, t.Location, opts...)
	if err != nil {
		return err
	}
	defer reader.Close()
	for b, err := range reader.All() {
		if err != nil {
			return err
		}
		if r.Count == 0 {
			r.First = time.Since(start).Seconds()
		}
		r.Count += b.Record.NumRows()
		for _, v := range b.Record.Column(0).(*array.Int64).Int64Values() {
			r.Sum += v
		}
	}
	return nil
}
