// Package transport builds HTTP transports, so that one TLS and proxy setting serves catalog and store alike.
//
// Each call of New makes a pool of connections of its own: a burst of data requests cannot starve the catalog. The limits of
// a transport cover connecting, waiting for headers and an idle body; the total is the caller's context.
package transport
