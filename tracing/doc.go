// Package tracing turns what a lakescan.Client tells of its scans and requests into OpenTelemetry spans:
//
//	lakescan.scan ─┬─ lakescan.plan
//	               ├─ lakescan.file ─── lakescan.request …
//	               └─ lakescan.request …        of metadata, deletes, retries
//
// It rests on the two event hooks of lakescan.Config, so the scan path knows nothing of OpenTelemetry, and a program that does not import this package
// does not link it. Only the API is imported here; the program chooses the SDK and where spans go.
//
// Spans are made when the scan or request they stand for is over, or while it goes on, with the times that it had: a hook's own delay does not show. A
// span of a scan is a child of the span in the context that the scan was opened with. A request belongs to the file that it reads, if a scan has it in
// hand; two scans of one client that read the same file at the same moment are told apart by chance.
//
// A Tracer keeps what it must remember of open scans, and nothing of closed ones. It is safe for concurrent use.
package tracing
