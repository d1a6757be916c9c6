// Package plan turns a snapshot into a stream of source.Task: manifest list, delete manifests, data manifests, entries.
//
//	list ──► delete manifests ─► delete index ─┐ (frozen)
//	    └──► data manifests, window, in order ─┴► decode ─► prune ─► attach deletes ─► Task … (pulled)
//
// The machine decides: it is a plain struct that is told "manifest i is here" and asked "what next", without goroutine,
// clock or I/O. The run moves bytes: it asks an object.Fetcher for the manifests that the machine's window admits and
// feeds them in order. A manifest is decoded as far as tasks are pulled, so planning stops when reading stops. Order and
// content of the tasks depend on the table and the request alone.
//
// Contexts: Tasks' ctx bounds its range. A Plan is immutable and may be ranged over by several goroutines, each with its
// own state; a Cache is safe for concurrent use. A range whose consumer does not mean to stop early has one goroutine, which unpacks
// a manifest while the one before it is decoded, and which it waits for when it ends.
package plan
