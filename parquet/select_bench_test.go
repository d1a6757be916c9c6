//go:build unix

package parquet_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/pool"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// BenchmarkSelection decodes parts of the rows, scattered one by one and in runs of a hundred, of columns in several encodings, and reports
// CPU time for each row of the file. "all" is the whole.
func BenchmarkSelection(b *testing.B) {
	const rows = 1 << 19
	file := selectionFile(rows)
	recycled := pool.New(nil, 1<<30, nil)
	f, _, err := parquet.ParseFooter(file, int64(len(file)), 0)
	if err != nil {
		b.Fatal(err)
	}
	for _, col := range all(f.Schema()) {
		r, err := f.Bind([]parquet.Column{col}, nil, parquet.Options{Allocator: recycled})
		if err != nil {
			b.Fatal(err)
		}
		decode := func(b *testing.B, sel rowsel.Selection) {
			before := cpuNanos(b)
			for b.Loop() {
				decodeColumn(b, r, sel, file)
			}
			b.ReportMetric(float64(cpuNanos(b)-before)/float64(b.N)/rows, "cpu-ns/row")
		}
		b.Run(col.Output.Name+"/all", func(b *testing.B) { decode(b, rowsel.Selection{}) })
		for _, run := range []int64{1, 100} {
			for _, percent := range []float64{50, 10, 1} {
				sel := scattered(rows, run, percent/100)
				b.Run(fmt.Sprintf("%s/runs of %d/%v %%", col.Output.Name, run, percent), func(b *testing.B) { decode(b, sel) })
			}
		}
	}
}

func decodeColumn(b *testing.B, r *parquet.Reader, sel rowsel.Selection, file []byte) {
	units, err := r.Open(0, sel)
	if err != nil {
		b.Fatal(err)
	}
	for _, u := range units {
		if err := u.Decode(b.Context(), 0, whole(file)); err != nil {
			b.Fatal(err)
		}
		u.Close()
	}
}

func cpuNanos(tb testing.TB) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// scattered selects a part of the rows in runs, at random.
func scattered(rows, run int64, part float64) rowsel.Selection {
	rnd := rand.New(rand.NewPCG(1, uint64(1000*part)))
	var b rowsel.Builder
	for at := int64(0); at < rows; at += run {
		if rnd.Float64() < part {
			b.Add(at, min(at+run, rows))
		}
	}
	return b.Selection()
}

// selectionFile has numbers and strings, plain and in dictionaries, with and without nulls.
func selectionFile(rows int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	columns := make([][]any, 5)
	for range rows {
		n := rnd.Int64()
		columns[0] = append(columns[0], n)
		columns[1] = append(columns[1], n%100)
		columns[2] = append(columns[2], []byte(fmt.Sprint("a text of some length, ", n%1000)))
		columns[3] = append(columns[3], []byte(fmt.Sprint("a text, ", n%50)))
		if n%10 == 0 {
			columns[4] = append(columns[4], nil)
		} else {
			columns[4] = append(columns[4], n)
		}
	}
	field := func(name string, t thrift.Type, l thrift.LogicalKind) thrift.SchemaElement {
		return thrift.SchemaElement{Name: name, Type: t, Repetition: thrift.Optional, Converted: thrift.NoConverted, Logical: thrift.Logical{Kind: l}}
	}
	elements := parquettest.Elements(field("plain", thrift.Int64, 0), field("dict", thrift.Int64, 0), field("text", thrift.ByteArray, thrift.LogicalString),
		field("words", thrift.ByteArray, thrift.LogicalString), field("nulls", thrift.Int64, 0))
	return parquettest.Table(elements, columns, parquettest.Layout{PageRows: 20_000, Codec: thrift.Snappy, Index: true, Encoding: func(n *schema.Node) thrift.Encoding {
		if n.Name == "dict" || n.Name == "words" {
			return thrift.RLEDictionary
		}
		return thrift.Plain
	}}).Bytes()
}
