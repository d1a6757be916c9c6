// Package fakes3 is an S3 server for unit tests: an http.Handler over objects in memory that checks what a client sends as
// strictly as the real ones do. Signatures (header form of Signature Version 4, signed and unsigned payloads, signed chunks), session tokens, Content-MD5,
// conditions, ranges, multipart rules and regions are all verified; keys are literal.
//
// It runs on a loopback listener (Start), or on in-process pipes (Pipe) inside testing/synctest, where requests take no time but
// what a test adds. Faults are not its business: internal/faulty wraps the handler.
//
// A Server is safe for concurrent use; no lock is held while a body is read or written.
package fakes3
