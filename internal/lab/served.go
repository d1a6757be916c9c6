package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Link is what lies between a client and the store.
type Link struct {
	LatencyMS int    `json:"latency_ms"`
	JitterMS  int    `json:"jitter_ms"`
	RateMBps  int    `json:"rate_mbps"` // shared by all connections, first come first served; 0 = not limited
	Seed      uint64 `json:"seed"`      // of jitter
}

// Link is the cell's.
func (c Cell) Link() Link {
	return Link{LatencyMS: c.LatencyMS, JitterMS: c.JitterMS, RateMBps: c.RateMBps}
}

// Server is an S3 store of generated tables behind a link. It answers GET with ranges and conditions, HEAD, and the control requests under
// /-/ (at once, without the link): POST /-/link sets it, POST /-/table makes one, POST /-/reset and GET /-/traffic are its counters. Each answer
// waits for the latency before its first byte, each connection counts. It does not model the time of a TCP or TLS handshake.
type Server struct {
	conns    atomic.Int64
	inFlight atomic.Int64
	most     atomic.Int64
	bytes    atomic.Int64

	build sync.Mutex // one table is made at a time

	mu struct {
		sync.Mutex
		link    Link
		rand    *rand.Rand
		free    time.Time // when the link has sent what it took so far
		objects map[string][]byte
		bodies  map[int]*body // by KiB
		tables  map[string]*servedTable
		counts  map[string]int64
	}
}

type servedTable struct {
	*lakeTable
	body  *body
	files int
}

// NewServer makes an empty store with a link of no latency.
func NewServer() *Server {
	s := &Server{}
	s.mu.objects, s.mu.bodies, s.mu.tables, s.mu.counts = map[string][]byte{}, map[int]*body{}, map[string]*servedTable{}, map[string]int64{}
	s.mu.rand = rand.New(rand.NewPCG(1, 1))
	return s
}

type connKey struct{}

// ConnContext lets connections be counted, at their first request for data; it fits http.Server.
func (s *Server) ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, new(atomic.Bool))
}

// ServeHTTP answers a client or a control request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if verb, ok := strings.CutPrefix(r.URL.Path, "/-/"); ok {
		s.control(w, r, verb)
		return
	}
	s.count(r.Method)
	if seen, ok := r.Context().Value(connKey{}).(*atomic.Bool); ok && !seen.Swap(true) {
		s.conns.Add(1)
	}
	n := s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	if !sleep(r.Context(), s.delay()) {
		return
	}
	data := s.find(strings.TrimPrefix(r.URL.Path, "/"))
	if data == nil {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>")
		return
	}
	w.Header().Set("ETag", `"`+strconv.FormatUint(hash(r.URL.Path), 16)+`"`)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(&shaped{w, r.Context(), s}, r, path.Base(r.URL.Path), time.Unix(1_700_000_000, 0), bytes.NewReader(data))
}

// hash is FNV-1a.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func (s *Server) count(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.counts[method]++
}

func (s *Server) delay() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.link
	d := time.Duration(l.LatencyMS) * time.Millisecond
	if l.JitterMS > 0 {
		d += time.Duration((2*s.mu.rand.Float64() - 1) * float64(l.JitterMS) * float64(time.Millisecond))
	}
	return max(d, 0)
}

func (s *Server) find(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, ok := strings.CutPrefix(name, lakeBucket+"/")
	if !ok {
		return nil
	}
	if data := s.mu.objects[key]; data != nil {
		return data
	}
	table, file, ok := strings.Cut(key, "/data/")
	t := s.mu.tables[table]
	n, err := strconv.Atoi(strings.TrimSuffix(file, ".parquet"))
	if !ok || t == nil || err != nil || n < 0 || n >= t.files {
		return nil
	}
	return t.body.data
}

// shaped sends at the link's rate.
type shaped struct {
	http.ResponseWriter
	ctx context.Context
	s   *Server
}

// slice is what the link takes at a time: small beside what a client asks for, so that answers share the link.
const slice = 32 << 10

func (w *shaped) Write(b []byte) (n int, err error) {
	for part := range slices.Chunk(b, slice) {
		if !sleep(w.ctx, w.s.reserve(len(part))) {
			return n, w.ctx.Err()
		}
		m, err := w.ResponseWriter.Write(part)
		w.s.bytes.Add(int64(m))
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// reserve takes n bytes of the link and tells how long until they are through. Up to 2 ms are not waited for but owed, since a sleep is not
// more exact than that.
func (s *Server) reserve(n int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.link.RateMBps <= 0 {
		return 0
	}
	now := time.Now()
	if s.mu.free.Before(now) {
		s.mu.free = now
	}
	s.mu.free = s.mu.free.Add(time.Duration(float64(n) / (float64(s.mu.link.RateMBps) * 1e6) * float64(time.Second)))
	if d := s.mu.free.Sub(now); d > 2*time.Millisecond {
		return d
	}
	return 0
}

// sleep reports whether the time passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// TableSpec is the body of POST /-/table.
type TableSpec struct {
	Files   int    `json:"files"`
	SizeKiB int    `json:"size_kib"`
	Suffix  string `json:"suffix,omitempty"` // another table of the same files
}

const maxControl = 1 << 16

func (s *Server) control(w http.ResponseWriter, r *http.Request, verb string) {
	answer := any(struct{}{})
	err := func() error {
		text, err := io.ReadAll(io.LimitReader(r.Body, maxControl))
		if err != nil {
			return err
		}
		switch r.Method + " " + verb {
		case "POST link":
			var l Link
			if err := json.Unmarshal(text, &l); err != nil {
				return err
			}
			s.setLink(l)
		case "POST table":
			var spec TableSpec
			if err := json.Unmarshal(text, &spec); err != nil {
				return err
			}
			answer, err = s.table(r.Context(), spec)
		case "POST reset":
			s.reset()
		case "GET traffic":
			answer = s.traffic()
		default:
			err = errors.New("no such control request")
		}
		return err
	}()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *Server) setLink(l Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.link, s.mu.rand, s.mu.free = l, rand.New(rand.NewPCG(l.Seed, 1)), time.Time{}
}

func (s *Server) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.counts = map[string]int64{}
	s.conns.Store(0)
	s.bytes.Store(0)
	s.most.Store(0)
}

func (s *Server) traffic() Traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Traffic{Requests: maps.Clone(s.mu.counts), Bytes: s.bytes.Load(), Conns: s.conns.Load(), InFlight: s.most.Load()}
}

// table makes a table if it is not there yet.
func (s *Server) table(ctx context.Context, spec TableSpec) (*lakeTable, error) {
	if spec.Files < 1 || spec.Files > 100_000 || spec.SizeKiB < 1 || spec.SizeKiB > 1<<20 {
		return nil, fmt.Errorf("%d files of %d KiB: want 1 to 100000 of 1 KiB to 1 GiB", spec.Files, spec.SizeKiB)
	}
	s.build.Lock()
	defer s.build.Unlock()
	name := fmt.Sprintf("f%d-%dk%s", spec.Files, spec.SizeKiB, spec.Suffix)
	s.mu.Lock()
	have, b := s.mu.tables[name], s.mu.bodies[spec.SizeKiB]
	s.mu.Unlock()
	if have != nil {
		return have.lakeTable, nil
	}
	if b == nil {
		var err error
		if b, err = makeBody(ctx, spec.SizeKiB<<10); err != nil {
			return nil, err
		}
	}
	objects := map[string][]byte{}
	t, err := makeTable(name, spec.Files, b, func(key string, data []byte) { objects[key] = data })
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.bodies[spec.SizeKiB] = b
	maps.Copy(s.mu.objects, objects)
	s.mu.tables[name] = &servedTable{t, b, spec.Files}
	return t, nil
}

// Serve runs a store on a free loopback port until ctx ends, and calls ready with its URL.
func Serve(ctx context.Context, ready func(url string)) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := NewServer()
	h := &http.Server{Handler: s, ConnContext: s.ConnContext, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = h.Close() })
	defer stop()
	ready("http://" + ln.Addr().String())
	if err := h.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
