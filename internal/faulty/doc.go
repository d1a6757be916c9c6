// Package faulty makes HTTP answers go wrong, one request at a time, by rules in text; for tests of clients. The same Rules work
// as a RoundTripper (below a client) and as a Handler (in front of a server), and log every request.
//
//	GET */data/*.parquet #2 -> status 503 retry-after=60 x2
//	* * -> delay 50ms
//	GET * 1% -> delay 2s                 # stragglers
//	GET b/k range=-65536 -> cut 1000     # the connection ends after 1000 bytes of the body
//	PUT * -> reset 0, x1
//
// # Language
//
//	rules   = rule {newline rule}, "#" at the start of a line or after a space and followed by a space begins a comment
//	rule    = method path {match} "->" fault {"," fault}
//	method  = GET | HEAD | PUT | POST | DELETE | LIST | "*"          LIST is a GET with list-type
//	path    = glob over bucket/key as in the URL's path, decoded; "*" crosses slashes
//	match   = "#"n | "#"n"-"m | "#"n"+"                              ordinal of the request for that path, from 1
//	        | "range="text                                           the Range header without bytes=
//	        | P"%"                                                   by a hash of (seed, rule, path, range, repeat)
//	        | "x"n                                                   at most n uses (may also follow a fault)
//	fault   = "status" code ["code="text] ["retry-after="text] ["region="text]
//	        | "delay" duration | "delay" a".."b | "delay" "lognormal("median";"sigma")"
//	        | "hang" [duration]                                      no headers (for the duration, or for ever)
//	        | "deaf" [duration]                                      the same, and the request's body is not read
//	        | "refuse"                                               no answer, the connection breaks
//	        | "lose"                                                 it is served, and the answer is lost
//	        | "cut" k | "reset" k                                    FIN or RST after k bytes of the body
//	        | "stall" k [duration]                                   nothing more after k bytes
//	        | "corrupt" k                                            byte k of the body has its bits flipped
//	        | "ignore-range"                                         200 and the whole length; bytes beyond the range are zero
//	        | "content-range" "shift="n | "total="n | "short="n | "none"
//	        | "etag" text                                            the answer carries another ETag; W/ marks its own as weak
//	        | "call" name                                            runs a function of On first (swap an object, expire a key)
//
// All rules that match apply, in order; delays add up, the first of status, refuse and hang ends the request.
package faulty
