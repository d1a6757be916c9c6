package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/lakescan/lakescan/object"
)

// growBy is what is allocated ahead of the bytes when only the server says how long the answer is.
const growBy = 4 << 20

// Read makes one GET (and at most one more after a learnt region, one more after renewed keys).
func (s *Store) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	var data []byte
	info := object.Info{Location: loc, Size: -1}
	if err := r.Check(); err != nil {
		return nil, info, object.Fail(ctx, "read", loc, r, err)
	}
	err := s.call(ctx, "read", object.Get, loc, r, func(ctx context.Context, c minio.Core, x *exchange) error {
		data = nil
		info = object.Info{Location: loc, Size: -1}
		body, stat, header, err := c.GetObject(ctx, loc.Bucket, loc.Key, getOptions(r, o))
		if err != nil {
			return x.emptySuffix(r, o, &data, &info, dst, err)
		}
		if info.ETag = plainTag(stat.ETag); stat.LastModified.Unix() != 0 { // see tidy
			info.Modified = stat.LastModified
		}
		data, err = s.receive(x, body, header, r, dst, o, &info)
		return err
	})
	return data, info, err
}

// getOptions sets the headers directly: minio-go's SetRange has two ranges it reads differently than asked. Each request has its
// own options, since they share a map.
func getOptions(r object.Range, o object.ReadOptions) minio.GetObjectOptions {
	var opts minio.GetObjectOptions
	opts.Set("Accept-Encoding", "identity") // else net/http may ask for gzip and undo it, and every length is wrong
	switch {
	case r.Off < 0:
		opts.Set("Range", "bytes="+strconv.FormatInt(r.Off, 10))
	case r.Len > 0:
		opts.Set("Range", "bytes="+strconv.FormatInt(r.Off, 10)+"-"+strconv.FormatInt(r.Off+r.Len-1, 10))
	case r.Off > 0:
		opts.Set("Range", "bytes="+strconv.FormatInt(r.Off, 10)+"-")
	}
	if o.ETag != "" && o.ETag == object.Opaque(o.ETag) { // If-Match compares strongly, and is never true of a weak tag; the answer's tag is looked at anyway
		opts.Set("If-Match", `"`+o.ETag+`"`)
	}
	return opts
}

// plainTag takes the quotes off a weak ETag, which minio-go only knows to do to a strong one.
func plainTag(etag string) string {
	if weak, ok := strings.CutPrefix(etag, "W/"); ok {
		return "W/" + strings.Trim(weak, `"`)
	}
	return etag
}

// receive checks the headers of a good answer and reads its body to the end.
func (s *Store) receive(x *exchange, body io.ReadCloser, h http.Header, r object.Range, dst []byte, o object.ReadOptions, info *object.Info) ([]byte, error) {
	n, err := x.span(h, r, info)
	if err == nil {
		err = o.Verify(*info)
	}
	if err == nil {
		err = o.Admit(r, n)
	}
	if err != nil {
		s.discard(x, body, h)
		return nil, err
	}
	x.attempt.FirstByte()
	in := s.guard(x, body)
	defer in.Close()
	data, err := fill(in, n, dst, r)
	x.bytes.Store(int64(len(data)))
	return data, err
}

// span finds the length of the answer and the size of the object, and refuses an answer to another question than r.
func (x *exchange) span(h http.Header, r object.Range, info *object.Info) (int64, error) {
	length, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if h.Get("Content-Length") == "" {
		length, err = -1, nil // chunked: the range says how much has to come
	}
	if err != nil || length < -1 {
		return 0, fmt.Errorf("%w: Content-Length %q", object.ErrCorrupt, h.Get("Content-Length"))
	}
	if r == object.Whole {
		if x.status != http.StatusOK || length < 0 {
			return 0, fmt.Errorf("%w: status %d, length %d to a plain GET", object.ErrCorrupt, x.status, length)
		}
		info.Size = length
		return length, nil
	}
	if x.status != http.StatusPartialContent {
		return 0, fmt.Errorf("%w: status %d to a ranged GET: the range was ignored", object.ErrCorrupt, x.status)
	}
	if r.Off < 0 && length == 0 && h.Get("Content-Range") == "bytes 0--1/0" {
		info.Size = 0 // MinIO's word for the suffix of an empty object, which S3 refuses
		return 0, nil
	}
	first, last, total, err := parseContentRange(h.Get("Content-Range"))
	if err != nil {
		return 0, err
	}
	info.Size = total
	off, n, err := r.Resolve(total)
	switch {
	case err != nil && first == r.Off && last == total-1: // the object ends inside of the range
		return 0, err
	case err != nil || first != off || last != off+n-1:
		return 0, fmt.Errorf("%w: Content-Range %q to the range %s", object.ErrCorrupt, h.Get("Content-Range"), r)
	case length >= 0 && length != n:
		return 0, fmt.Errorf("%w: Content-Length %d beside Content-Range %q", object.ErrCorrupt, length, h.Get("Content-Range"))
	}
	return n, nil
}

// parseContentRange reads "bytes first-last/total" (RFC 9110, section 14.4); the total has to be there.
func parseContentRange(v string) (first, last, total int64, err error) {
	rest, ok := strings.CutPrefix(v, "bytes ")
	span, size, ok2 := strings.Cut(rest, "/")
	a, b, ok3 := strings.Cut(span, "-")
	first, err1 := strconv.ParseInt(a, 10, 64)
	last, err2 := strconv.ParseInt(b, 10, 64)
	total, err3 := strconv.ParseInt(size, 10, 64)
	if !ok || !ok2 || !ok3 || err1 != nil || err2 != nil || err3 != nil || first < 0 || last < first || total <= last {
		return 0, 0, 0, fmt.Errorf("%w: Content-Range %q", object.ErrCorrupt, v)
	}
	return first, last, total, nil
}

// fill reads exactly n bytes. What came is returned with the error of what did not.
func fill(body io.Reader, n int64, dst []byte, r object.Range) ([]byte, error) {
	var data []byte
	if int64(len(dst)) >= n {
		data = dst[:n]
	} else if r.Known() || n <= growBy { // the caller stated it, or it is small
		data = make([]byte, n)
	} else {
		data = make([]byte, growBy)
	}
	var got int64
	for got < n {
		if got == int64(len(data)) {
			grown := make([]byte, min(n, 2*got))
			copy(grown, data)
			data = grown
		}
		m, err := body.Read(data[got:])
		got += int64(m)
		switch {
		case got == n:
		case errors.Is(err, io.EOF):
			return data[:got], io.ErrUnexpectedEOF
		case err != nil:
			return data[:got], err
		}
	}
	return data[:n], nil
}

// discard gives up a body: a short rest is read so that the connection can be used again, a long one costs the connection.
func (s *Store) discard(x *exchange, body io.ReadCloser, h http.Header) {
	in := s.guard(x, body)
	defer in.Close()
	if n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil && n <= maxErrorBody {
		_, _ = io.Copy(io.Discard, in) // best effort
	}
}

// emptySuffix answers the suffix of an empty object, which S3 refuses with 416, and tells a shrunken object from a bad range.
func (x *exchange) emptySuffix(r object.Range, o object.ReadOptions, data *[]byte, info *object.Info, dst []byte, err error) error {
	if x.status != http.StatusRequestedRangeNotSatisfiable {
		return err
	}
	total, known := x.refusedTotal()
	if !known {
		return err
	}
	info.Size = total
	if err := o.Verify(*info); err != nil {
		return err
	}
	if r.Off < 0 && total == 0 {
		*data = dst[:0]
		x.attempt.FirstByte()
		return nil
	}
	return err
}

// refusedTotal is the object's size as a 416 tells it, in Content-Range "bytes */total" or in the XML.
func (x *exchange) refusedTotal() (int64, bool) {
	v, ok := strings.CutPrefix(x.header.Get("Content-Range"), "bytes */")
	if !ok {
		v = x.refusal().ActualObjectSize
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return n, err == nil && n >= 0
}
