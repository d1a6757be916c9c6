//go:build !linux

package rig

import "syscall"

func setParentDeathSignal(*syscall.SysProcAttr) {}
