// Package prefetchpool admits futures by slots and bytes, for the whole process. It knows no S3 and no Arrow.
//
// A slot is held by one running Job, in practice one request. A job never awaits another job. What needs several (a reader
// future: tail, then ranges) is a goroutine of the scan that holds no slot while it awaits; so a pool of 1 works.
//
//	Submit ─▶ queued ─▶ running ─▶ done ─▶ released      bytes are charged from admission to Release,
//	             └────────┴─────────┴───────▲            a slot from running to done
//
// Who goes next (admission.go, a plain struct):
//
//  1. jobs that somebody waits on, oldest wait first, up to Streams a lane. A few slots are kept free of speculation for
//     them, and they are admitted over the byte budget (counted as overdraft), so every scan always moves;
//  2. else the lane below its share of the slots with the least bytes held / weight, and in it the lowest Order. No barging:
//     a large job at the front of its lane waits for room, it is not overtaken.
//
// A goroutine of the pool runs each job, or the goroutine that awaits it. Release, Lane.Close and Pool.Close join what they
// cancel, and wait for nobody else's work. Every method is safe for concurrent use; a Future belongs to one goroutine at a
// time. Run and Discard are called without any lock of the pool.
package prefetchpool
