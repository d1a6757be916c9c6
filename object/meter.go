package object

import (
	"context"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// EventKind says what an Event tells.
type EventKind uint8

// The kinds of events.
const (
	EventRequest         EventKind = iota // a request is over; Request is set
	EventRetry                            // an attempt failed and is repeated after Wait
	EventResume                           // a broken body goes on at Range
	EventHedge                            // a copy of a slow read was sent
	EventHedgeWon                         // and was faster
	EventHedgeSuppressed                  // none was sent: outage, or too many already
	EventChanged                          // an object changed under its pin
	EventClamped                          // a Retry-After was cut by Wait
)

// String is the name used in logs.
func (k EventKind) String() string {
	return [...]string{"request", "retry", "resume", "hedge", "hedge_won", "hedge_suppressed", "changed", "retry_after_clamped"}[k]
}

// Event is something worth counting or logging.
type Event struct {
	Kind     EventKind
	Location Location
	Range    Range
	Attempt  int           // of Retry: the one that failed
	Wait     time.Duration // of Retry and Clamped
	Err      error         // of Retry and Changed
	Request  Request       // of Request
}

// Stats are counters since the start of a Meter, and gauges. Durations of first bytes are those of good GET answers.
type Stats struct {
	Requests                            map[Kind]int64 // every request that was sent, retries and hedges included
	BytesRead, BytesWritten             int64          // of bodies
	Failed, Throttled                   int64          // requests: without a good answer in full; of these 429 and 503
	LocalReads, LocalBytes              int64          // of stores that make no requests
	Retries, Resumes, Changed           int64
	Hedges, HedgesWon, HedgesSuppressed int64
	RetryWait, RetryAfterClamped        time.Duration
	ConnsCreated, ConnsReused           int64
	CacheHits, CacheMisses              int64
	CacheBytes                          int64 // now

	InFlight               int64         // calls of Read below Metered, now
	TTFB                   time.Duration // moving average, weight 1/8
	TTFB50, TTFB95, TTFB99 time.Duration
	Bandwidth              float64 // bytes/s over all connections: the highest half second seen, halved every 10 s
	ConnRate               float64 // bytes/s of one connection, moving average over bodies of 256 KiB and more
}

// Meter counts. One Meter serves Retry, Metered and Cached of one chain, or of all chains of a process. It is safe for concurrent use.
type Meter struct {
	hook func(Event)

	requests                                       [numKinds]atomic.Int64
	bytesRead, bytesWritten, failed, throttledN    atomic.Int64
	localReads, localBytes                         atomic.Int64
	retries, resumes, changedN                     atomic.Int64
	hedges, hedgesWon, hedgesSuppressed            atomic.Int64
	retryWait, clampedBy, connsCreated, connsReuse atomic.Int64
	cacheHits, cacheMisses, cacheBytes, inFlight   atomic.Int64

	mu struct {
		sync.Mutex
		ttfb     histogram
		average  float64 // of first bytes, ns
		connRate float64
		flow     flow
	}
}

// NewMeter makes a Meter; hook, which may be nil, is called for every event on the goroutine where it happens, under no
// lock, and must be quick.
func NewMeter(hook func(Event)) *Meter { return &Meter{hook: hook} }

func (m *Meter) emit(e Event) {
	if m.hook != nil {
		m.hook(e)
	}
}

// Stats takes a snapshot. Counters are read one by one: a request that ends meanwhile may be in some and not yet in others.
func (m *Meter) Stats() Stats {
	s := Stats{
		Requests:  map[Kind]int64{},
		BytesRead: m.bytesRead.Load(), BytesWritten: m.bytesWritten.Load(), Failed: m.failed.Load(), Throttled: m.throttledN.Load(),
		LocalReads: m.localReads.Load(), LocalBytes: m.localBytes.Load(),
		Retries: m.retries.Load(), Resumes: m.resumes.Load(), Changed: m.changedN.Load(),
		Hedges: m.hedges.Load(), HedgesWon: m.hedgesWon.Load(), HedgesSuppressed: m.hedgesSuppressed.Load(),
		RetryWait: time.Duration(m.retryWait.Load()), RetryAfterClamped: time.Duration(m.clampedBy.Load()),
		ConnsCreated: m.connsCreated.Load(), ConnsReused: m.connsReuse.Load(),
		CacheHits: m.cacheHits.Load(), CacheMisses: m.cacheMisses.Load(), CacheBytes: m.cacheBytes.Load(),
		InFlight: m.inFlight.Load(),
	}
	for k := range m.requests {
		if n := m.requests[k].Load(); n > 0 {
			s.Requests[Kind(k)] = n
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.TTFB = time.Duration(m.mu.average)
	s.TTFB50, s.TTFB95, s.TTFB99 = m.mu.ttfb.quantile(0.50), m.mu.ttfb.quantile(0.95), m.mu.ttfb.quantile(0.99)
	s.ConnRate = m.mu.connRate
	s.Bandwidth = m.mu.flow.high(time.Now())
	return s
}

// record counts one request.
func (m *Meter) record(r Request) {
	m.requests[r.Kind].Add(1)
	switch r.Kind {
	case Get, List, Head:
		m.bytesRead.Add(r.Bytes)
	default:
		m.bytesWritten.Add(r.Bytes)
	}
	if r.Err != nil {
		m.failed.Add(1)
	}
	if r.Throttled {
		m.throttledN.Add(1)
	}
	if r.NewConn {
		m.connsCreated.Add(1)
	} else if r.Status != 0 {
		m.connsReuse.Add(1)
	}
	if r.Kind == Get && r.TTFB > 0 && r.Status < 300 {
		m.timing(r)
	}
	m.emit(Event{Kind: EventRequest, Location: r.Location, Range: r.Range, Attempt: r.Attempt, Err: r.Err, Request: r})
}

func (m *Meter) timing(r Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.ttfb.add(r.TTFB)
	m.mu.average = moving(m.mu.average, float64(r.TTFB))
	body := r.Duration - r.TTFB
	if r.Bytes >= enough && body > 0 {
		m.mu.connRate = moving(m.mu.connRate, float64(r.Bytes)/body.Seconds())
	}
	m.mu.flow.add(r.Start.Add(r.TTFB), r.Start.Add(r.Duration), r.Bytes)
}

func moving(old, sample float64) float64 {
	if old == 0 {
		return sample
	}
	return old + (sample-old)/8
}

func (m *Meter) retry(loc Location, attempt int, wait time.Duration, err error) {
	m.retries.Add(1)
	m.retryWait.Add(int64(wait))
	m.emit(Event{Kind: EventRetry, Location: loc, Attempt: attempt, Wait: wait, Err: err})
}

func (m *Meter) resumed(loc Location, r Range) {
	m.resumes.Add(1)
	m.emit(Event{Kind: EventResume, Location: loc, Range: r})
}

func (m *Meter) changed(loc Location, err error) {
	m.changedN.Add(1)
	m.emit(Event{Kind: EventChanged, Location: loc, Err: err})
}

func (m *Meter) clamped(loc Location, by time.Duration) {
	m.clampedBy.Add(int64(by))
	m.emit(Event{Kind: EventClamped, Location: loc, Wait: by})
}

func (m *Meter) hedged(loc Location, r Range) {
	m.hedges.Add(1)
	m.emit(Event{Kind: EventHedge, Location: loc, Range: r})
}

func (m *Meter) hedgeWon(loc Location) {
	m.hedgesWon.Add(1)
	m.emit(Event{Kind: EventHedgeWon, Location: loc})
}

func (m *Meter) hedgeSuppressed(loc Location) {
	m.hedgesSuppressed.Add(1)
	m.emit(Event{Kind: EventHedgeSuppressed, Location: loc})
}

// flow estimates the rate of all bodies together. Each body's bytes are spread evenly over its time; the highest rate of a window
// is kept and halves every flowHalf, so that a link that got slower is noticed.
type flow struct {
	slots  [flowSlots]float64 // bytes, a ring over time
	newest int64              // number of the latest slot, counted from the zero time's Unix epoch
	peak   float64            // bytes/s
	peakAt time.Time
}

const (
	flowSlots  = 64
	flowSlot   = 125 * time.Millisecond
	flowWindow = 4 // slots that a rate is taken over
	flowHalf   = 10 * time.Second
)

func (f *flow) add(from, to time.Time, bytes int64) {
	if bytes <= 0 {
		return
	}
	span := max(to.Sub(from), time.Microsecond)
	last := to.UnixNano() / int64(flowSlot)
	f.advance(last)
	first := max(from.UnixNano()/int64(flowSlot), f.newest-flowSlots+1)
	for i := first; i <= last; i++ {
		if i <= f.newest-flowSlots {
			continue
		}
		begin, end := max(i*int64(flowSlot), from.UnixNano()), min((i+1)*int64(flowSlot), from.UnixNano()+int64(span))
		if share := float64(end-begin) / float64(span); share > 0 {
			f.slots[mod(i)] += float64(bytes) * share
		}
	}
	f.settle(to)
}

func mod(i int64) int { return int(((i % flowSlots) + flowSlots) % flowSlots) }

// advance clears the slots between the newest and i.
func (f *flow) advance(i int64) {
	if f.newest == 0 || i-f.newest >= flowSlots {
		f.slots = [flowSlots]float64{}
		f.newest = i
		return
	}
	for f.newest < i {
		f.newest++
		f.slots[mod(f.newest)] = 0
	}
}

// settle takes the highest rate over flowWindow consecutive slots into the peak.
func (f *flow) settle(now time.Time) {
	best, sum := 0.0, 0.0
	for k := range flowSlots {
		i := f.newest - flowSlots + 1 + int64(k)
		sum += f.slots[mod(i)]
		if k >= flowWindow {
			sum -= f.slots[mod(i-flowWindow)]
		}
		best = max(best, sum)
	}
	rate := best / (flowWindow * flowSlot).Seconds()
	if rate >= f.high(now) {
		f.peak, f.peakAt = rate, now
	}
}

// high is the peak as of now.
func (f *flow) high(now time.Time) float64 {
	if f.peak == 0 {
		return 0
	}
	age := max(now.Sub(f.peakAt), 0)
	return f.peak / math.Exp2(age.Seconds()/flowHalf.Seconds())
}

// Metered counts into m the requests that the stores below report, and the reads of stores that report none.
func Metered(s Store, m *Meter) Store { return &metered{s, m} }

type metered struct {
	store Store
	meter *Meter
}

// watch binds the meter to one call. The attempt is copied: the one above may be used for more than one call.
func (d *metered) watch(ctx context.Context) (context.Context, *Attempt) {
	a := &Attempt{Number: 1}
	if above := AttemptFrom(ctx); above != nil {
		*a = *above
	}
	a.request = append(a.request[:len(a.request):len(a.request)], d.meter.record)
	return withAttempt(ctx, a), a
}

func (d *metered) Read(ctx context.Context, loc Location, r Range, dst []byte, o ReadOptions) ([]byte, Info, error) {
	ctx, a := d.watch(ctx)
	reported := false
	a.request = append(a.request, func(Request) { reported = true })
	d.meter.inFlight.Add(1)
	defer d.meter.inFlight.Add(-1)
	data, info, err := d.store.Read(ctx, loc, r, dst, o)
	if !reported && err == nil {
		d.meter.localReads.Add(1)
		d.meter.localBytes.Add(int64(len(data)))
	}
	return data, info, err
}

func (d *metered) AtHand(loc Location, r Range, o ReadOptions) bool {
	return AtHand(d.store, loc, r, o)
}

func (d *metered) List(ctx context.Context, prefix Location) iter.Seq2[Info, error] {
	ctx, _ = d.watch(ctx)
	return ListOf(ctx, d.store, prefix)
}

func (d *metered) Delete(ctx context.Context, loc Location) error {
	ctx, _ = d.watch(ctx)
	return DeleteIn(ctx, d.store, loc)
}

func (d *metered) Create(ctx context.Context, loc Location, ifMatch string) (Upload, error) {
	ctx, _ = d.watch(ctx)
	u, err := CreateIn(ctx, d.store, loc, ifMatch)
	if err != nil {
		return nil, err
	}
	return meteredUpload{u, d}, nil
}

type meteredUpload struct {
	Upload
	d *metered
}

func (u meteredUpload) Commit(ctx context.Context) (Info, error) {
	ctx, _ = u.d.watch(ctx)
	return u.Upload.Commit(ctx)
}
