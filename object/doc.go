// Package object reads byte ranges of objects, and creates, lists and deletes them. It knows no catalog, no pool and no Arrow.
//
// # The chain
//
// A Store is one of the leaves (object/s3, object/file, object/mem) under decorators of this package, outermost first:
//
//	Mapped → Cached → Retry (backoff, resume, hedges) → Metered (real requests) → Mux by scheme → s3 | file | mem
//
// A leaf makes one attempt and says precisely how it failed; everything that repeats is in Retry. What the two
// tell each other about one attempt (a fresh connection is wanted, the headers have come, a request was made) travels
// in an Attempt in the context, as net/http/httptrace does, so a Store of your own may stand anywhere in the chain
// and needs to know nothing of it.
//
// Every decorator implements Lister and Writer too; if the store below does not, the answer is errors.ErrUnsupported.
//
// # Ownership
//
// The answer of Read is dst[:n] when it fits into len(dst), else a fresh slice; either way it belongs to the caller, and no
// store keeps it. Nothing that a Store hands out outlives the call, except an Upload, which its caller ends by Commit or Abort.
//
// # Concurrency
//
// Every Store is safe for concurrent use. A Read starts no goroutine, unless a hedge was sent; then both are joined before it
// returns. All time is taken from the time package, so the whole chain runs in virtual time inside testing/synctest.
package object
