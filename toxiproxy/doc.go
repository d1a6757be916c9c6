// Package toxiproxy controls a toxiproxy server and names the link profiles that experiments use.
//
// A Client speaks the HTTP API of a running server (v2.5 and later); nothing of the server is linked. It is for experiments, the demo
// and integration tests: the scan path never imports it.
//
// What the proxy does not model, so no figure may claim it: TCP connect time, slow start, bandwidth shared by connections, and
// anything a request at a time (a toxic is drawn once a connection).
package toxiproxy
