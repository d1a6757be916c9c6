//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// tty is of Linux only; so are the scripts that use it.
func tty(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("tty: no terminals on this system")
}
