// Package inspect shows a table's metadata as Arrow batches: snapshots, history and refs out of the metadata document,
// manifests out of the manifest list, files and partitions out of the manifests, streamed and decoded by the planner's own
// decoders, so that a wrong number here is a wrong plan.
//
// A Result may be ranged over more than once; each range reads anew. Batches are lent: valid until the next step, Retain
// what is kept. No goroutine is started.
package inspect
