// Command scan prints the number of rows and the batches of a table, with what the scan cost.
//
//	lakescan demo serve                                   # in another terminal; prints the catalog's address
//	go run ./examples/scan -uri http://127.0.0.1:PORT demo.trips
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/iceberg"
)

func main() {
	uri := flag.String("uri", "", "address of an Iceberg REST catalog; none = the argument is a path")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := scan(ctx, *uri, flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

func scan(ctx context.Context, uri, target string) error {
	c, err := lakescan.Open(ctx, lakescan.Config{Catalog: iceberg.CatalogConfig{URI: uri}})
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := c.Scan(ctx, target)
	if err != nil {
		return err
	}
	defer r.Close()
	var rows int64
	for b, err := range r.All() {
		if err != nil {
			return err
		}
		rows += b.Record.NumRows() // the batch is lent: Retain what is kept
	}
	s := r.Stats()
	fmt.Printf("%d rows of %d files in %v: %d requests, %d bytes, look-ahead up to %d files\n", rows, s.Files, s.Wall, s.Requests, s.Bytes, s.DepthMax)
	return nil
}
