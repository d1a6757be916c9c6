package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"

	"github.com/rogpeppe/go-internal/testscript"
)

// tty runs a shell command on a terminal of its own, types a file there, and leaves what the terminal got in the file tty. Testscript's own ttyin
// closes the terminal when the command has ended, and what was not read by then is lost.
func tty(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] tty INPUT COMMAND")
	}
	input := ts.ReadFile(args[0])
	ctrl, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	ts.Check(err)
	defer ctrl.Close()
	var number, unlocked int32
	ts.Check(ioctl(ctrl, syscall.TIOCGPTN, &number))
	ts.Check(ioctl(ctrl, syscall.TIOCSPTLCK, &unlocked))
	name := fmt.Sprintf("/dev/pts/%d", number)
	term, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
	ts.Check(err)
	var out bytes.Buffer
	read, typed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&out, ctrl) // ends with EIO, when nobody has the terminal open any more and all is read
	}()
	go func() {
		defer close(typed)
		_, _ = ctrl.WriteString(input + "\x04")
	}()
	err = ts.Exec("sh", "-c", `exec setsid -w -c sh -c "$1" <"$0"`, name, args[1])
	term.Close()
	<-read
	<-typed
	ts.Logf("[tty]\n%s", out.String())
	ts.Check(os.WriteFile(ts.MkAbs("tty"), out.Bytes(), 0o600))
	if (err != nil) != neg {
		ts.Fatalf("on the terminal: %v", err)
	}
}

func ioctl(f *os.File, request uintptr, arg *int32) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(arg))); errno != 0 {
		return errno
	}
	return nil
}
