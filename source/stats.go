package source

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lakescan/lakescan/prefetchpool"
)

// Stats of one scan, so far. Names in metrics: see package metrics; the comment behind a field is the counter it feeds.
type Stats struct {
	Snapshot           int64         // of the table that was read; 0 = of no table, or of several
	Files, FilesEmpty  int64         // consumed; of these without a row to deliver (ObjectStoragePrefetchEmptySlots)
	Rows, Batches      int64         // delivered
	Units, Waves       int64         // decoded, fetched (ParquetReadTasks)
	RowGroups, Pruned  int64         // considered, and ruled out by statistics or selection
	Requests, Bytes    int64         // at the store's face: retries and hedges below it are counted there (S3GetRequests)
	OverReadBytes      int64         // fetched between wanted ranges (ParquetOverReadBytes)
	Reused             int64         // units that the opening's bytes served, wholly or in part (ParquetPartialReadsServed)
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
	FetchedPeak        int64         // bytes in flight and landed, until they are decoded
	RunInline          int64         // requests run by the goroutine that awaited them (ObjectStoragePrefetchRunInline)
	QueueWait          time.Duration // sum over requests, before they started (ObjectStoragePrefetchQueueWaitMicroseconds)
	SlotWait           time.Duration // in which the next request waited for a slot of the pool
	BudgetWait         time.Duration // … for bytes of the budget (ObjectStoragePrefetchBudgetWaitMicroseconds)
	LimitWait          time.Duration // … because more in flight, or held, would bring nothing
	OverdraftBytes     int64         // admitted over the budget for a consumer that waited (ObjectStoragePrefetchOverdraftBytes)
	Throttled          int64         // answers that asked for fewer requests (S3GetRequestThrottled)
	InFlightPeak       int           // requests at once
	Latency            time.Duration // of the link, as learnt (RttMicroseconds)
	Bandwidth          float64       // bytes/s (BandwidthBytes)
	Wall               time.Duration // since Open, until the end
	Floor              time.Duration // W*: what the link, the decoder and the consumer allow at best
	LimitedBy          string        // what ruled: decode, link, requests, consumer, latency; or what kept the scan from its floor: budget, pool, throttling
}

// Eta is W*/W: 1 is the physical limit. 0 = not known yet.
func (s Stats) Eta() float64 {
	if s.Wall <= 0 || s.Floor <= 0 {
		return 0
	}
	return min(1, s.Floor.Seconds()/s.Wall.Seconds())
}

// Add is the figures of two scans of one statement together: counts are summed, gauges are the larger ones, and the limit is that of the scan that
// took longer.
func (s Stats) Add(o Stats) Stats {
	if o.Wall > s.Wall {
		s, o = o, s
	}
	if o.Snapshot != s.Snapshot && o.Wall > 0 {
		s.Snapshot = 0
	}
	for _, f := range []struct{ to, from *int64 }{
		{&s.Files, &o.Files},
		{&s.FilesEmpty, &o.FilesEmpty},
		{&s.Rows, &o.Rows},
		{&s.Batches, &o.Batches},
		{&s.Units, &o.Units},
		{&s.Waves, &o.Waves},
		{&s.RowGroups, &o.RowGroups},
		{&s.Pruned, &o.Pruned},
		{&s.Requests, &o.Requests},
		{&s.Bytes, &o.Bytes},
		{&s.OverReadBytes, &o.OverReadBytes},
		{&s.Reused, &o.Reused},
		{&s.TailHits, &o.TailHits},
		{&s.TailMiss, &o.TailMiss},
		{&s.SizesCorrected, &o.SizesCorrected},
		{&s.Prefetched, &o.Prefetched},
		{&s.Used, &o.Used},
		{&s.Unused, &o.Unused},
		{&s.Cancelled, &o.Cancelled},
		{&s.HeadWaits, &o.HeadWaits},
		{&s.DepthUp, &o.DepthUp},
		{&s.DepthDown, &o.DepthDown},
		{&s.DecodedPeak, &o.DecodedPeak},
		{&s.FetchedPeak, &o.FetchedPeak},
		{&s.RunInline, &o.RunInline},
		{&s.OverdraftBytes, &o.OverdraftBytes},
		{&s.Throttled, &o.Throttled},
	} {
		*f.to += *f.from
	}
	for _, f := range []struct{ to, from *time.Duration }{
		{&s.FetchWait, &o.FetchWait},
		{&s.DecodeWait, &o.DecodeWait},
		{&s.FetchTime, &o.FetchTime},
		{&s.DecodeTime, &o.DecodeTime},
		{&s.ConsumerTime, &o.ConsumerTime},
		{&s.TeardownWait, &o.TeardownWait},
		{&s.QueueWait, &o.QueueWait},
		{&s.SlotWait, &o.SlotWait},
		{&s.BudgetWait, &o.BudgetWait},
		{&s.LimitWait, &o.LimitWait},
	} {
		*f.to += *f.from
	}
	s.Depth, s.DepthMax = max(s.Depth, o.Depth), max(s.DepthMax, o.DepthMax)
	s.InFlightPeak = max(s.InFlightPeak, o.InFlightPeak)
	return s
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
	Scan     uint64        // which scan: unique in this process
	Name     string        // begin, claim, open, wave, ready, empty, deliver, wait, depth, error, end
	At       time.Duration // since Open
	Ordinal  int           // of the file, -1 = none
	Location string
	Bytes    int64
	Duration time.Duration // begin: Config.Planned; open, wave: of the reads, from admission to the last byte; wait: of the consumer; end: of the scan
	Depth    int           // claim: files ahead; open: serial rounds of reads; depth: the new one
	Err      error
	Context  context.Context // of begin: the scan's own, so that a trace finds its parent; else nil
}

// counters are what several goroutines add to.
type counters struct {
	requests, bytes, overRead        atomic.Int64
	tailHits, tailMiss, reused       atomic.Int64
	sizesCorrected                   atomic.Int64
	rowGroups, pruned                atomic.Int64
	fetchNanos, decodeNanos          atomic.Int64
	units, waves, rows, batches      atomic.Int64
	filesEmpty                       atomic.Int64
	prefetched, used, unused, cancel atomic.Int64
}

func (c *counters) fill(s *Stats) {
	s.Requests, s.Bytes, s.OverReadBytes = c.requests.Load(), c.bytes.Load(), c.overRead.Load()
	s.Reused = c.reused.Load()
	s.TailHits, s.TailMiss = c.tailHits.Load(), c.tailMiss.Load()
	s.SizesCorrected = c.sizesCorrected.Load()
	s.RowGroups, s.Pruned = c.rowGroups.Load(), c.pruned.Load()
	s.FetchTime, s.DecodeTime = time.Duration(c.fetchNanos.Load()), time.Duration(c.decodeNanos.Load())
	s.Units, s.Waves, s.Rows, s.Batches = c.units.Load(), c.waves.Load(), c.rows.Load(), c.batches.Load()
	s.FilesEmpty = c.filesEmpty.Load()
	s.Prefetched, s.Used, s.Unused, s.Cancelled = c.prefetched.Load(), c.used.Load(), c.unused.Load(), c.cancel.Load()
}

// physics fills the floor: W* = N·c + r·L + min(S/B, d) with c the largest of d/T, u/streams, R·L/C - r·L/N and S/B, all as measured. Of the
// time that C slots are busy with N·R requests, r·L passes for the first file anyhow.
func (s *Stats) physics(workers, streams, slots int, rounds float64) {
	n := float64(s.Files)
	if n == 0 {
		return
	}
	d, latency := s.DecodeTime.Seconds()/n, s.Latency.Seconds()
	link := 0.0
	if s.Bandwidth > 0 {
		link = float64(s.Bytes) / n / s.Bandwidth
	}
	cost := 0.0
	for _, t := range []struct {
		name string
		v    float64
	}{
		{"decode", d / float64(workers)},
		{"consumer", s.ConsumerTime.Seconds() / n / float64(streams)},
		{"requests", (float64(s.Requests)/float64(slots) - rounds) * latency / n},
		{"link", link},
	} {
		if t.v > cost {
			cost, s.LimitedBy = t.v, t.name
		}
	}
	once := rounds*latency + min(link, d)
	if once > n*cost {
		s.LimitedBy = "latency"
	}
	s.Floor = time.Duration((n*cost + once) * float64(time.Second))
}

// blame names what kept a scan from its floor, where that is not what the floor itself consists of: the consumer waited for bytes
// for a good part of the time, and the requests for them waited for something that is not the link.
func (s *Stats) blame() {
	if eta := s.Eta(); eta == 0 || eta >= blameless || s.FetchWait < s.Wall/10 {
		return
	}
	switch enough := s.FetchWait / 2; {
	case s.Throttled > 0:
		s.LimitedBy = "throttling"
	case s.BudgetWait >= enough && s.BudgetWait >= s.SlotWait:
		s.LimitedBy = "budget"
	case s.SlotWait >= enough:
		s.LimitedBy = "pool"
	}
}

// blameless is the eta from which on the floor's own term is the whole story.
const blameless = 0.85

// lane fills what the pool knows of the scan.
func (s *Stats) lane(l prefetchpool.Stats) {
	s.FetchedPeak, s.InFlightPeak = l.PeakBytes, l.PeakRunning
	s.RunInline, s.QueueWait, s.OverdraftBytes, s.Throttled = l.RunInline, l.QueueWait, l.OverdraftBytes, l.Throttle
	s.SlotWait, s.BudgetWait, s.LimitWait = l.SlotWait, l.BudgetWait, l.LimitWait
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
	st.DepthLog = append([]DepthChange(nil), s.mu.depthLog...)
	st.DecodedPeak = s.decoded.Peak()
	st.Latency, st.Bandwidth = c.rate.Latency, c.rate.Bandwidth
	end := s.mu.endedAt
	if end.IsZero() {
		end = time.Now()
	}
	st.Wall = end.Sub(s.opened)
	rounds := c.opens.v
	if st.Waves > 0 {
		rounds++
	}
	st.physics(s.workers, len(s.cursors), s.cfg.Lane.Pool().Slots(), rounds)
	st.lane(s.cfg.Lane.Stats())
	st.blame()
	return st
}

// note writes the depth log and queues an event when the depth has changed; mu is held.
func (s *scan) note() {
	c := &s.mu.depth
	if s.mu.noted == c.depth {
		return
	}
	s.mu.noted = c.depth
	if len(s.mu.depthLog) < maxDepthLog {
		s.mu.depthLog = append(s.mu.depthLog, DepthChange{At: time.Since(s.opened), Depth: c.depth, Reason: c.reason})
	}
	s.event(Event{Name: "depth", Ordinal: -1, Depth: c.depth})
}

// event queues an event for emit; mu is held.
func (s *scan) event(e Event) {
	if s.cfg.OnEvent != nil {
		e.At = time.Since(s.opened)
		s.mu.events = append(s.mu.events, e)
	}
}

// slotEvent queues an event about a file; mu is held.
func (s *scan) slotEvent(name string, sl *slot, e Event) {
	if s.cfg.OnEvent != nil {
		e.Name, e.Ordinal, e.Location = name, sl.task.Ordinal, sl.task.File.Location.Recorded
		s.event(e)
	}
}

// emit hands queued events to the hook: when it returns, all that was queued before has been told. mu is not held.
func (s *scan) emit() {
	if s.cfg.OnEvent == nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	s.mu.Lock()
	events := s.mu.events
	s.mu.events = nil
	s.mu.Unlock()
	for _, e := range events {
		s.cfg.OnEvent(e)
	}
}
