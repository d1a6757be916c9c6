package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// duckdb is DuckDB in a Python process (peer.py), which tells its own CPU.
type duckdb struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startDuckDB runs script with LAKESCAN_PYTHON, or the interpreter that integration/prepare.sh made.
func startDuckDB(script string) (*duckdb, error) {
	python := os.Getenv("LAKESCAN_PYTHON")
	if python == "" {
		tools := os.Getenv("LAKESCAN_TOOLS")
		if tools == "" {
			cache, _ := os.UserCacheDir()
			tools = filepath.Join(cache, "lakescan", "tools")
		}
		python = filepath.Join(tools, "python", "bin", "python")
	}
	d := &duckdb{cmd: exec.Command(python, script)}
	d.cmd.Stderr = os.Stderr
	in, err := d.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.in, d.out = in, bufio.NewScanner(out)
	return d, d.cmd.Start()
}

// read reads columns of a file (nil = all) and returns the CPU spent.
func (d *duckdb) read(path string, columns []string) (time.Duration, int64, error) {
	b, err := json.Marshal(map[string]any{"path": path, "columns": columns})
	if err != nil {
		return 0, 0, err
	}
	if _, err := d.in.Write(append(b, '\n')); err != nil {
		return 0, 0, err
	}
	if !d.out.Scan() {
		return 0, 0, errors.Join(errors.New("the Python process has ended"), d.out.Err())
	}
	var a struct {
		CPU  float64
		Rows int64
	}
	if err := json.Unmarshal(d.out.Bytes(), &a); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", d.out.Text(), err)
	}
	return time.Duration(a.CPU * float64(time.Second)), a.Rows, nil
}

// Close ends the process and waits for it.
func (d *duckdb) Close() error {
	_ = d.in.Close()
	return d.cmd.Wait()
}
