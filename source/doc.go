// Package source is the hub: tasks in, Arrow batches out. It owns the window of reader futures, order, deletes and teardown.
//
//	tasks ─▶ claimer ─▶ window of slots ─▶ one goroutine a file ─▶ units ─▶ decode workers ─▶ consumer, in file order
//	         (planning)  (window.go)        tail, footer, waves     (decode.go)               (reader.go)
//	                         ▲                 │ requests through the lane (fetch.go)
//	                         └── depth.go says how far ahead
//
// The claimer pulls the task iterator outside every lock and numbers what it gets: the number is the slot's place in the
// output. A file's goroutine holds no slot of the pool while it waits for its own requests, and no request waits for
// another, so a pool of one works. Workers decode (unit, column) items of the files that are next. The consumer takes slots
// in order, skips empty ones, and stops at the first failed one: the error of the lowest file is the one reported, at every
// depth. At depth 0 all of this happens on the consumer's goroutine, in a plain loop (inline.go).
//
// Memory: fetched bytes are held by the lane (class Prefetch) until the units that need them are decoded; decoded bytes are
// charged to Decoded until the last Release of a batch. The unit that the consumer waits for is always admitted.
//
// Contexts: Open's ctx bounds the scan; a ctx given to a method bounds that call. Close needs none and always joins.
// Arrow: a Batch is lent until the next step of the same iterator or reader; Retain what is kept, Release what was retained.
//
// The formulas that depth.go and Stats use (fetch time F, cost per file c, floor W*) are those of the queueing argument in
// docs/experiments.md: F = r·L + S/min(B, w·b), c = max(d/T, S/B, R·L/C - r·L/N), W* = N·c + r·L + min(S/B, d).
package source
