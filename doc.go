// Package lakescan scans Iceberg tables and plain Parquet files on object storage with look-ahead, and answers SQL over them.
//
// Open makes a Client: one memory budget, one prefetch pool, one catalog. A Client serves many goroutines. Client.Scan yields Arrow
// batches in file order; Client.Query runs a SELECT (in a build with the tag duckdb_arrow).
//
//	c, err := lakescan.Open(ctx, lakescan.Config{Catalog: iceberg.CatalogConfig{URI: "http://127.0.0.1:8181"}})
//	defer c.Close()
//	r, err := c.Scan(ctx, "demo.trips", lakescan.Columns("region", "fare"), lakescan.Where(expr.MustParse("fare > 5")))
//	defer r.Close()
//	for b, err := range r.All() { … }
//
// Contexts: the ctx of Open bounds Open alone; the ctx of Scan and Query bounds the whole scan, as in sql.QueryContext.
// Arrow: a batch is lent, valid until the next step; Retain what is kept.
// The package reads no environment and no file, logs nothing by default, and has no goroutine left after Close.
package lakescan
