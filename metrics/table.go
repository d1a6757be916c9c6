package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/diskcache"
	"github.com/lakescan/lakescan/prefetchpool"
)

// figures is one reading of a client.
type figures struct {
	scans  lakescan.ScanTotals
	store  object.Stats
	pool   prefetchpool.Stats
	budget int64 // bytes that look-ahead may hold
	memory memory.Stats
	disk   diskcache.Stats
}

// metric is one exported figure.
type metric struct {
	name  string
	kind  prometheus.ValueType
	help  string
	value func(f *figures) float64
}

func micros(d time.Duration) float64 { return float64(d.Microseconds()) }

func counter(name, help string, value func(*figures) float64) metric {
	return metric{name, prometheus.CounterValue, help, value}
}

func gauge(name, help string, value func(*figures) float64) metric {
	return metric{name, prometheus.GaugeValue, help, value}
}

// table is every counter and gauge, in the order of docs/metrics.md.
var table = []metric{
	counter("Scans", "Scans opened.", func(f *figures) float64 { return float64(f.scans.Scans) }),
	gauge("ScansRunning", "Scans open now.", func(f *figures) float64 { return float64(f.scans.Running) }),
	gauge("ScanEta", "Physical limit over measured time of the scan closed last: 1 is the limit, 0 is not known.", func(f *figures) float64 { return f.scans.LastEta }),
	counter("ScanRows", "Rows delivered.", func(f *figures) float64 { return float64(f.scans.Rows) }),
	counter("ScanFiles", "Files consumed.", func(f *figures) float64 { return float64(f.scans.Files) }),
	counter("ScanWallMicroseconds", "Time of scans from their opening to their end.", func(f *figures) float64 { return micros(f.scans.Wall) }),
	counter("ScanFloorMicroseconds", "The least that link, decoder and consumer allowed for these scans.", func(f *figures) float64 { return micros(f.scans.Floor) }),

	counter("ObjectStorageWaitPrefetchedReaderMicroseconds", "Time in which a consumer waited for bytes.", func(f *figures) float64 { return micros(f.scans.FetchWait) }),
	counter("ObjectStoragePrefetchedReaders", "Files opened before the consumer came to them.", func(f *figures) float64 { return float64(f.scans.Prefetched) }),
	counter("ObjectStoragePrefetchedReadersUsed", "Of these, consumed.", func(f *figures) float64 { return float64(f.scans.Used) }),
	counter("ObjectStoragePrefetchedReadersUnused", "Of these, thrown away after they were ready.", func(f *figures) float64 { return float64(f.scans.Unused) }),
	counter("ObjectStoragePrefetchedReadersCancelled", "Files dropped before they were ready.", func(f *figures) float64 { return float64(f.scans.Cancelled) }),
	counter("ObjectStoragePrefetchEmptySlots", "Files of the window without a row to deliver.", func(f *figures) float64 { return float64(f.scans.FilesEmpty) }),
	counter("ObjectStoragePrefetchRunInline", "Requests run by the goroutine that waited for them.", func(f *figures) float64 { return float64(f.pool.RunInline) }),
	counter("ObjectStoragePrefetchQueueWaitMicroseconds", "Time of requests in the queue of the pool.", func(f *figures) float64 { return micros(f.pool.QueueWait) }),
	counter("ObjectStoragePrefetchBudgetWaitMicroseconds", "Time in which a scan's next request waited for bytes of the budget.", func(f *figures) float64 { return micros(f.scans.BudgetWait) }),
	counter("ObjectStoragePrefetchSlotWaitMicroseconds", "Time in which a scan's next request waited for a slot of the pool.", func(f *figures) float64 { return micros(f.scans.SlotWait) }),
	counter("ObjectStoragePrefetchLimitWaitMicroseconds", "Time in which a scan's next request was held back because it would have brought nothing.", func(f *figures) float64 { return micros(f.scans.LimitWait) }),
	counter("ObjectStoragePrefetchOverdraftBytes", "Bytes admitted over the budget for a consumer that waited.", func(f *figures) float64 { return float64(f.pool.OverdraftBytes) }),
	counter("ObjectStoragePrefetchDepthIncreases", "Decisions to look further ahead.", func(f *figures) float64 { return float64(f.scans.DepthUp) }),
	counter("ObjectStoragePrefetchDepthDecreases", "Decisions to look less far ahead.", func(f *figures) float64 { return float64(f.scans.DepthDown) }),
	counter("ObjectStorageTeardownWaitMicroseconds", "Time of closing scans.", func(f *figures) float64 { return micros(f.scans.TeardownWait) }),

	counter("S3GetRequests", "GET requests sent, retries and hedges included.", func(f *figures) float64 { return float64(f.store.Requests[object.Get]) }),
	counter("S3HeadRequests", "HEAD requests sent; a scan makes none.", func(f *figures) float64 { return float64(f.store.Requests[object.Head]) }),
	counter("S3ListRequests", "Listing requests sent.", func(f *figures) float64 { return float64(f.store.Requests[object.List]) }),
	counter("S3WriteRequests", "PUT, POST and DELETE requests sent.", func(f *figures) float64 {
		return float64(f.store.Requests[object.Put] + f.store.Requests[object.Post] + f.store.Requests[object.Delete])
	}),
	counter("S3ReadBytes", "Bytes of bodies received.", func(f *figures) float64 { return float64(f.store.BytesRead) }),
	counter("S3RequestsFailed", "Requests without a good answer in full.", func(f *figures) float64 { return float64(f.store.Failed) }),
	counter("S3RequestsRetried", "Requests repeated.", func(f *figures) float64 { return float64(f.store.Retries) }),
	counter("S3RetryWaitMicroseconds", "Time waited before repeats.", func(f *figures) float64 { return micros(f.store.RetryWait) }),
	counter("S3GetRequestThrottled", "Answers that asked for fewer requests (429, 503).", func(f *figures) float64 { return float64(f.store.Throttled) }),
	counter("S3RetryAfterClampedMicroseconds", "Time that servers asked to wait and that was not waited.", func(f *figures) float64 { return micros(f.store.RetryAfterClamped) }),
	counter("S3GetHedged", "Second copies of slow reads.", func(f *figures) float64 { return float64(f.store.Hedges) }),
	counter("S3GetHedgeWon", "Of these, faster than the first.", func(f *figures) float64 { return float64(f.store.HedgesWon) }),
	counter("S3GetHedgeSuppressed", "Copies not sent: an outage, or too many already.", func(f *figures) float64 { return float64(f.store.HedgesSuppressed) }),
	counter("S3BodyResumed", "Broken bodies taken up where they broke.", func(f *figures) float64 { return float64(f.store.Resumes) }),
	counter("S3ObjectChanged", "Reads refused because the object was replaced.", func(f *figures) float64 { return float64(f.store.Changed) }),
	counter("S3ConnectionsCreated", "Connections made.", func(f *figures) float64 { return float64(f.store.ConnsCreated) }),
	counter("S3ConnectionsReused", "Requests on a connection that was there.", func(f *figures) float64 { return float64(f.store.ConnsReused) }),
	counter("LocalReads", "Reads of local files.", func(f *figures) float64 { return float64(f.store.LocalReads) }),
	counter("LocalReadBytes", "Bytes of these.", func(f *figures) float64 { return float64(f.store.LocalBytes) }),

	counter("ParquetFooterTailHits", "Footers that the first read of a file held.", func(f *figures) float64 { return float64(f.scans.TailHits) }),
	counter("ParquetFooterTailMisses", "Footers that took another read.", func(f *figures) float64 { return float64(f.scans.TailMiss) }),
	counter("ParquetReadTasks", "Waves of data requests.", func(f *figures) float64 { return float64(f.scans.Waves) }),
	counter("ParquetReadTaskBytes", "Bytes that scans asked for, footers included.", func(f *figures) float64 { return float64(f.scans.Bytes) }),
	counter("ParquetOverReadBytes", "Of these, bytes between wanted ranges.", func(f *figures) float64 { return float64(f.scans.OverReadBytes) }),
	counter("ParquetPartialReadsServed", "Units of decoding that the bytes of the opening served, wholly or in part.", func(f *figures) float64 { return float64(f.scans.Reused) }),
	counter("ParquetFetchWaitTimeMicroseconds", "Time of requests, from admission to the last byte.", func(f *figures) float64 { return micros(f.scans.FetchTime) }),
	counter("ParquetDecodeTimeMicroseconds", "Time of decoding, on all goroutines.", func(f *figures) float64 { return micros(f.scans.DecodeTime) }),
	counter("ParquetRowGroups", "Row groups considered.", func(f *figures) float64 { return float64(f.scans.RowGroups) }),
	counter("ParquetRowGroupsPruned", "Of these, ruled out by statistics or selection.", func(f *figures) float64 { return float64(f.scans.Pruned) }),

	gauge("IOPrefetchThreadsActive", "Requests of the pool that run now.", func(f *figures) float64 { return float64(f.pool.Running) }),
	gauge("IOPrefetchThreadsScheduled", "Requests that wait in the pool.", func(f *figures) float64 { return float64(f.pool.Queued) }),
	gauge("PrefetchDepthCurrent", "Files ahead of the consumer, of the scan that looks furthest.", func(f *figures) float64 { return float64(f.scans.Depth) }),
	gauge("PrefetchBytesInFlight", "Bytes of running requests.", func(f *figures) float64 { return float64(f.pool.InFlight) }),
	gauge("PrefetchBytesReady", "Bytes fetched and not decoded yet.", func(f *figures) float64 { return float64(f.pool.Bytes - f.pool.InFlight) }),
	gauge("PrefetchBudgetBytes", "Bytes that look-ahead may hold.", func(f *figures) float64 { return float64(f.budget) }),
	gauge("RttMicroseconds", "Time to the first byte of GETs, moving average.", func(f *figures) float64 { return micros(f.store.TTFB) }),
	gauge("BandwidthBytes", "Bytes a second of all connections together, the highest of late.", func(f *figures) float64 { return f.store.Bandwidth }),

	gauge("MemoryBytes", "Bytes that the process's budget knows of.", func(f *figures) float64 { return float64(f.memory.Total) }),
	gauge("MemoryLimitBytes", "Limit of the process's budget.", func(f *figures) float64 { return float64(f.memory.Limit) }),
	counter("CacheHits", "Reads answered from memory.", func(f *figures) float64 { return float64(f.store.CacheHits) }),
	counter("CacheMisses", "Reads that memory could not answer.", func(f *figures) float64 { return float64(f.store.CacheMisses) }),
	gauge("CacheBytes", "Bytes that the caches in memory hold.", func(f *figures) float64 { return float64(f.store.CacheBytes) }),
	counter("DiskCacheHits", "Reads answered from disk.", func(f *figures) float64 { return float64(f.disk.Hits) }),
	counter("DiskCacheMisses", "Reads that the disk could not answer.", func(f *figures) float64 { return float64(f.disk.Misses) }),
	counter("DiskCacheReadBytes", "Bytes answered from disk.", func(f *figures) float64 { return float64(f.disk.HitBytes) }),
	counter("DiskCacheWrittenBytes", "Bytes written to disk.", func(f *figures) float64 { return float64(f.disk.WrittenBytes) }),
	counter("DiskCacheEvicted", "Entries removed for room.", func(f *figures) float64 { return float64(f.disk.Evicted) }),
	counter("DiskCacheCorrupt", "Entries removed because they were damaged.", func(f *figures) float64 { return float64(f.disk.Corrupt) }),
	counter("DiskCacheFailed", "Entries not kept because the disk failed.", func(f *figures) float64 { return float64(f.disk.Failed) }),
}
