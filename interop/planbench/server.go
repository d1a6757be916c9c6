package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lakescan/lakescan/internal/fakerest"
	"github.com/lakescan/lakescan/internal/fakes3"
)

func readFile(path string) ([]byte, error) { return os.ReadFile(path) }

// server is an S3 and a REST catalog on a loopback port. Every answer begins latency after its request.
type server struct {
	latency time.Duration
	s3      *fakes3.Server
	rest    *fakerest.Server
	http    *http.Server
	addr    string
	mu      struct {
		sync.Mutex
		log []exchange
	}
}

// exchange is one request as the server saw it.
type exchange struct {
	method, path string
	start, end   time.Time
	bytes        int64
}

func newServer() (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{s3: fakes3.New(fakes3.Config{}, "bench"), rest: fakerest.New(fakerest.Config{}), addr: l.Addr().String()}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go s.http.Serve(l) //nolint:errcheck // ends with Close
	return s, nil
}

func (s *server) Close() error { return s.http.Close() }

// load serves a table's folder as s3://bench/NAME and as the catalog's table bench.NAME.
func (s *server) load(dir, name string) error {
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		s.s3.Put("bench", name+"/"+filepath.ToSlash(rel), data)
		return err
	})
	if err != nil {
		return err
	}
	doc, err := os.ReadFile(filepath.Join(dir, metadataName))
	if err != nil {
		return err
	}
	return s.rest.AddTable([]string{"bench"}, name, "s3://bench/"+name+"/"+metadataName, doc)
}

type counted struct {
	http.ResponseWriter
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n += int64(n)
	return n, err
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchange{method: r.Method, path: r.URL.Path, start: time.Now()}
	time.Sleep(s.latency)
	c := &counted{ResponseWriter: w}
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		s.rest.ServeHTTP(c, r)
	} else {
		s.s3.ServeHTTP(c, r)
	}
	x.end, x.bytes = time.Now(), c.n
	s.mu.Lock()
	s.mu.log = append(s.mu.log, x)
	s.mu.Unlock()
}

// reset forgets the requests so far, and sets the latency from here on.
func (s *server) reset(latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.log, s.latency = nil, latency
}

// traffic of a run: requests by the part of the path that tells their kind.
type traffic struct {
	Requests, Heads, Lists int
	Bytes                  int64
	Manifests              int // GETs of manifests
	Deletes                int // GETs of delete files, of which
	Repeated               int // of a file that was read before
	Rounds                 int // longest chain of requests that did not overlap
}

func (s *server) traffic() traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	var t traffic
	seen := map[string]bool{}
	depth := make([]int, len(s.mu.log))
	for i, x := range s.mu.log { // in the order of their ends
		t.Requests++
		t.Bytes += x.bytes
		name := x.path[strings.LastIndexByte(x.path, '/')+1:]
		switch {
		case x.method == http.MethodHead:
			t.Heads++
		case strings.HasPrefix(name, "m") && strings.HasSuffix(name, ".avro"):
			t.Manifests++
		case strings.HasSuffix(name, ".parquet") && (name[0] == 'e' || name[0] == 'p'):
			t.Deletes++
			if seen[name] {
				t.Repeated++
			}
			seen[name] = true
		case !strings.HasPrefix(x.path, "/v1/") && strings.Count(x.path, "/") < 3:
			t.Lists++
		}
		depth[i] = 1
		for j := range i {
			if !s.mu.log[j].end.After(x.start) {
				depth[i] = max(depth[i], depth[j]+1)
			}
		}
		t.Rounds = max(t.Rounds, depth[i])
	}
	return t
}
