// Package rest is a client of Iceberg REST catalogs (Iceberg REST catalog specification): configuration, listing, loading
// and committing tables, and the storage keys that a catalog vends.
//
// Open asks the catalog for its configuration once. A Client keeps no context: each call obeys its own, and work shared by
// callers (renewing a token or keys) outlives the caller who began it, is bounded in time, and is joined by Close. A Client
// is safe for concurrent use; so are the Tables and Credentials it hands out, which stay valid until Close.
//
//	caller ─► do: retry, errors ─► auth: token, one repeat on 401 ─► transport
//	                                 └► renewer: one flight for all callers
//
// No secret appears in an error or a log line.
package rest
