// Command lakescan scans Iceberg tables and Parquet files on S3 from the command line.
//
// A verb lies in a file of its own and calls the SDK; what the program can do, a service can. This package alone exits,
// handles signals, and decides what is printed where: data on stdout, everything else on stderr.
package main

import (
	"os"

	"golang.org/x/term"
)

func main() { os.Exit(int(run(os.Args[1:], standard()))) }

// streams are the program's ends.
type streams struct {
	in            *os.File
	out, err      *os.File
	env           []string
	inTTY, outTTY bool
	errTTY        bool
}

func standard() streams {
	s := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ()}
	isTTY := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	s.inTTY, s.outTTY, s.errTTY = isTTY(s.in), isTTY(s.out), isTTY(s.err)
	return s
}

// width is the terminal's, 80 if it does not tell.
func (s streams) width() int {
	if w, _, err := term.GetSize(int(s.out.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}
