package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	arrowvariant "github.com/apache/arrow-go/v18/parquet/variant"

	"github.com/lakescan/lakescan/parquet/variant"
)

// A variant is shown as the JSON of its value; bytes that are none end the output in an error.
func TestVariantIsJSON(t *testing.T) {
	t.Parallel()
	good, err := arrowvariant.ParseJSON(`{"a":[1,null,"x"]}`, false)
	if err != nil {
		t.Fatal(err)
	}
	storage := arrow.StructOf(arrow.Field{Name: "metadata", Type: arrow.BinaryTypes.Binary}, arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary})
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: storage, Nullable: true, Metadata: arrow.NewMetadata([]string{"ARROW:extension:name"}, []string{"arrow.parquet.variant"})}}, nil)
	for _, c := range []struct {
		name  string
		value []byte
		bad   bool
	}{{"object", good.Bytes(), false}, {"broken", []byte{0x02, 0xff, 0xff}, true}} {
		b := array.NewStructBuilder(memory.DefaultAllocator, storage)
		b.Append(true)
		b.FieldBuilder(0).(*array.BinaryBuilder).Append(good.Metadata().Bytes())
		b.FieldBuilder(1).(*array.BinaryBuilder).Append(c.value)
		b.AppendNull()
		a := b.NewArray()
		rec := array.NewRecordBatch(schema, []arrow.Array{a}, 2)
		var out strings.Builder
		enc, err := New(&out, NDJSON, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := enc.Begin(schema); err != nil {
			t.Fatal(err)
		}
		err = enc.Write(rec)
		switch {
		case c.bad && !errors.Is(err, variant.ErrCorrupt):
			t.Errorf("%s: %v, %s", c.name, err, out.String())
		case !c.bad && (err != nil || out.String() != "{\"v\":{\"a\":[1,null,\"x\"]}}\n{\"v\":null}\n"):
			t.Errorf("%s: %v, %s", c.name, err, out.String())
		}
		rec.Release()
		a.Release()
		b.Release()
	}
}
