// Package memory is the one byte budget of a process.
//
// A Budget is made once, by the facade, and handed to the prefetch pool, scans, index builds, projections and SQL. It
// allocates nothing itself: owners tell it what they hold, and it answers what else may be taken.
//
//	elastic    Prefetch, Decoded   Elastic: admission up to Allowed, which falls as the other classes grow; a source's
//	                               head unit may overdraw, so a scan always moves. Gives back first.
//	spillable  Spillable           Reporter + Arena: grows slab by slab and never waits; over the share, the owner of the
//	                               largest arena is asked to spill.
//	fixed      Fixed, SQL          Reservation: taken before the memory is allocated, waited for (Reserve) only by a caller
//	                               that holds nothing, refused at once by TryReserve.
//
// What one owner holds is known exactly. The counters of a Reporter lag by less than one step, so that nothing shared is
// touched per row; they end at exactly zero. Process bound: limit + head units of the sources + lag + one batch an owner.
//
// Concurrency: every method may be called from any goroutine, except that an Arena belongs to one goroutine at a time.
// A nil *Budget is an unlimited, uncounted one, and so is a nil *Elastic. In files that use both, Arrow's package of the
// same name is imported as arrowmem.
package memory
