package tracing_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/internal/fakes3"
	"github.com/lakescan/lakescan/internal/faulty"
	"github.com/lakescan/lakescan/internal/parquetfile"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
	"github.com/lakescan/lakescan/tracing"
)

const files = 4

// scanned runs one scan under a span of the caller's and returns what was recorded.
func scanned(t *testing.T, depth source.Depth, rules string, stop bool) (tracetest.SpanStubs, trace.SpanContext, error) {
	t.Helper()
	srv := fakes3.New(fakes3.Config{}, "bucket")
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil))
	for i := range int64(1000) {
		b.Field(0).(*array.Int64Builder).Append(i)
	}
	data, err := parquetfile.Write(parquetfile.Options{}, b.NewRecordBatch())
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		srv.Put("bucket", fmt.Sprintf("t/f%d.parquet", i), data)
	}
	url := fakes3.Start(t, faulty.New(t, rules).Handler(srv))
	exporter := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	defer provider.Shutdown(context.Background())
	cfg := lakescan.Config{Retries: 1, S3: lakescan.S3Config{Access: object.Access{Endpoint: url, Region: "us-east-1", PathStyle: true, Anonymous: true}}}
	tracing.New(provider).Attach(&cfg)
	c, err := lakescan.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, parent := provider.Tracer("test").Start(t.Context(), "mine")
	r, err := c.Scan(ctx, "s3://bucket/t/*.parquet", lakescan.MaxFilesToPrefetch(depth))
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range r.All() {
		if stop {
			break
		}
	}
	parent.End()
	return exporter.GetSpans(), parent.SpanContext(), err
}

func named(spans tracetest.SpanStubs, name string) (out tracetest.SpanStubs) {
	for _, s := range spans {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

// A scan is one span below the caller's, with a span for planning, one for each file, and one for each request below its file.
func TestSpansOfAScan(t *testing.T) {
	t.Parallel()
	for _, depth := range []source.Depth{source.Off, 2, source.Auto} {
		t.Run("depth "+depth.String(), func(t *testing.T) {
			t.Parallel()
			spans, parent, err := scanned(t, depth, "GET *f2.parquet #1 -> status 503", false)
			if err != nil {
				t.Fatal(err)
			}
			scans, plans, opened, requests := named(spans, tracing.SpanScan), named(spans, tracing.SpanPlan), named(spans, tracing.SpanFile), named(spans, tracing.SpanRequest)
			if len(scans) != 1 || len(plans) != 1 || len(opened) != files {
				t.Fatalf("%d scans, %d plans, %d files", len(scans), len(plans), len(opened))
			}
			scan := scans[0]
			if scan.Parent.SpanID() != parent.SpanID() || scan.Status.Code == codes.Error {
				t.Errorf("scan %+v", scan)
			}
			byFile := map[trace.SpanID]string{}
			for _, f := range append(plans, opened...) {
				if f.Parent.SpanID() != scan.SpanContext.SpanID() || f.StartTime.Before(scan.StartTime) || f.EndTime.After(scan.EndTime) {
					t.Errorf("%s is not within the scan: %v to %v", f.Name, f.StartTime, f.EndTime)
				}
				for _, a := range f.Attributes {
					if a.Key == tracing.KeyFile {
						byFile[f.SpanContext.SpanID()] = a.Value.AsString()
					}
				}
			}
			failed, owned := 0, 0
			for _, r := range requests {
				if owner := byFile[r.Parent.SpanID()]; owner != "" {
					owned++
					if !strings.Contains(fmt.Sprint(r.Attributes), owner) {
						t.Errorf("a request of %v lies below %s", r.Attributes, owner)
					}
				}
				if r.Status.Code == codes.Error {
					failed++
				}
				if r.EndTime.Before(r.StartTime) {
					t.Errorf("a request ends before it starts")
				}
			}
			if owned != files || failed != 1 { // planning read the first, and one is repeated
				t.Errorf("%d requests, %d below a file, %d failed", len(requests), owned, failed)
			}
		})
	}
}

// A scan that fails says so in its span and in the file's; one that is left early ends every span all the same.
func TestSpansOfABrokenScan(t *testing.T) {
	t.Parallel()
	for _, depth := range []source.Depth{source.Off, source.Auto} {
		spans, _, err := scanned(t, depth, "GET *f2.parquet -> status 403", false)
		if err == nil {
			t.Fatal("no error")
		}
		scan, bad := named(spans, tracing.SpanScan), 0
		for _, f := range named(spans, tracing.SpanFile) {
			if f.Status.Code == codes.Error {
				bad++
			}
		}
		if len(scan) != 1 || scan[0].Status.Code != codes.Error || bad != 1 {
			t.Errorf("depth %v: %d scans, %d files with an error", depth, len(scan), bad)
		}
		if spans, _, _ = scanned(t, depth, "", true); len(named(spans, tracing.SpanScan)) != 1 || len(named(spans, tracing.SpanFile)) == 0 {
			t.Errorf("depth %v: left early: %d spans", depth, len(spans))
		}
	}
}

// Names in the documentation are those of the code.
func TestDocumentedNames(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		tracing.SpanScan, tracing.SpanPlan, tracing.SpanFile, tracing.SpanRequest, tracing.KeyFile, tracing.KeyOrdinal, tracing.KeyDepth, tracing.KeyBytes,
		tracing.KeyRange, tracing.KeyKind, tracing.KeyAttempt, tracing.KeyHedge,
	} {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/metrics.md does not name %s", name)
		}
	}
}
