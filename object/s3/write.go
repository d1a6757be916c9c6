package s3

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // Content-MD5 is S3's integrity check, not a secret
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/lakescan/lakescan/object"
)

// markKey is the user metadata by which a lost answer is told from another writer's object.
const markKey = "Lakescan-Upload"

// cleanUp bounds what an Abort does after the caller's context has ended.
const cleanUp = 30 * time.Second

// Create starts an upload; nothing is sent before a part is full or Commit.
func (s *Store) Create(ctx context.Context, loc object.Location, ifMatch string) (object.Upload, error) {
	err := checkLocation(loc)
	if err == nil && loc.Key == "" {
		err = fmt.Errorf("%w: %q names no object", object.ErrInvalid, loc.Recorded)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, object.Fail(ctx, "create", loc, object.Range{}, err)
	}
	u := &upload{store: s, loc: loc, ifMatch: ifMatch, mark: rand.Text(), slots: make(chan struct{}, s.cfg.PartsAtOnce), free: make(chan []byte, s.cfg.PartsAtOnce)}
	u.ctx, u.cancel = context.WithCancelCause(ctx)
	return u, nil
}

// Delete removes an object; what is not there is no error.
func (s *Store) Delete(ctx context.Context, loc object.Location) error {
	return object.Repeat(ctx, func(ctx context.Context) error {
		err := s.call(ctx, "delete", object.Delete, loc, object.Range{}, func(ctx context.Context, c minio.Core, x *exchange) error {
			err := c.RemoveObject(ctx, loc.Bucket, loc.Key, minio.RemoveObjectOptions{})
			if x.status == http.StatusOK {
				return nil // some stores answer 200 instead of 204
			}
			return err
		})
		if e, ok := errors.AsType[*object.Error](err); ok && errors.Is(err, object.ErrNotFound) && e.Code != "NoSuchBucket" {
			return nil
		}
		return err
	})
}

// upload is owned by one goroutine; the parts under way are its own and joined by Commit and Abort.
type upload struct {
	store   *Store
	ctx     context.Context // of Create, bounds Write and the parts
	cancel  context.CancelCauseFunc
	loc     object.Location
	ifMatch string
	mark    string

	buf   []byte // of the next part
	size  int64
	id    string // of the multipart upload, "" = none
	ended bool

	slots chan struct{} // one for each part under way
	free  chan []byte   // buffers of parts that are sent
	wg    sync.WaitGroup
	mu    struct {
		sync.Mutex
		parts []minio.CompletePart
		err   error // the first failure of a part
	}
}

// Write keeps bytes until a part is full, then sends it while the next one fills; it waits when PartsAtOnce are under way.
func (u *upload) Write(p []byte) (int, error) {
	if u.ended {
		return 0, u.fail(u.ctx, "write", fmt.Errorf("%w: write after the end", object.ErrInvalid))
	}
	total := len(p)
	for len(p) > 0 {
		limit := u.partSize()
		if int64(len(u.buf)) == limit { // and more is coming
			if err := u.sendPart(); err != nil {
				return total - len(p), err
			}
		}
		n := min(int64(len(p)), limit-int64(len(u.buf)))
		u.buf = append(u.buf, p[:n]...)
		u.size += n
		p = p[n:]
	}
	return total, u.partError()
}

// partSize grows so that 10,000 parts, the most S3 takes, hold any object that it takes.
func (u *upload) partSize() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.store.cfg.PartSize * int64(1+len(u.mu.parts)/1000)
}

func (u *upload) partError() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mu.err
}

// sendPart hands the full buffer to a goroutine.
func (u *upload) sendPart() error {
	if u.id == "" {
		if err := u.initiate(); err != nil {
			return err
		}
	}
	select {
	case u.slots <- struct{}{}:
	case <-u.ctx.Done():
		return cmp.Or(u.partError(), u.fail(u.ctx, "write", u.ctx.Err()))
	}
	if err := u.partError(); err != nil {
		<-u.slots
		return err
	}
	body := u.buf
	select {
	case u.buf = <-u.free:
	default:
		u.buf = make([]byte, 0, len(body))
	}
	u.mu.Lock()
	u.mu.parts = append(u.mu.parts, minio.CompletePart{PartNumber: len(u.mu.parts) + 1})
	number := len(u.mu.parts)
	u.mu.Unlock()
	u.wg.Go(func() {
		defer func() { <-u.slots }()
		tag, err := u.putPart(number, body)
		if err == nil { // else the transport may still hold it
			select {
			case u.free <- body[:0]:
			default:
			}
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.mu.parts[number-1].ETag = tag
		if err != nil && u.mu.err == nil {
			u.mu.err = err
			u.cancel(err)
		}
	})
	return nil
}

func (u *upload) initiate() error {
	return u.do(u.ctx, "write", object.Post, func(ctx context.Context, c minio.Core, _ *exchange) error {
		id, err := c.NewMultipartUpload(ctx, u.loc.Bucket, u.loc.Key, minio.PutObjectOptions{UserMetadata: map[string]string{markKey: u.mark}})
		if err == nil && id == "" {
			return fmt.Errorf("%w: no upload id", object.ErrCorrupt)
		}
		u.id = id
		return err
	})
}

func (u *upload) putPart(number int, body []byte) (string, error) {
	var tag string
	sums := sumsOf(body)
	err := u.do(u.ctx, "write", object.Put, func(ctx context.Context, c minio.Core, x *exchange) error {
		part, err := c.PutObjectPart(ctx, u.loc.Bucket, u.loc.Key, u.id, number, u.store.feed(x, body), int64(len(body)),
			minio.PutObjectPartOptions{Md5Base64: sums.md5, Sha256Hex: sums.sha256(c), DisableContentSha256: true})
		tag = object.Opaque(plainTag(part.ETag)) // the store that made it knows no mark
		return err
	})
	return tag, err
}

// do is one request that may be repeated.
func (u *upload) do(ctx context.Context, op string, kind object.Kind, fn func(ctx context.Context, c minio.Core, x *exchange) error) error {
	return object.Repeat(ctx, func(ctx context.Context) error {
		return u.store.call(ctx, op, kind, u.loc, object.Range{}, fn)
	})
}

// sums of a body: MD5 for the server's check, SHA-256 for the signature where no TLS protects the body.
type sums struct {
	body []byte
	md5  string
}

func sumsOf(body []byte) sums {
	m := md5.Sum(body) //nolint:gosec // see the import
	return sums{body, base64.StdEncoding.EncodeToString(m[:])}
}

func (s sums) sha256(c minio.Core) string {
	if c.EndpointURL().Scheme == "https" {
		return "" // UNSIGNED-PAYLOAD
	}
	h := sha256.Sum256(s.body)
	return hex.EncodeToString(h[:])
}

// Commit publishes: one PUT, or the rest as the last part and the completion.
func (u *upload) Commit(ctx context.Context) (object.Info, error) {
	if u.ended {
		return object.Info{}, u.fail(ctx, "commit", fmt.Errorf("%w: commit after the end", object.ErrInvalid))
	}
	if err := u.finishParts(ctx); err != nil {
		u.Abort()
		return object.Info{Location: u.loc, Size: -1}, err
	}
	info, err := u.publish(ctx)
	if err != nil {
		u.Abort()
		return object.Info{Location: u.loc, Size: -1}, err
	}
	u.ended = true
	u.cancel(errOver)
	return info, nil
}

// finishParts sends the last part of a multipart upload and waits for all; ctx ends the wait and the parts.
func (u *upload) finishParts(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return u.fail(ctx, "commit", err)
	}
	if u.id == "" {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { u.cancel(context.Cause(ctx)) })
	defer stop()
	if len(u.buf) > 0 {
		if err := u.sendPart(); err != nil {
			return err
		}
	}
	u.wg.Wait()
	return u.partError()
}

// publish makes the one request that decides, and finds out what happened when its answer was lost.
func (u *upload) publish(ctx context.Context) (object.Info, error) {
	var tag string
	doubt := false // an attempt may have been applied without our knowing
	err := object.Repeat(ctx, func(ctx context.Context) error {
		err := u.store.call(ctx, "commit", u.commitKind(), u.loc, object.Range{}, func(ctx context.Context, c minio.Core, x *exchange) (err error) {
			tag, err = u.commitOnce(ctx, c, x)
			return err
		})
		if e, ok := errors.AsType[*object.Error](err); ok && (e.Status == 0 || e.Status >= 500 || e.Status < 300) {
			doubt = doubt || !errors.Is(err, object.ErrInvalid)
		}
		return err
	})
	if err != nil && doubt {
		tag, err = u.resolve(ctx, err)
	}
	if err != nil {
		return object.Info{}, u.conditionError(err)
	}
	return object.Info{Location: u.loc, Size: u.size, ETag: tag}, nil
}

func (u *upload) commitKind() object.Kind {
	if u.id != "" {
		return object.Post
	}
	return object.Put
}

func (u *upload) commitOnce(ctx context.Context, c minio.Core, x *exchange) (string, error) {
	opts := minio.PutObjectOptions{DisableContentSha256: true}
	switch u.ifMatch {
	case "":
	case "*":
		opts.SetMatchETagExcept("*")
	default:
		opts.SetMatchETag(object.Opaque(u.ifMatch)) // a store whose tag is weak refuses, which is safe
	}
	if u.id != "" {
		u.mu.Lock()
		parts := u.mu.parts
		u.mu.Unlock()
		done, err := c.CompleteMultipartUpload(ctx, u.loc.Bucket, u.loc.Key, u.id, parts, opts)
		return plainTag(done.ETag), err
	}
	opts.UserMetadata = map[string]string{markKey: u.mark}
	sums := sumsOf(u.buf)
	done, err := c.PutObject(ctx, u.loc.Bucket, u.loc.Key, u.store.feed(x, u.buf), u.size, sums.md5, sums.sha256(c), opts)
	return plainTag(done.ETag), err
}

// resolve looks whose object is there now, by the mark in its metadata.
func (u *upload) resolve(ctx context.Context, failure error) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	var found minio.ObjectInfo
	err := u.do(ctx, "commit", object.Head, func(ctx context.Context, c minio.Core, _ *exchange) (err error) {
		found, err = c.StatObject(ctx, u.loc.Bucket, u.loc.Key, minio.StatObjectOptions{})
		return err
	})
	switch {
	case err == nil && found.UserMetadata[markKey] == u.mark:
		return plainTag(found.ETag), nil
	case err == nil, errors.Is(err, object.ErrNotFound):
		return "", failure // another's object, or none
	}
	return "", &object.Error{Op: "commit", Location: u.loc, Err: fmt.Errorf("%w: %w", object.ErrUnknown, failure)}
}

// conditionError names the class of a condition that failed.
func (u *upload) conditionError(err error) error {
	e, ok := errors.AsType[*object.Error](err)
	if ok && e.Status == http.StatusPreconditionFailed && u.ifMatch == "*" {
		c := *e
		c.Err = object.ErrExists
		return &c
	}
	if ok && u.ifMatch != "" && u.ifMatch != "*" && errors.Is(err, object.ErrNotFound) && e.Code == "NoSuchKey" {
		c := *e
		c.Err = fmt.Errorf("%w: nothing is there, expected ETag %q", object.ErrChanged, u.ifMatch)
		return &c
	}
	return err
}

// Abort joins the parts under way and removes what was uploaded, also when the caller's context has ended.
func (u *upload) Abort() {
	if u.ended {
		return
	}
	u.ended = true
	u.cancel(errOver)
	u.wg.Wait()
	u.buf = nil
	if u.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), cleanUp)
	defer cancel()
	// Best effort: what is left after a failure costs storage until the bucket's rule for unfinished uploads removes it.
	_ = u.do(ctx, "abort", object.Delete, func(ctx context.Context, c minio.Core, _ *exchange) error {
		return c.AbortMultipartUpload(ctx, u.loc.Bucket, u.loc.Key, u.id)
	})
}

func (u *upload) fail(ctx context.Context, op string, err error) error {
	return object.Fail(ctx, op, u.loc, object.Range{}, err)
}
