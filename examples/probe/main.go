// Command probe asks one question of a table in one process, as a service would, and prints the answer with what it cost: a line "RESULT" with
// JSON. It is how lakescan is compared with other readers, and an example of a scan that several streams consume.
//
//	probe -uri http://127.0.0.1:8181 -s3 http://127.0.0.1:9000 q1
//
//	q1, q1b, q4  count(*), sum(i1), sum(d1)                                        of files70, big4, small1000
//	q2, q2b      sum(i1+i2), sum(i3 % 1000), sum(d1+d2), max(dt), max(ts), sums of the lengths of s1, s2, cat
//	q3           the first ten rows, all columns
//	q5           count(*), sum(d1), max(s1) where i1 between 3450000 and 3460000
//
// With -sql the engine answers the statement, else the program adds up Arrow batches itself. Keys come from AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/internal/usage"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

const between = "i1 between 3450000 and 3460000"

// question is what is asked; columns nil = all.
type question struct {
	table, sql string
	columns    []string
	where      string
	limit      int64
	sums       func() sums
}

var (
	three = question{sql: "select count(*), sum(i1), sum(d1) from %s", columns: []string{"i1", "d1"}, sums: func() sums { return &countAndSums{} }}
	wide  = question{sql: "select sum(i1+i2), sum(i3 %% 1000), sum(d1+d2), max(dt), max(ts), sum(length(s1)), sum(length(s2)), sum(length(cat)) from %s", sums: func() sums { return &allColumns{} }}
	ten   = question{sql: "select * from %s limit 10", limit: 10, sums: func() sums { return &rowCount{} }}
	few   = question{sql: "select count(*), sum(d1), max(s1) from %s where " + between, columns: []string{"d1", "s1"}, where: between, sums: func() sums { return &fewRows{} }}
)

func of(table string, q question) question { q.table = table; return q }

var questions = map[string]question{
	"q1": of("files70", three), "q1b": of("big4", three), "q4": of("small1000", three), "q2": of("files70", wide), "q2b": of("big4", wide), "q3": of("files70", ten), "q5": of("files70", few),
}

type options struct {
	uri, s3, namespace, depth string
	streams                   int
	sql                       bool
}

func main() {
	var o options
	flag.StringVar(&o.uri, "uri", "http://127.0.0.1:8181", "address of the Iceberg REST catalog")
	flag.StringVar(&o.s3, "s3", "", "address of the store; empty = what the catalog says")
	flag.StringVar(&o.namespace, "namespace", "bench", "namespace of the tables")
	flag.StringVar(&o.depth, "depth", "auto", "max-files-to-prefetch: auto, or a number")
	flag.IntVar(&o.streams, "streams", 2, "goroutines that consume")
	flag.BoolVar(&o.sql, "sql", false, "let the SQL engine answer")
	flag.Parse()
	q, ok := questions[flag.Arg(0)]
	if !ok {
		log.Fatalf("no question %q", flag.Arg(0))
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	base, cpu, began := usage.PeakRSS(), usage.CPU(), time.Now()
	answer, err := ask(ctx, o, q)
	if err != nil {
		log.Fatal(err)
	}
	line, err := json.Marshal(map[string]any{
		"wall": time.Since(began).Seconds(), "cpu": (usage.CPU() - cpu).Seconds(), "rss_mb": float64(usage.PeakRSS()) / (1 << 20), "rss_import_mb": float64(base) / (1 << 20), "out": answer,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("RESULT %s\n", line)
}

func ask(ctx context.Context, o options, q question) (string, error) {
	depth, err := source.ParseDepth(o.depth)
	if err != nil {
		return "", err
	}
	keys := object.Access{Endpoint: o.s3, Region: "us-east-1", KeyID: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY"), PathStyle: true}
	c, err := lakescan.Open(ctx, lakescan.Config{
		Catalog: iceberg.CatalogConfig{URI: o.uri, OwnS3Keys: true}, S3: lakescan.S3Config{Access: keys}, Depth: depth,
	})
	if err != nil {
		return "", err
	}
	defer c.Close()
	table := o.namespace + "." + q.table
	if o.sql {
		return bySQL(ctx, c, fmt.Sprintf(q.sql, table))
	}
	return byScan(ctx, c, table, q, o.streams)
}

func bySQL(ctx context.Context, c *lakescan.Client, sql string) (string, error) {
	r, err := c.Query(ctx, sql)
	if err != nil {
		return "", err
	}
	defer r.Close()
	var rows []string
	for b, err := range r.All() {
		if err != nil {
			return "", err
		}
		for i := range int(b.NumRows()) {
			var row []string
			for _, col := range b.Columns() {
				row = append(row, col.ValueStr(i))
			}
			rows = append(rows, "("+strings.Join(row, ", ")+")")
		}
	}
	return "[" + strings.Join(rows, ", ") + "]", nil
}

// byScan adds up the batches of several streams, each in figures of its own.
func byScan(ctx context.Context, c *lakescan.Client, table string, q question, streams int) (string, error) {
	opts := []lakescan.ScanOption{lakescan.Streams(streams)}
	if q.columns != nil {
		opts = append(opts, lakescan.Columns(q.columns...))
	}
	if q.where != "" {
		opts = append(opts, lakescan.Where(expr.MustParse(q.where)))
	}
	if q.limit > 0 {
		opts = append(opts, lakescan.Limit(q.limit))
	}
	r, err := c.Scan(ctx, table, opts...)
	if err != nil {
		return "", err
	}
	defer r.Close()
	all := &summing{make: q.sums}
	if err := source.Feed(ctx, r, all); err != nil {
		return "", err
	}
	return all.text(), nil
}
