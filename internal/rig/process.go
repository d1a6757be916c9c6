package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Process is a server that the rig started. Stop ends it; a stopped one can be started again on the same port.
type Process struct {
	Name, Log string
	args, env []string
	cmd       *exec.Cmd
	exited    chan struct{}
}

// startProcess runs args with env added; its output goes to a file in dir.
func startProcess(dir, name string, env []string, args ...string) (*Process, error) {
	p := &Process{Name: name, Log: filepath.Join(dir, name+".log"), args: args, env: env}
	return p, p.Start()
}

// Start runs the process again after Stop or Kill.
func (p *Process) Start() error {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	setParentDeathSignal(p.cmd.SysProcAttr)
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("rig: %s: %w", p.Name, err)
	}
	p.exited = make(chan struct{})
	go func() { p.cmd.Wait(); close(p.exited) }() // ends with the process; Stop waits for it
	return nil
}

// Stop asks the process to end, and kills it after five seconds.
func (p *Process) Stop() { p.end(syscall.SIGTERM) }

// Kill ends it at once, as a crash would.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

func (p *Process) end(sig syscall.Signal) {
	if p == nil || p.cmd == nil {
		return
	}
	p.cmd.Process.Signal(sig)
	select {
	case <-p.exited:
	case <-time.After(5 * time.Second):
		p.cmd.Process.Kill()
		<-p.exited
	}
}

// ready polls probe until it succeeds, the process ends, or ctx does.
func (p *Process) ready(ctx context.Context, probe func(context.Context) error) error {
	var last error
	for {
		if last = probe(ctx); last == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("rig: %s ended before it was ready (%v): see %s\n%s", p.Name, last, p.Log, tail(p.Log))
		case <-ctx.Done():
			return fmt.Errorf("rig: %s not ready: %w (last: %v): see %s\n%s", p.Name, ctx.Err(), last, p.Log, tail(p.Log))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func tail(file string) string {
	b, _ := os.ReadFile(file)
	return string(b[max(0, len(b)-2000):])
}

// FreePort returns a loopback address that nobody listened on a moment ago.
func FreePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func portOf(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if _, bad := strconv.Atoi(port); err != nil || bad != nil {
		panic(errors.Join(err, bad)) // addr comes from net.Listen
	}
	return port
}
