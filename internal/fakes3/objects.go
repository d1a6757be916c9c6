package fakes3

import (
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"crypto/md5" //nolint:gosec // S3's ETag
	crand "crypto/rand"
)

func (q *request) answerXML(v any) *fault {
	body, err := xml.Marshal(v)
	if err != nil {
		return fail(500, "InternalError", "%v", err)
	}
	q.w.Header().Set("Content-Type", "application/xml")
	_, _ = q.w.Write(append([]byte(xml.Header), body...)) // the client may be gone
	return nil
}

func (q *request) answerFault(f *fault, id string) {
	for _, h := range f.header {
		q.w.Header().Set(h[0], h[1])
	}
	if f.status == http.StatusNotModified {
		q.w.WriteHeader(f.status)
		return
	}
	var b strings.Builder
	b.WriteString(xml.Header + "<Error>")
	for _, e := range append([][2]string{{"Code", f.code}, {"Message", f.message}, {"Resource", q.URL.Path}, {"RequestId", id}}, f.extra...) {
		b.WriteString("<" + e[0] + ">")
		_ = xml.EscapeText(&b, []byte(e[1])) // a strings.Builder takes everything
		b.WriteString("</" + e[0] + ">")
	}
	b.WriteString("</Error>")
	q.w.Header().Set("Content-Type", "application/xml")
	q.w.WriteHeader(f.status)
	if q.Method != http.MethodHead {
		_, _ = q.w.Write([]byte(b.String()))
	}
}

// get answers GET and HEAD with conditions and one range.
func (q *request) get() *fault {
	o := q.s.Get(q.bucket, q.key)
	if o == nil {
		return fail(404, "NoSuchKey", "The specified key does not exist.")
	}
	if m := q.Header.Get("If-Match"); m != "" && m != "*" && unquote(m) != o.ETag {
		return fail(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	}
	h := q.w.Header()
	h.Set("Etag", `"`+o.ETag+`"`)
	h.Set("Last-Modified", o.Modified.Format(http.TimeFormat))
	h.Set("Accept-Ranges", "bytes")
	for k, v := range o.Meta {
		h[k] = v
	}
	if m := q.Header.Get("If-None-Match"); m != "" && unquote(m) == o.ETag {
		return &fault{status: http.StatusNotModified}
	}
	size := int64(len(o.Data))
	off, n, ranged, ok := parseRange(q.Header.Get("Range"), size)
	if !ok && size == 0 && q.s.cfg.MinIO && strings.HasPrefix(q.Header.Get("Range"), "bytes=-") {
		ranged, ok = true, true
	}
	if !ok {
		f := fail(416, "InvalidRange", "The requested range is not satisfiable")
		f.header = [][2]string{{"Content-Range", "bytes */" + strconv.FormatInt(size, 10)}}
		f.extra = [][2]string{{"ActualObjectSize", strconv.FormatInt(size, 10)}}
		return f
	}
	h.Set("Content-Length", strconv.FormatInt(n, 10))
	status := http.StatusOK
	if ranged {
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, off+n-1, size))
		status = http.StatusPartialContent
	}
	q.w.WriteHeader(status)
	if q.Method != http.MethodHead {
		_, _ = q.w.Write(o.Data[off : off+n])
	}
	return nil
}

func unquote(tag string) string { return strings.Trim(tag, `"`) }

// parseRange reads one byte range (RFC 9110, section 14.1.2). What it cannot read is ignored, as the RFC wants; ok is
// false for a range that cannot be satisfied.
func parseRange(v string, size int64) (off, n int64, ranged, ok bool) {
	spec, found := strings.CutPrefix(v, "bytes=")
	a, b, dash := strings.Cut(spec, "-")
	if !found || !dash || strings.Contains(spec, ",") {
		return 0, size, false, true
	}
	if a == "" {
		tail, err := strconv.ParseInt(b, 10, 64)
		if err != nil {
			return 0, size, false, true
		}
		if tail <= 0 || size == 0 {
			return 0, 0, false, false
		}
		tail = min(tail, size)
		return size - tail, tail, true, true
	}
	first, err := strconv.ParseInt(a, 10, 64)
	last := size - 1
	if b != "" {
		var err2 error
		if last, err2 = strconv.ParseInt(b, 10, 64); err2 != nil || last < first {
			return 0, size, false, true
		}
	}
	switch {
	case err != nil:
		return 0, size, false, true
	case first >= size:
		return 0, 0, false, false
	}
	last = min(last, size-1)
	return first, last - first + 1, true, true
}

// checkWrite applies the conditions of a write. The caller holds the lock.
func (q *request) checkWriteLocked() *fault {
	old := q.s.mu.buckets[q.bucket].objects[q.key]
	failed := fail(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	if m := q.Header.Get("If-None-Match"); m != "" && old != nil && (m == "*" || unquote(m) == old.ETag) {
		return failed
	}
	m := q.Header.Get("If-Match")
	switch {
	case m == "":
		return nil
	case old == nil:
		return fail(404, "NoSuchKey", "The specified key does not exist.")
	case m != "*" && unquote(m) != old.ETag:
		return failed
	}
	return nil
}

func (q *request) put() *fault {
	o := &Object{Data: q.body, ETag: etagOf(q.body), Modified: now(), Meta: metaOf(q.Header)}
	q.s.mu.Lock()
	f := q.checkWriteLocked()
	if f == nil {
		q.s.mu.buckets[q.bucket].objects[q.key] = o
	}
	q.s.mu.Unlock()
	if f == nil {
		q.w.Header().Set("Etag", `"`+o.ETag+`"`)
	}
	return f
}

func metaOf(h http.Header) http.Header {
	out := http.Header{}
	for k, v := range h {
		if k == "Content-Type" || strings.HasPrefix(k, "X-Amz-Meta-") {
			out[k] = v
		}
	}
	return out
}

func (q *request) initiate() *fault {
	id := crand.Text()
	q.s.mu.Lock()
	q.s.mu.uploads[id] = &upload{bucket: q.bucket, key: q.key, meta: metaOf(q.Header), parts: map[int]*Object{}}
	q.s.mu.Unlock()
	return q.answerXML(struct {
		XMLName               struct{} `xml:"InitiateMultipartUploadResult"`
		Bucket, Key, UploadId string
	}{Bucket: q.bucket, Key: q.key, UploadId: id})
}

func (q *request) uploadLocked(id string) (*upload, *fault) {
	u := q.s.mu.uploads[id]
	if u == nil || u.bucket != q.bucket || u.key != q.key {
		return nil, fail(404, "NoSuchUpload", "The specified upload does not exist")
	}
	return u, nil
}

func (q *request) putPart(v url.Values) *fault {
	number, err := strconv.Atoi(v.Get("partNumber"))
	if err != nil || number < 1 || number > 10000 {
		return fail(400, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive")
	}
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	u, f := q.uploadLocked(v.Get("uploadId"))
	if f != nil {
		return f
	}
	tag := etagOf(q.body)
	u.parts[number] = &Object{Data: q.body, ETag: tag}
	q.w.Header().Set("Etag", `"`+tag+`"`)
	return nil
}

func (q *request) abort(id string) *fault {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if _, f := q.uploadLocked(id); f != nil {
		return f
	}
	delete(q.s.mu.uploads, id)
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (q *request) complete(id string) *fault {
	var want struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if err := xml.Unmarshal(q.body, &want); err != nil || len(want.Part) == 0 {
		return fail(400, "MalformedXML", "The XML you provided was not well-formed")
	}
	q.s.mu.Lock()
	u, f := q.uploadLocked(id)
	if f == nil {
		f = q.checkWriteLocked()
	}
	var o *Object
	if f == nil {
		list := make([]*Object, 0, len(want.Part))
		for i, p := range want.Part {
			part := u.parts[p.PartNumber]
			switch {
			case i > 0 && p.PartNumber <= want.Part[i-1].PartNumber:
				f = fail(400, "InvalidPartOrder", "The list of parts was not in ascending order")
			case part == nil || part.ETag != unquote(p.ETag):
				f = fail(400, "InvalidPart", "One or more of the specified parts could not be found")
			case i < len(want.Part)-1 && int64(len(part.Data)) < q.s.minPart():
				f = fail(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
			}
			list = append(list, part)
		}
		if f == nil {
			o = joinParts(list, u.meta)
			q.s.mu.buckets[q.bucket].objects[q.key] = o
			delete(q.s.mu.uploads, id)
		}
	}
	q.s.mu.Unlock()
	if f != nil {
		return f
	}
	return q.answerXML(struct {
		XMLName           struct{} `xml:"CompleteMultipartUploadResult"`
		Bucket, Key, ETag string
	}{Bucket: q.bucket, Key: q.key, ETag: `"` + o.ETag + `"`})
}

func (s *Server) minPart() int64 {
	if s.cfg.MinPart > 0 {
		return s.cfg.MinPart
	}
	return 5 << 20
}

// joinParts concatenates; the ETag is the MD5 of the parts' MD5s, and their number.
func joinParts(parts []*Object, meta http.Header) *Object {
	sums := md5.New() //nolint:gosec // S3's ETag
	var data []byte
	for _, p := range parts {
		raw, _ := hex.DecodeString(p.ETag) // our own text
		sums.Write(raw)
		data = append(data, p.Data...)
	}
	return &Object{Data: data, ETag: fmt.Sprintf("%x-%d", sums.Sum(nil), len(parts)), Modified: now(), Meta: meta}
}

func (q *request) listBuckets() *fault {
	type entry struct{ Name string }
	var out struct {
		XMLName struct{} `xml:"ListAllMyBucketsResult"`
		Buckets struct{ Bucket []entry }
	}
	q.s.mu.Lock()
	for name := range q.s.mu.buckets {
		out.Buckets.Bucket = append(out.Buckets.Bucket, entry{name})
	}
	q.s.mu.Unlock()
	slices.SortFunc(out.Buckets.Bucket, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	return q.answerXML(out)
}

func (q *request) deleteMany() *fault {
	var in struct {
		Object []struct{ Key string }
	}
	if err := xml.Unmarshal(q.body, &in); err != nil {
		return fail(400, "MalformedXML", "The XML you provided was not well-formed")
	}
	type deleted struct{ Key string }
	var out struct {
		XMLName struct{} `xml:"DeleteResult"`
		Deleted []deleted
	}
	for _, o := range in.Object {
		q.s.Remove(q.bucket, o.Key)
		out.Deleted = append(out.Deleted, deleted(o))
	}
	return q.answerXML(out)
}
