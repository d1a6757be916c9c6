package rig

import "syscall"

// setParentDeathSignal ends the server with the test binary even when that is killed.
func setParentDeathSignal(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGTERM }
