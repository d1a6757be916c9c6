// Package s3 is a store of S3-compatible objects, over minio-go and one shared, tuned transport.
//
// A call makes one attempt: backoff, resume and hedges belong to object.Retry. Two things are repaired in place, once each, since
// no backoff helps them: a bucket of another region (its region is learnt from the refusal and remembered per bucket), and an
// expired token (the Credentials are asked again, with the refused access as stale).
//
// What minio-go hides is recorded below it: a RoundTripper keeps status, headers and error body of the exchange, so a 200
// that ignored Range is seen, and ends minio-go's own backoff (it sleeps after the last attempt too) by cancelling the
// attempt's context. One client is kept per access and region, since a client has one provider, called under a mutex.
//
// Integrity: an answer must be 206 with exactly the range asked for, its ETag (weak or strong) and total size must equal the pins, its body must
// have exactly its length. Uploads carry Content-MD5. Limits: connect and headers by the transport, 10 s without a byte of
// a body (Config.BodyStall), all else by the context.
//
// Keys are literal: encoded once on the wire, never cleaned. A Store is safe for concurrent use. Reads start no goroutine; an
// upload of several parts has its own, joined by Commit or Abort.
package s3
