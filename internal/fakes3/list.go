package fakes3

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

type listEntry struct {
	Key, LastModified, ETag string
	Size                    int64
}

type listPrefix struct{ Prefix string }

type listAnswer struct {
	XMLName                           struct{} `xml:"ListBucketResult"`
	Name, Prefix, Delimiter           string
	EncodingType                      string `xml:",omitempty"`
	KeyCount, MaxKeys                 int
	IsTruncated                       bool
	NextContinuationToken, NextMarker string `xml:",omitempty"`
	Contents                          []listEntry
	CommonPrefixes                    []listPrefix
}

// list answers ListObjectsV2, and the first version for clients that still ask it.
func (q *request) list() *fault {
	v := q.URL.Query()
	out := listAnswer{Name: q.bucket, Prefix: v.Get("prefix"), Delimiter: v.Get("delimiter"), EncodingType: v.Get("encoding-type")}
	limit := q.s.cfg.MaxKeys
	if limit <= 0 {
		limit = 1000
	}
	if n, err := strconv.Atoi(v.Get("max-keys")); err == nil && n >= 0 {
		limit = min(limit, n)
	}
	out.MaxKeys = limit
	after := max(v.Get("start-after"), v.Get("marker"))
	if token := v.Get("continuation-token"); token != "" {
		raw, err := base64.URLEncoding.DecodeString(token)
		if err != nil {
			return fail(400, "InvalidArgument", "The continuation token provided is incorrect")
		}
		after = string(raw)
	}
	last := q.s.page(q.bucket, after, limit, &out)
	if out.IsTruncated {
		out.NextContinuationToken = base64.URLEncoding.EncodeToString([]byte(last))
		out.NextMarker = last
	}
	out.KeyCount = len(out.Contents) + len(out.CommonPrefixes)
	if out.EncodingType == "url" {
		out.encode()
	}
	return q.answerXML(out)
}

// page fills one page and gives the key or common prefix that it ended with.
func (s *Server) page(bucket, after string, limit int, out *listAnswer) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	objects := s.mu.buckets[bucket].objects
	var keys []string
	for k := range objects {
		if strings.HasPrefix(k, out.Prefix) && k > after && (out.Delimiter == "" || !strings.HasSuffix(after, out.Delimiter) || !strings.HasPrefix(k, after)) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	last := ""
	for _, k := range keys {
		if out.Delimiter != "" {
			rest := k[len(out.Prefix):]
			if i := strings.Index(rest, out.Delimiter); i >= 0 {
				p := out.Prefix + rest[:i+len(out.Delimiter)]
				if p == last {
					continue
				}
				if len(out.Contents)+len(out.CommonPrefixes) >= limit {
					out.IsTruncated = true
					return last
				}
				out.CommonPrefixes = append(out.CommonPrefixes, listPrefix{p})
				last = p
				continue
			}
		}
		if len(out.Contents)+len(out.CommonPrefixes) >= limit {
			out.IsTruncated = true
			return last
		}
		o := objects[k]
		out.Contents = append(out.Contents, listEntry{k, o.Modified.Format("2006-01-02T15:04:05.000Z"), `"` + o.ETag + `"`, int64(len(o.Data))})
		last = k
	}
	return last
}

// encode does what encoding-type=url asks, so that keys survive XML.
func (a *listAnswer) encode() {
	enc := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "%2F", "/") }
	a.Prefix, a.Delimiter, a.NextMarker = enc(a.Prefix), enc(a.Delimiter), enc(a.NextMarker)
	for i := range a.Contents {
		a.Contents[i].Key = enc(a.Contents[i].Key)
	}
	for i := range a.CommonPrefixes {
		a.CommonPrefixes[i].Prefix = enc(a.CommonPrefixes[i].Prefix)
	}
}
