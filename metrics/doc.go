// Package metrics exports the figures of a lakescan.Client to Prometheus.
//
//	m := metrics.New()
//	m.Attach(&cfg)                       // latency histograms; leave it out to have counters and gauges alone
//	client, err := lakescan.Open(ctx, cfg)
//	m.Watch(client)
//	registry.MustRegister(m)
//
// A Metrics is a prometheus.Collector: nothing runs between two scrapes, and one reads counters that the client keeps anyway. Names, units and what
// feeds each are listed in docs/metrics.md, which a test compares with what is exported. Names are those of ClickHouse's ProfileEvents where there
// is one of the same meaning, behind the prefix lakescan_, so that dashboards carry over; as there, times are whole microseconds.
//
// The scan path does not import this package: a program that has no use for it does not link Prometheus.
package metrics
