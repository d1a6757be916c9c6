//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// detach takes a child out of the terminal's group, so that Ctrl-C reaches this process alone, which then ends the child.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
