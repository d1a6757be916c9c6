package object_test

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutine is the number of the calling goroutine, as stack traces show it.
func goroutine() int64 {
	var buf [64]byte
	f := bytes.Fields(buf[:runtime.Stack(buf[:], false)])
	n, err := strconv.ParseInt(string(f[1]), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
