package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/internal/exit"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

// session is a client and the limits of one run.
type session struct {
	*app
	client *lakescan.Client
	cancel context.CancelCauseFunc
	tally  *tally

	// What is printed by --stats.
	firstRow     time.Time
	engine       string
	fromMetadata bool
	peak         int64               // held by scans
	peakSQL      int64               // reserved for SQL
	scanStatsNow func() source.Stats // of the scan under way
	lastStats    source.Stats
}

// withClient opens a client, runs use within the limits of the flags, and closes. An error that a limit or a signal caused is
// told as that limit or signal.
func (a *app) withClient(cmd *cobra.Command, use func(ctx context.Context, s *session) error) (err error) {
	if err := a.setup(cmd); err != nil {
		return err
	}
	s := &session{app: a, tally: &tally{}}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	s.cancel = cancel
	if d := a.cfg.Duration(config.KeyTimeout); d > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeoutCause(ctx, d, fmt.Errorf("%w: --timeout %s", exit.ErrTimeout, a.cfg.Text(config.KeyTimeout)))
		defer done()
	}
	cfg := a.cfg.Client(a.log)
	cfg.OnEvent, cfg.OnStore = s.scanEvent, s.storeEvent
	if off, _ := cmd.Flags().GetBool("no-cache"); off {
		cfg.NoCache = true
	}
	ctx, traceEnd, err := a.traced(ctx, cmd, &cfg)
	if err != nil {
		return err
	}
	defer func() { traceEnd(err) }()
	if s.client, err = lakescan.Open(ctx, cfg); err != nil {
		return s.cause(ctx, err)
	}
	stop := s.watch(ctx)
	err = use(ctx, s)
	stop()
	err = s.cause(ctx, err)
	if cerr := s.client.Close(); cerr != nil {
		a.log.Warn("close", "error", cerr)
	}
	return err
}

// scanEvent counts, and logs where a scan begins and ends.
func (s *session) scanEvent(e source.Event) {
	s.tally.event(e)
	if e.Name == "begin" || e.Name == "end" || e.Name == "error" {
		s.log.Info("scan "+e.Name, told("scan", e.Scan, "file", e.Location, "took", e.Duration, "error", e.Err)...)
	}
}

// storeEvent counts, and logs each request, and what went wrong with one.
func (s *session) storeEvent(e object.Event) {
	s.tally.request(e)
	if e.Kind != object.EventRequest {
		s.log.Info(e.Kind.String(), told("location", e.Location.String(), "range", e.Range.String(), "attempt", e.Attempt, "wait", e.Wait, "error", e.Err)...)
		return
	}
	if !s.log.Enabled(context.Background(), slog.LevelDebug) {
		return // there are many
	}
	r := e.Request
	s.log.Debug("request", told("kind", r.Kind.String(), "location", r.Location.String(), "range", r.Range.String(), "status", r.Status, "bytes", r.Bytes,
		"took", r.Duration, "attempt", r.Attempt, "hedge", r.Hedge, "error", r.Err)...)
}

// told leaves out of a log line what says nothing.
func told(pairs ...any) (out []any) {
	for i := 0; i < len(pairs); i += 2 {
		if v := pairs[i+1]; v != nil && v != "" && v != false && v != time.Duration(0) {
			out = append(out, pairs[i], v)
		}
	}
	return out
}

// cause replaces an error by the reason why its context ended, if that is ours.
func (s *session) cause(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, errQuiet) {
		return err
	}
	why := context.Cause(ctx)
	for _, ours := range []error{exit.ErrInterrupted, exit.ErrTimeout, exit.ErrMaxBytes, errQuiet} {
		if errors.Is(why, ours) {
			return why
		}
	}
	return err
}

// watch ends the run when its bytes are spent; they are counted ten times a second, since a request under way cannot be taken
// back anyway.
func (s *session) watch(ctx context.Context) (stop func()) {
	limit := s.cfg.Size(config.KeyMaxBytes)
	if limit == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	check := func() {
		if n := s.fetched(); n > limit {
			s.cancel(fmt.Errorf("%w: %s fetched, --max-bytes %s", exit.ErrMaxBytes, config.HumanSize(n), s.cfg.Text(config.KeyMaxBytes)))
		}
	}
	wg.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				check()
			}
		}
	})
	return func() { check(); cancel(); wg.Wait() }
}

// fetched is the bytes of bodies so far, from S3 and from disk.
func (s *session) fetched() int64 {
	st := s.client.Requests()
	return st.BytesRead + st.LocalBytes
}

// tally counts the events of all scans of a run, for the progress line.
type tally struct {
	metadata atomic.Int64 // GETs of manifests and table metadata

	mu struct {
		sync.Mutex
		claimed, done int64
		depth         int
	}
}

func (t *tally) event(e source.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Name {
	case "claim":
		t.mu.claimed++
	case "deliver":
		t.mu.done++
	case "depth":
		t.mu.depth = e.Depth
	}
}

// request counts GETs of what describes a table: Iceberg's manifests are Avro, its metadata is JSON.
func (t *tally) request(e object.Event) {
	if e.Kind != object.EventRequest || e.Request.Kind != object.Get {
		return
	}
	switch key := e.Request.Location.Key; {
	case strings.HasSuffix(key, ".avro"), strings.HasSuffix(key, ".metadata.json"), strings.HasSuffix(key, ".gz.metadata.json"), strings.HasSuffix(key, "version-hint.text"):
		t.metadata.Add(1)
	}
}

func (t *tally) read() (claimed, done int64, depth int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.claimed, t.mu.done, t.mu.depth
}
