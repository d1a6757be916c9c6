package metrics

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/internal/fakes3"
	"github.com/lakescan/lakescan/internal/parquetfile"
	"github.com/lakescan/lakescan/object"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// promised are the names that dashboards rest on.
var promised = strings.Fields(`
	ObjectStorageWaitPrefetchedReaderMicroseconds ObjectStoragePrefetchedReaders ObjectStoragePrefetchedReadersUsed ObjectStoragePrefetchedReadersUnused
	ObjectStoragePrefetchedReadersCancelled ObjectStoragePrefetchEmptySlots ObjectStoragePrefetchRunInline ObjectStoragePrefetchQueueWaitMicroseconds
	ObjectStoragePrefetchBudgetWaitMicroseconds ObjectStoragePrefetchOverdraftBytes ObjectStoragePrefetchDepthIncreases ObjectStoragePrefetchDepthDecreases
	ObjectStorageTeardownWaitMicroseconds S3GetRequests S3GetRequestThrottled S3RetryAfterClampedMicroseconds S3GetHedged S3GetHedgeWon S3GetHedgeSuppressed
	S3BodyResumed S3ObjectChanged S3ConnectionsCreated S3ConnectionsReused ParquetFooterTailHits ParquetFooterTailMisses ParquetReadTasks ParquetReadTaskBytes
	ParquetOverReadBytes ParquetPartialReadsServed ParquetFetchWaitTimeMicroseconds
	IOPrefetchThreadsActive IOPrefetchThreadsScheduled PrefetchDepthCurrent PrefetchBytesInFlight PrefetchBytesReady PrefetchBudgetBytes RttMicroseconds BandwidthBytes ScanEta`)

func TestPromisedNamesAreExported(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, x := range table {
		if seen[x.name] || x.help == "" || !strings.HasSuffix(x.help, ".") {
			t.Errorf("%s: needs one place and a sentence", x.name)
		}
		seen[x.name] = true
	}
	for _, name := range promised {
		if !seen[name] {
			t.Errorf("%s is not exported", name)
		}
	}
}

// Every metric is fed, and no two by the same figure: each field gets a value of its own.
func TestEveryMetricHasItsOwnFigure(t *testing.T) {
	t.Parallel()
	f := &figures{}
	next := int64(1)
	fill(reflect.ValueOf(f).Elem(), &next)
	f.store.Requests = map[object.Kind]int64{}
	for k := object.Get; k <= object.Delete; k++ {
		f.store.Requests[k] = next*1_000_000 + 1
		next++
	}
	values := map[float64]string{}
	for _, x := range table {
		v := x.value(f)
		if other := values[v]; v == 0 || other != "" {
			t.Errorf("%s is %v, as is %q", x.name, v, other)
		}
		values[v] = x.name
	}
}

// fill sets every number below v, exported or not, to a multiple of a million of its own.
func fill(v reflect.Value, next *int64) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if !f.CanSet() {
				f = reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
			}
			fill(f, next)
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(*next * *next * 1_000_000_000)
		*next++
	case reflect.Float64:
		v.SetFloat(float64(*next * 1_000_000_000_000))
		*next++
	}
}

func parquet(t *testing.T) []byte {
	t.Helper()
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil))
	for i := range int64(1000) {
		b.Field(0).(*array.Int64Builder).Append(i)
	}
	data, err := parquetfile.Write(parquetfile.Options{}, b.NewRecordBatch())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func gather(t *testing.T, r *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	list, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range list {
		out[f.GetName()] = f
	}
	return out
}

// A scan over S3, scraped before, in the middle and at the end.
func TestAScanIsCounted(t *testing.T) {
	t.Parallel()
	srv := fakes3.New(fakes3.Config{}, "bucket")
	for i := range 5 {
		srv.Put("bucket", fmt.Sprintf("t/f%d.parquet", i), parquet(t))
	}
	url := fakes3.Start(t, srv)
	m := New()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(m)
	if n := len(gather(t, reg)); n != 0 {
		t.Errorf("%d metrics without a client", n)
	}
	cfg := lakescan.Config{S3: lakescan.S3Config{Access: object.Access{Endpoint: url, Region: "us-east-1", PathStyle: true, Anonymous: true}}}
	var others atomic.Int64
	cfg.OnStore = func(object.Event) { others.Add(1) }
	m.Attach(&cfg)
	c, err := lakescan.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m.Watch(c)
	get := func(name string) float64 {
		t.Helper()
		f := gather(t, reg)["lakescan_"+name]
		if f == nil {
			t.Fatalf("%s is missing", name)
		}
		if c := f.GetMetric()[0].GetCounter(); c != nil {
			return c.GetValue()
		}
		return f.GetMetric()[0].GetGauge().GetValue()
	}
	for range 2 {
		r, err := c.Scan(t.Context(), "s3://bucket/t/*.parquet")
		if err != nil {
			t.Fatal(err)
		}
		running := get("ScansRunning")
		for _, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
		}
		if running != 1 || get("ScansRunning") != 0 {
			t.Errorf("%v scans running in the middle, %v at the end", running, get("ScansRunning"))
		}
	}
	for name, want := range map[string]float64{
		"Scans": 2, "ScanRows": 10_000, "ScanFiles": 10, "ParquetFooterTailHits": 10, "ParquetFooterTailMisses": 0, "S3HeadRequests": 0, "S3ListRequests": 2,
		"S3GetRequests": float64(c.Requests().Requests[object.Get]), "PrefetchBytesInFlight": 0, "PrefetchBytesReady": 0, "IOPrefetchThreadsActive": 0,
		"PrefetchDepthCurrent": 0, "ParquetRowGroups": 10,
	} {
		if got := get(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"S3GetRequests", "S3ReadBytes", "ParquetReadTaskBytes", "PrefetchBudgetBytes", "RttMicroseconds", "MemoryLimitBytes", "S3ConnectionsCreated", "ScanWallMicroseconds", "ScanEta"} {
		if get(name) <= 0 {
			t.Errorf("%s is %v", name, get(name))
		}
	}
	gets := uint64(0)
	for _, x := range gather(t, reg)["lakescan_request_duration_seconds"].GetMetric() {
		if x.GetLabel()[0].GetValue() == "get" {
			gets = x.GetHistogram().GetSampleCount()
		}
	}
	if float64(gets) != get("S3GetRequests") || others.Load() == 0 {
		t.Errorf("%d requests in the histogram, %v counted; %d events for the hook that was there", gets, get("S3GetRequests"), others.Load())
	}
}

// docs/metrics.md lists what is exported: no more, no less. UPDATE_DOCS=1 writes it.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`# Metrics

Made from package ` + "`metrics`" + ` (` + "`UPDATE_DOCS=1 go test ./metrics`" + `); a test compares. Names are those of ClickHouse's ProfileEvents where there is one of the same
meaning. Times are whole microseconds, sizes bytes, unless the name says otherwise. All are of one client; figures of scans include those under way.

| name | kind | |
| --- | --- | --- |
`)
	for _, x := range table {
		kind := "counter"
		if x.kind == prometheus.GaugeValue {
			kind = "gauge"
		}
		fmt.Fprintf(&b, "| `%s_%s` | %s | %s |\n", Namespace, x.name, kind, x.help)
	}
	fmt.Fprintf(&b, "| `%s_request_first_byte_seconds` | histogram, by `kind` | %s |\n", Namespace, firstByteHelp)
	fmt.Fprintf(&b, "| `%s_request_duration_seconds` | histogram, by `kind` | %s |\n", Namespace, durationHelp)
	b.WriteString(spans)
	const file = "../docs/metrics.md"
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Error("docs/metrics.md is not current: UPDATE_DOCS=1 go test ./metrics")
	}
}

// spans is the part about package tracing, whose own test checks the names.
const spans = `
## In a service

` + "```go" + `
m := metrics.New()
m.Attach(&cfg) // the histograms
client, err := lakescan.Open(ctx, cfg)
if err != nil {
	return err
}
m.Watch(client)
registry.MustRegister(m)
` + "```" + `

## Traces

Package ` + "`tracing`" + ` turns the events of scans and stores into OpenTelemetry spans; ` + "`tracing.New(provider).Attach(&cfg)`" + ` before ` + "`lakescan.Open`" + `.

| span | from, to | attributes |
| --- | --- | --- |
| ` + "`lakescan.scan`" + ` | planning to Close; a child of the span in the context that the scan was opened with | ` + "`lakescan.bytes`, `lakescan.depth`" + `; events ` + "`depth`, `wait`" + ` |
| ` + "`lakescan.plan`" + ` | child of the scan: up to the first file | |
| ` + "`lakescan.file`" + ` | child of the scan: claimed to delivered | ` + "`lakescan.file`, `lakescan.ordinal`" + `; events ` + "`open`, `wave`, `ready`, `empty`" + ` |
| ` + "`lakescan.request`" + ` | child of its file, else of the scan under way: sent to the end of the body | ` + "`lakescan.file`, `lakescan.range`, `lakescan.kind`, `lakescan.attempt`, `lakescan.hedge`, `lakescan.bytes`, `http.response.status_code`" + ` |

The command line sends its own spans, under one named after the command, where the environment names a collector that takes OTLP over HTTP:
` + "`OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318`" + ` (` + "`OTEL_EXPORTER_OTLP_HEADERS`" + `, ` + "`OTEL_SERVICE_NAME`" + `, ` + "`OTEL_SDK_DISABLED`" + ` and the other standard variables hold;
` + "`TRACEPARENT`" + ` puts the command into a trace that its starter began). A collector that is away takes nothing from the answer, and two seconds at most; ` + "`-v`" + ` tells.
`
