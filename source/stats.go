package source

import (
	"sync/atomic"
	"time"
)

// Stats of one scan, so far. Names in metrics: see package metrics; the comment behind a field is the counter it feeds.
type Stats struct {
	Files, FilesEmpty  int64         // consumed; of these without a row to deliver (ObjectStoragePrefetchEmptySlots)
	Rows, Batches      int64         // delivered
	Units, Waves       int64         // decoded, fetched (ParquetReadTasks)
	RowGroups, Pruned  int64         // considered, and ruled out by statistics or selection
	Requests, Bytes    int64         // at the store's face: retries and hedges below it are counted there (S3GetRequests)
	OverReadBytes      int64         // fetched between wanted ranges (ParquetOverReadBytes)
	TailHits, TailMiss int64         // footers that the first read held, and those that needed another (ParquetFooterTailHits/Misses)
	SizesCorrected     int64         // files whose size is not the recorded one: read with one request more
	Prefetched         int64         // files opened before the consumer came to them (ObjectStoragePrefetchedReaders)
	Used, Unused       int64         // of these: consumed, thrown away (…Used, …Unused)
	Cancelled          int64         // slots dropped before they were ready (…Cancelled)
	HeadWaits          int64         // times the consumer found nothing ready
	FetchWait          time.Duration // of the consumer, for bytes (ObjectStorageWaitPrefetchedReaderMicroseconds)
	DecodeWait         time.Duration // of the consumer, for decoding
	FetchTime          time.Duration // sum over requests, from admission to the last byte (ParquetFetchWaitTimeMicroseconds)
	DecodeTime         time.Duration // sum over work items, on their goroutines
	ConsumerTime       time.Duration // between the consumer's steps
	TeardownWait       time.Duration // in Close (ObjectStorageTeardownWaitMicroseconds)
	Depth, DepthMax    int           // files ahead now, and at most (PrefetchDepthCurrent)
	DepthUp, DepthDown int64         // decisions of auto (ObjectStoragePrefetchDepthIncreases/Decreases)
	DepthLog           []DepthChange // the first maxDepthLog of them
	DecodedPeak        int64         // bytes of units and lent batches
	Latency            time.Duration // of the link, as learnt (RttMicroseconds)
	Bandwidth          float64       // bytes/s (BandwidthBytes)
	Wall               time.Duration // since Open, until the end
	Floor              time.Duration // W*: what the link, the decoder and the consumer allow at best
	LimitedBy          string        // the term of c that ruled: decode, link, requests, consumer, latency
}

// Eta is W*/W: 1 is the physical limit. 0 = not known yet.
func (s Stats) Eta() float64 {
	if s.Wall <= 0 || s.Floor <= 0 {
		return 0
	}
	return min(1, s.Floor.Seconds()/s.Wall.Seconds())
}

// DepthChange is one decision of the depth controller.
type DepthChange struct {
	At     time.Duration // since Open
	Depth  int
	Reason string
}

const maxDepthLog = 256

// Event is one step of a scan, for logs and traces.
type Event struct {
	Name     string // claim, open, wave, ready, deliver, wait, depth, error, close
	Ordinal  int    // of the file, -1 = none
	Location string
	Bytes    int64
	Duration time.Duration
	Depth    int
	Err      error
}

// counters are what several goroutines add to.
type counters struct {
	requests, bytes, overRead        atomic.Int64
	tailHits, tailMiss               atomic.Int64
	sizesCorrected                   atomic.Int64
	rowGroups, pruned                atomic.Int64
	fetchNanos, decodeNanos          atomic.Int64
	units, waves, rows, batches      atomic.Int64
	filesEmpty                       atomic.Int64
	prefetched, used, unused, cancel atomic.Int64
}

func (c *counters) fill(s *Stats) {
	s.Requests, s.Bytes, s.OverReadBytes = c.requests.Load(), c.bytes.Load(), c.overRead.Load()
	s.TailHits, s.TailMiss = c.tailHits.Load(), c.tailMiss.Load()
	s.SizesCorrected = c.sizesCorrected.Load()
	s.RowGroups, s.Pruned = c.rowGroups.Load(), c.pruned.Load()
	s.FetchTime, s.DecodeTime = time.Duration(c.fetchNanos.Load()), time.Duration(c.decodeNanos.Load())
	s.Units, s.Waves, s.Rows, s.Batches = c.units.Load(), c.waves.Load(), c.rows.Load(), c.batches.Load()
	s.FilesEmpty = c.filesEmpty.Load()
	s.Prefetched, s.Used, s.Unused, s.Cancelled = c.prefetched.Load(), c.used.Load(), c.unused.Load(), c.cancel.Load()
}

// snapshot is Reader.Stats.
func (s *scan) snapshot() Stats {
	var st Stats
	s.stats.fill(&st)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.mu.depth
	st.Files = int64(s.mu.done)
	st.HeadWaits, st.FetchWait, st.DecodeWait = s.mu.waits.heads, s.mu.waits.fetch, s.mu.waits.decode
	st.ConsumerTime = s.mu.waits.consumer
	st.Depth, st.DepthMax, st.DepthUp, st.DepthDown = c.depth, c.deepest, c.ups, c.downs
	st.DepthLog = append([]DepthChange(nil), c.log...)
	st.DecodedPeak = s.decoded.Peak()
	st.Latency, st.Bandwidth = c.rate.Latency, c.rate.Bandwidth
	st.Wall = time.Since(s.opened)
	return st
}
