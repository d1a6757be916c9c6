package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

func icebergGoTable(ctx context.Context, location string) (*table.Table, error) {
	return table.NewFromLocation(ctx, table.Identifier{"bench", "t"}, location, icebergio.LoadFSFunc(nil, location), nil)
}

func icebergGoPlan(t task, r *result) error {
	ctx := context.Background()
	tab, err := icebergGoTable(ctx, t.Location)
	if err != nil {
		return err
	}
	var base uint64
	if t.Heap {
		base = liveHeap()
	}
	var opts []table.ScanOption
	if t.Below > 0 {
		opts = append(opts, table.WithRowFilter(iceberg.LessThan(iceberg.Reference("c1"), t.Below)))
	}
	start := time.Now()
	files, err := tab.Scan(opts...).PlanFiles(ctx)
	if err != nil {
		return err
	}
	r.Count, r.First = int64(len(files)), time.Since(start).Seconds()
	if t.Heap {
		r.Live = liveHeap() - base
	}
	return nil
}

func icebergGoMetadata(t task, r *result) error {
	base := liveHeap()
	cpu := cpuSeconds()
	start := time.Now()
	text, err := os.ReadFile(strings.TrimPrefix(t.Location, "file://"))
	if err != nil {
		return err
	}
	m, err := table.ParseMetadataBytes(text)
	if err != nil {
		return err
	}
	end := cpuSeconds()
	r.Sum, r.First = int64((end-cpu)*1e6), time.Since(start).Seconds()
	text = nil
	r.Live = liveHeap() - base
	r.Count = int64(len(m.Snapshots()))
	return nil
}

func icebergGoScan(t task, r *result) error {
	ctx := context.Background()
	tab, err := icebergGoTable(ctx, t.Location)
	if err != nil {
		return err
	}
	start := time.Now()
	_, records, err := tab.Scan(table.WithSelectedFields("id")).ToArrowRecords(ctx)
	if err != nil {
		return err
	}
	for rec, err := range records {
		if err != nil {
			return err
		}
		if r.Count == 0 {
			r.First = time.Since(start).Seconds()
		}
		r.Count += rec.NumRows()
		for _, v := range rec.Column(0).(*array.Int64).Int64Values() {
			r.Sum += v
		}
		rec.Release()
	}
	return nil
}
