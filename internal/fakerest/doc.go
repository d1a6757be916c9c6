// Package fakerest is an Iceberg REST catalog in the process, for tests and the demo: an http.Handler over JSON documents.
//
// Table metadata is data to it: it knows the documents' keys, not their meaning beyond the requirements and updates of the
// REST specification. It shares no code with package rest, so that one misreading is not tested against itself; paths are
// decoded by the rules of the Java server (a plus is a space). Documents live in memory; Config.Write also hands them to a
// store. A Server is safe for concurrent use; its hooks must be too.
package fakerest
