package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/object"
)

// Namespace is the prefix of every name.
const Namespace = "lakescan"

// Histograms, fed by the events of the store; empty unless Attach was called.
const (
	firstByteHelp = "Seconds from a request to the headers of its answer."
	durationHelp  = "Seconds from a request to the end of its answer's body."
)

// Metrics is a prometheus.Collector over one client. It is safe for concurrent use.
type Metrics struct {
	descs     []*prometheus.Desc // by place in table
	firstByte *prometheus.HistogramVec
	duration  *prometheus.HistogramVec

	mu struct {
		sync.Mutex
		client *lakescan.Client
	}
}

// New makes a collector that exports nothing but empty histograms until Watch.
func New() *Metrics {
	buckets := prometheus.ExponentialBuckets(0.001, 2, 16) // 1 ms to 33 s
	m := &Metrics{
		firstByte: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: Namespace, Name: "request_first_byte_seconds", Help: firstByteHelp, Buckets: buckets}, []string{"kind"}),
		duration:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: Namespace, Name: "request_duration_seconds", Help: durationHelp, Buckets: buckets}, []string{"kind"}),
	}
	for _, x := range table {
		m.descs = append(m.descs, prometheus.NewDesc(Namespace+"_"+x.name, x.help, nil, nil))
	}
	return m
}

// Attach has a client report its requests to the histograms. A hook that cfg has already is called too.
func (m *Metrics) Attach(cfg *lakescan.Config) {
	before := cfg.OnStore
	cfg.OnStore = func(e object.Event) {
		if e.Kind == object.EventRequest {
			m.observe(e.Request)
		}
		if before != nil {
			before(e)
		}
	}
}

func (m *Metrics) observe(r object.Request) {
	kind := r.Kind.String()
	if r.TTFB > 0 {
		m.firstByte.WithLabelValues(kind).Observe(r.TTFB.Seconds())
	}
	m.duration.WithLabelValues(kind).Observe(r.Duration.Seconds())
}

// Watch sets the client whose figures are exported; a closed one keeps its last.
func (m *Metrics) Watch(c *lakescan.Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.client = c
}

// Describe is part of prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range m.descs {
		out <- d
	}
	m.firstByte.Describe(out)
	m.duration.Describe(out)
}

// Collect is part of prometheus.Collector: one reading of the client.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	c := m.mu.client
	m.mu.Unlock()
	if c != nil {
		f := read(c)
		for i, x := range table {
			out <- prometheus.MustNewConstMetric(m.descs[i], x.kind, x.value(f))
		}
	}
	m.firstByte.Collect(out)
	m.duration.Collect(out)
}

func read(c *lakescan.Client) *figures {
	return &figures{scans: c.Totals(), store: c.Requests(), pool: c.Pool().Stats(), budget: c.Pool().Budget(), memory: c.Budget().Stats(), disk: c.DiskCache()}
}
