package lakescan_test

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/object"
)

// The sample lake of the demo, read from the files of this repository: a recorded location is mapped to where the files lie.
func sampleLake() (*lakescan.Client, string) {
	folder, err := filepath.Abs("demo/lake")
	if err != nil {
		panic(err)
	}
	c, err := lakescan.Open(context.Background(), lakescan.Config{Map: []object.Mapping{{From: "s3://lakescan-demo", To: folder}}})
	if err != nil {
		panic(err)
	}
	found, err := filepath.Glob(filepath.Join(folder, "demo/trips/metadata/00010-*.metadata.json"))
	if err != nil || len(found) != 1 {
		panic("the sample table has one newest metadata document")
	}
	return c, found[0]
}

func ExampleClient_Scan() {
	c, table := sampleLake()
	defer c.Close()
	r, err := c.Scan(context.Background(), table, lakescan.Columns("trip_id", "fare"), lakescan.Where(expr.MustParse("fare > 49.9 and region = 'north'")))
	if err != nil {
		panic(err)
	}
	defer r.Close()
	rows, first := int64(0), int64(-1)
	for b, err := range r.All() {
		if err != nil {
			panic(err)
		}
		if first < 0 {
			first = b.Record.Column(0).(*array.Int64).Value(0) // lent: valid until the next step
		}
		rows += b.Record.NumRows()
	}
	fmt.Println(rows, "rows, the first is trip", first)
	// Output: 25 rows, the first is trip 63365
}

func ExampleClient_Aggregate() {
	c, table := sampleLake()
	defer c.Close()
	r, err := c.Aggregate(context.Background(), table, []lakescan.Aggregate{{Func: "count"}, {Func: "max", Column: "fare"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Values[0], r.Values[1])
	// Output: 69758 49.99
}
