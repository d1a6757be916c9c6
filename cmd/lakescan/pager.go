package main

import (
	"bytes"
	"errors"
	"os/exec"
	"syscall"

	"github.com/lakescan/lakescan/config"
)

// pager shows a table through a program. A table is written at once, when its result has ended, so it is gathered first and the
// program started only for what is longer than nothing.
type pager struct {
	a    *app
	line string
	buf  bytes.Buffer
}

// newPager is nil unless one was asked for.
func (a *app) newPager() *pager {
	line := a.cfg.Text(config.KeyPager)
	switch line {
	case "", "off", "false":
		return nil
	case "auto", "true":
		if line = lookup(a.env, "PAGER"); line == "" {
			line = "less -SRFX"
		}
	}
	return &pager{a: a, line: line}
}

func (p *pager) Write(b []byte) (int, error) { return p.buf.Write(b) }

// Close runs the program; leaving it early is no failure. Without the program the table is printed plainly.
func (p *pager) Close() error {
	if p.buf.Len() == 0 {
		return nil
	}
	whole := bytes.Clone(p.buf.Bytes())
	cmd := exec.Command("/bin/sh", "-c", p.line)
	cmd.Env = p.a.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &p.buf, p.a.out, p.a.err
	err := cmd.Run()
	var exited *exec.ExitError
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return nil
	case errors.As(err, &exited) && exited.ExitCode() != 126 && exited.ExitCode() != 127:
		return nil
	}
	_, err = p.a.stdout.Write(whole)
	return err
}
