// Package failpoints names places inside our own code where a test, or a person with a running program, can make things go wrong.
//
//	var fpClaim = failpoints.New("source/claim_pause")
//
//	if err := fpClaim.Do(ctx); err != nil { // or DoKey(ctx, key)
//		return err
//	}
//
// A point that is off costs one atomic load and a branch; do not put one into a loop over values. Use it where no interface
// seam exists; faults of a store or a server belong to their fakes.
//
// # Language
//
//	spec   = entry {";" entry}
//	entry  = point ["@" glob] "=" chain
//	chain  = term {"->" term}
//	term   = [N "*"] [P "%"] ["@" glob " "] action
//	action = off | error[(text)] | sleep(duration) | pause | panic[(text)] | kill | call
//
// A hit takes the first entry of its point whose glob matches the key ("*" is any text, "?" one character; an entry without a
// glob matches every key), and there the first term that matches the key and has uses left: N counts uses, a term without N
// never ends. P is decided by a hash of (seed, point, key, hit of that key), so it does not depend on which goroutine came
// first; a hit that loses the draw passes. sleep and pause end with the context; a pause also ends when its point is armed anew
// or disarmed. error gives an *Error; kill is SIGKILL of this process; call runs the function of EnableFunc.
//
//	object/get_error=2*error(SlowDown)->off;prefetchpool/pool_pause@scanB=pause
//
// # Arming
//
// Tests call Enable, which arms a point for the process, or Scoped, which arms it for the calls of one context, so that tests
// may run in parallel. A running program takes Arm (cmd/lakescan, from the variable EnvVar) or Handler. Packages read no environment.
package failpoints
