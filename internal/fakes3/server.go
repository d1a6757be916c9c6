package fakes3

import (
	"crypto/md5" //nolint:gosec // S3's ETag
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Keys of one user. A request must carry the token if there is one.
type Keys struct{ ID, Secret, Token string }

// Config of a Server; the zero value takes every request unchecked.
type Config struct {
	Keys     []Keys // users; none = signatures are not looked at
	Domain   string // requests to BUCKET.Domain are virtual-host style; "" = path style only
	Region   string // of buckets made without one; "" = any region is right
	Redirect bool   // a wrong region is 301 with a header, as at AWS between endpoints, instead of 400 with XML
	MinPart  int64  // smallest part but the last; 0 = 5 MiB
	MaxKeys  int    // largest page of a listing; 0 = 1000
	MinIO    bool   // answer the suffix of an empty object as MinIO does: 206 and "bytes 0--1/0" instead of 416
}

// Server holds buckets in memory and answers S3 requests.
type Server struct {
	cfg Config
	ids atomic.Int64 // request ids
	mu  struct {
		sync.Mutex
		keys    map[string]Keys
		expired map[string]bool // key ids whose token has expired
		buckets map[string]*bucket
		uploads map[string]*upload
	}
}

type bucket struct {
	region  string
	public  bool // readable without a signature
	objects map[string]*Object
}

// Object is immutable once stored.
type Object struct {
	Data     []byte
	ETag     string
	Modified time.Time
	Meta     http.Header // x-amz-meta-* and Content-Type
}

type upload struct {
	bucket, key string
	meta        http.Header
	parts       map[int]*Object
}

// New makes a server with the named buckets.
func New(cfg Config, buckets ...string) *Server {
	s := &Server{cfg: cfg}
	s.mu.keys, s.mu.expired = map[string]Keys{}, map[string]bool{}
	s.mu.buckets, s.mu.uploads = map[string]*bucket{}, map[string]*upload{}
	s.SetKeys(cfg.Keys...)
	for _, b := range buckets {
		s.CreateBucket(b, cfg.Region)
	}
	return s
}

// SetKeys replaces the users.
func (s *Server) SetKeys(keys ...Keys) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.keys = map[string]Keys{}
	for _, k := range keys {
		s.mu.keys[k.ID] = k
	}
}

// Expire makes the token of a key id answer ExpiredToken.
func (s *Server) Expire(keyID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.expired[keyID] = true
}

// CreateBucket makes a bucket if there is none; region "" accepts every signature region.
func (s *Server) CreateBucket(name, region string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.buckets[name] == nil {
		s.mu.buckets[name] = &bucket{region: region, objects: map[string]*Object{}}
	}
}

// SetPublic lets everybody read a bucket.
func (s *Server) SetPublic(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.buckets[name].public = true
}

// Put stores data, which must not be written any more, and gives its ETag.
func (s *Server) Put(bucket, key string, data []byte) string {
	return s.store(bucket, key, &Object{Data: data, ETag: etagOf(data), Modified: now(), Meta: http.Header{}}).ETag
}

func (s *Server) store(bucket, key string, o *Object) *Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.buckets[bucket].objects[key] = o
	return o
}

// Get gives an object, or nil.
func (s *Server) Get(bucket, key string) *Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.mu.buckets[bucket]
	if b == nil {
		return nil
	}
	return b.objects[key]
}

// Remove deletes an object.
func (s *Server) Remove(bucket, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.buckets[bucket].objects, key)
}

// KeysOf lists the keys of a bucket in byte order.
func (s *Server) KeysOf(bucket string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.mu.buckets[bucket].objects))
}

// Uploads counts unfinished multipart uploads.
func (s *Server) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.uploads)
}

func etagOf(data []byte) string {
	m := md5.Sum(data) //nolint:gosec // S3's ETag
	return hex.EncodeToString(m[:])
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) } // what Last-Modified can carry

// request is one request on its way through the handlers.
type request struct {
	*http.Request
	w           http.ResponseWriter
	s           *Server
	bucket, key string
	body        []byte // decoded and verified
}

// fault is an S3 error answer.
type fault struct {
	status        int
	code, message string
	extra         [][2]string // further XML elements
	header        [][2]string
}

func (f *fault) Error() string { return f.code }

func fail(status int, code, format string, args ...any) *fault {
	return &fault{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := fmt.Sprintf("%016X", s.ids.Add(1))
	w.Header().Set("X-Amz-Request-Id", id)
	w.Header().Set("Server", "fakes3")
	q := &request{Request: r, w: w, s: s}
	q.split()
	f := s.authorize(q)
	if f == nil {
		f = q.dispatch()
	}
	if f != nil {
		q.answerFault(f, id)
	}
}

// split finds bucket and key, in the host or in the path. URL.Path is decoded once, which is what the key is.
func (q *request) split() {
	path := strings.TrimPrefix(q.URL.Path, "/")
	host, _, _ := strings.Cut(q.Host, ":")
	if b, ok := strings.CutSuffix(host, "."+q.s.cfg.Domain); ok && q.s.cfg.Domain != "" {
		q.bucket, q.key = b, path
		return
	}
	q.bucket, q.key, _ = strings.Cut(path, "/")
}

func (q *request) dispatch() *fault {
	v := q.URL.Query()
	switch {
	case q.bucket == "":
		return q.listBuckets()
	case q.key == "":
		return q.bucketCall(v)
	}
	if q.s.bucketOf(q.bucket) == nil {
		return fail(404, "NoSuchBucket", "The specified bucket does not exist")
	}
	switch {
	case q.Method == http.MethodGet || q.Method == http.MethodHead:
		return q.get()
	case q.Method == http.MethodPut && v.Has("uploadId"):
		return q.putPart(v)
	case q.Method == http.MethodPut:
		return q.put()
	case q.Method == http.MethodPost && v.Has("uploads"):
		return q.initiate()
	case q.Method == http.MethodPost && v.Has("uploadId"):
		return q.complete(v.Get("uploadId"))
	case q.Method == http.MethodDelete && v.Has("uploadId"):
		return q.abort(v.Get("uploadId"))
	case q.Method == http.MethodDelete:
		q.s.Remove(q.bucket, q.key)
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return fail(405, "MethodNotAllowed", "The specified method is not allowed against this resource")
}

func (s *Server) bucketOf(name string) *bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.buckets[name]
}

func (q *request) bucketCall(v map[string][]string) *fault {
	b := q.s.bucketOf(q.bucket)
	_, location := v["location"]
	_, multiDelete := v["delete"]
	switch {
	case q.Method == http.MethodPut:
		if b != nil {
			return fail(409, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded")
		}
		q.s.CreateBucket(q.bucket, q.s.cfg.Region)
		q.w.Header().Set("Location", "/"+q.bucket)
		return nil
	case b == nil:
		return fail(404, "NoSuchBucket", "The specified bucket does not exist")
	case location:
		return q.answerXML(struct {
			XMLName struct{} `xml:"LocationConstraint"`
			Region  string   `xml:",chardata"`
		}{Region: b.region})
	case q.Method == http.MethodHead:
		return nil
	case q.Method == http.MethodGet:
		return q.list()
	case q.Method == http.MethodPost && multiDelete:
		return q.deleteMany()
	}
	return fail(501, "NotImplemented", "fakes3 does not do this")
}
