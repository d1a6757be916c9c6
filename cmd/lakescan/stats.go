package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/internal/usage"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/query/render"
	"github.com/lakescan/lakescan/source"
)

func addStats(cmd *cobra.Command) {
	cmd.Flags().Var(&choice{of: []string{"text", "json"}}, "stats", "print what the run cost on stderr: text, json")
	cmd.Flags().Lookup("stats").NoOptDefVal = "text"
}

// choice is a flag with a few words, which may stand alone.
type choice struct {
	of    []string
	value string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "string" }
func (c *choice) Set(s string) error {
	for _, w := range c.of {
		if strings.EqualFold(w, s) {
			c.value = w
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", s, strings.Join(c.of, ", "))
}

// runStats is what --stats=json prints; documented in docs/json.md. Times are in milliseconds.
type runStats struct {
	Complete     bool             `json:"complete"` // false: the run was broken off, and the figures are those until then
	Rows         int64            `json:"rows"`
	WallMS       int64            `json:"wall_ms"`
	FirstRowMS   *int64           `json:"first_row_ms,omitempty"`
	Engine       string           `json:"engine,omitempty"` // of SQL
	FromMetadata bool             `json:"from_metadata,omitempty"`
	Requests     map[string]int64 `json:"requests"`          // sent, by kind
	Metadata     int64            `json:"requests_metadata"` // of these GETs: manifests and table metadata
	Retried      int64            `json:"retried"`
	Resumed      int64            `json:"resumed"`
	Throttled    int64            `json:"throttled"`
	Hedged       int64            `json:"hedged"`
	HedgesWon    int64            `json:"hedges_won"`
	CacheHits    int64            `json:"cache_hits"` // reads answered from memory
	CPUMS        int64            `json:"cpu_ms"`     // of the process; 0 = unknown
	BytesFetched int64            `json:"bytes_fetched"`
	Disk         *diskStats       `json:"disk_cache,omitempty"`
	LocalReads   int64            `json:"local_reads"`
	LocalBytes   int64            `json:"local_bytes"`
	MemoryPeak   int64            `json:"memory_peak"`  // held by scans, as sampled at each batch
	MemorySQL    int64            `json:"memory_sql"`   // what the SQL engine was allowed to use, at most
	ProcessPeak  int64            `json:"process_peak"` // resident memory of the process at its largest; 0 = unknown
	MemoryLimit  int64            `json:"memory_limit"`
	Scan         *source.Stats    `json:"scan,omitempty"`
}

// diskStats is what the cache on disk did.
type diskStats struct {
	Hits         int64 `json:"hits"`
	Misses       int64 `json:"misses"`
	HitBytes     int64 `json:"hit_bytes"`
	WrittenBytes int64 `json:"written_bytes"`
	Evicted      int64 `json:"evicted"`
	Corrupt      int64 `json:"corrupt"`
	Failed       int64 `json:"failed"`
}

// plural counts things.
func plural(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return render.Thousands(n) + " " + thing
}

func (s *session) runStats(out *output, err error) runStats {
	req := s.client.Requests()
	m := s.client.Budget().Stats()
	r := runStats{
		Complete: err == nil, WallMS: time.Since(s.started).Milliseconds(), Engine: s.engine, FromMetadata: s.fromMetadata,
		Requests: map[string]int64{}, Retried: req.Retries, Resumed: req.Resumes, Throttled: req.Throttled, Hedged: req.Hedges, HedgesWon: req.HedgesWon,
		Metadata: s.tally.metadata.Load(), CacheHits: req.CacheHits, CPUMS: usage.CPU().Milliseconds(), BytesFetched: req.BytesRead,
		LocalReads: req.LocalReads, LocalBytes: req.LocalBytes, MemoryPeak: max(s.peak, m.Total-m.Held[memory.SQL]), MemorySQL: max(s.peakSQL, m.Held[memory.SQL]), MemoryLimit: m.Limit,
		ProcessPeak: usage.PeakRSS(),
	}
	if out != nil {
		r.Rows = out.rows
	}
	for kind, n := range req.Requests {
		r.Requests[kind.String()] = n
	}
	if s.cfg.Text(config.KeyCacheDir) != "" {
		d := s.client.DiskCache()
		r.Disk = &diskStats{d.Hits, d.Misses, d.HitBytes, d.WrittenBytes, d.Evicted, d.Corrupt, d.Failed}
	}
	if !s.firstRow.IsZero() {
		ms := s.firstRow.Sub(s.started).Milliseconds()
		r.FirstRowMS = &ms
	}
	if st := s.scanStats(); st.Files+st.Requests+st.Batches > 0 {
		r.Scan = &st
	}
	return r
}

func (r runStats) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s", plural(r.Rows, "row"), seconds(r.WallMS))
	if r.FirstRowMS != nil {
		fmt.Fprintf(&b, " (first row %s)", seconds(*r.FirstRowMS))
	}
	if r.Scan != nil && r.Scan.Snapshot != 0 {
		fmt.Fprintf(&b, "   snapshot %d", r.Scan.Snapshot)
	}
	if r.Engine != "" {
		b.WriteString("   engine " + r.Engine)
	}
	if r.FromMetadata {
		b.WriteString("   answered from metadata")
	}
	if !r.Complete {
		b.WriteString("   INCOMPLETE")
	}
	b.WriteByte('\n')
	if st := r.Scan; st != nil {
		files := render.Thousands(st.Files)
		if st.Files == 0 && st.Rows > 0 {
			files = "1, not to its end"
		}
		fmt.Fprintf(&b, "files     %s     row groups %s of %s     rows read %s", files, render.Thousands(st.RowGroups-st.Pruned), render.Thousands(st.RowGroups), render.Thousands(st.Rows))
		if st.Wall > 0 {
			fmt.Fprintf(&b, ", %s rows/s", render.Thousands(int64(float64(st.Rows)/st.Wall.Seconds())))
		}
		b.WriteByte('\n')
	}
	kinds := []string{}
	for _, k := range sortedKeys(r.Requests) {
		if r.Requests[k] > 0 {
			text := fmt.Sprintf("%s %s", render.Thousands(r.Requests[k]), k)
			if k == "get" && r.Metadata > 0 {
				text += fmt.Sprintf(" (data %s, metadata %s)", render.Thousands(r.Requests[k]-r.Metadata), render.Thousands(r.Metadata))
			}
			kinds = append(kinds, text)
		}
	}
	if len(kinds) > 0 {
		fmt.Fprintf(&b, "requests  %s   %d retried, %d resumed, %d throttled, %d hedged", strings.Join(kinds, ", "), r.Retried, r.Resumed, r.Throttled, r.Hedged)
		if r.CacheHits > 0 {
			fmt.Fprintf(&b, "   %s reads from memory", render.Thousands(r.CacheHits))
		}
		b.WriteByte('\n')
	}
	if r.LocalReads > 0 {
		fmt.Fprintf(&b, "local     %s reads, %s\n", render.Thousands(r.LocalReads), config.HumanSize(r.LocalBytes))
	}
	if d := r.Disk; d != nil {
		fmt.Fprintf(&b, "disk      %s of %s reads, %s from disk, %s written", render.Thousands(d.Hits), render.Thousands(d.Hits+d.Misses), config.HumanSize(d.HitBytes), config.HumanSize(d.WrittenBytes))
		if d.Evicted+d.Corrupt+d.Failed > 0 {
			fmt.Fprintf(&b, "   %d evicted, %d damaged, %d not written", d.Evicted, d.Corrupt, d.Failed)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "bytes     %s fetched", config.HumanSize(r.BytesFetched))
	if st := r.Scan; st != nil {
		fmt.Fprintf(&b, ", %s between ranges     footer tails %d hit, %d short", config.HumanSize(st.OverReadBytes), st.TailHits, st.TailMiss)
		if st.DepthMax == 0 && st.Used == 0 { // each read is a wait
			fmt.Fprintf(&b, "\nlook-ahead none   waited %s", seconds(st.FetchTime.Milliseconds()))
		} else {
			fmt.Fprintf(&b, "\nlook-ahead depth %d, most %d   %d used, %d unused   waited %s", st.Depth, st.DepthMax, st.Used, st.Unused, seconds((st.FetchWait + st.DecodeWait).Milliseconds()))
		}
		if st.Floor > 0 && st.Wall > 0 {
			fmt.Fprintf(&b, "   eta %.2f (floor %s", st.Eta(), seconds(st.Floor.Milliseconds()))
			if st.LimitedBy != "" {
				b.WriteString(", by " + st.LimitedBy)
			}
			b.WriteByte(')')
		}
	}
	fmt.Fprintf(&b, "\nmemory    scans %s at most", config.HumanSize(r.MemoryPeak))
	if r.MemorySQL > 0 {
		fmt.Fprintf(&b, ", SQL might have used %s", config.HumanSize(r.MemorySQL))
	}
	if r.ProcessPeak > 0 {
		fmt.Fprintf(&b, ", the process %s", config.HumanSize(r.ProcessPeak))
	}
	fmt.Fprintf(&b, "   budget %s", config.HumanSize(r.MemoryLimit))
	if r.CPUMS > 0 {
		b.WriteString("   cpu " + seconds(r.CPUMS))
	}
	b.WriteByte('\n')
	return b.String()
}

func seconds(ms int64) string { return fmt.Sprintf("%.2f s", float64(ms)/1000) }

// follow remembers where the figures of the scan under way are read.
func (s *session) follow(stats func() source.Stats) { s.scanStatsNow = stats }

func (s *session) scanStats() source.Stats {
	if s.scanStatsNow != nil {
		return s.scanStatsNow()
	}
	return s.lastStats
}

// files are those consumed so far, and the depth of the look-ahead.
func (s *session) files() (n int64, depth int) {
	if s.scanStatsNow != nil {
		st := s.scanStatsNow()
		return st.Files, st.Depth
	}
	_, done, depth := s.tally.read()
	return done, depth
}

func (s *session) markFirst() {
	if s.firstRow.IsZero() {
		s.firstRow = time.Now()
	}
}

// finishOutput keeps or drops the output and prints the figures, also of a run that was broken off.
func (s *session) finishOutput(cmd *cobra.Command, out *output, err error) error {
	out.progress.stop()
	if err == nil {
		err = out.close()
	} else {
		out.abort()
	}
	mode := cmd.Flags().Lookup("stats")
	if mode == nil || mode.Value.String() == "" || s.stdout.closed.Load() {
		return err
	}
	r := s.runStats(out, err)
	if mode.Value.String() == "json" {
		// One line, the last on stderr: an error object goes before it.
		if err != nil {
			s.lateStats = append(mustJSON(r), '\n')
			return err
		}
		_, werr := s.stderr.Write(append(mustJSON(r), '\n'))
		return werr
	}
	_, _ = io.WriteString(s.stderr, r.text())
	return err
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // plain structs of numbers and strings
		panic(err)
	}
	return b
}

// sample looks at the memory held, once a batch.
func (s *session) sample() {
	m := s.client.Budget().Stats()
	s.peak, s.peakSQL = max(s.peak, m.Total-m.Held[memory.SQL]), max(s.peakSQL, m.Held[memory.SQL])
}
