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

	"github.com/apache/arrow-go/v18/arrow"
	_ "github.com/apache/arrow-go/v18/arrow/extensions" // UUID, as streams name it
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/lakescan/lakescan/internal/canon"
)

// judge is the Python process with the other readers and PyArrow's writer.
type judge struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// interpreter is LAKESCAN_PYTHON, or the one that integration/prepare.sh made.
func interpreter() string {
	if p := os.Getenv("LAKESCAN_PYTHON"); p != "" {
		return p
	}
	tools := os.Getenv("LAKESCAN_TOOLS")
	if tools == "" {
		cache, _ := os.UserCacheDir()
		tools = filepath.Join(cache, "lakescan", "tools")
	}
	return filepath.Join(tools, "python", "bin", "python")
}

// startJudge runs script; Close ends it.
func startJudge(script string) (*judge, error) {
	cmd := exec.Command(interpreter(), script)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w (integration/prepare.sh puts Python in place)", err)
	}
	j := &judge{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	j.out.Buffer(nil, 64<<20)
	return j, nil
}

// Close ends the process and waits for it.
func (j *judge) Close() error {
	_ = j.in.Close()
	return j.cmd.Wait()
}

// ask sends a request and decodes the answer.
func (j *judge) ask(request, answer any) error {
	b, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := j.in.Write(append(b, '\n')); err != nil {
		return err
	}
	if !j.out.Scan() {
		return errors.Join(errors.New("the Python process has ended"), j.out.Err())
	}
	var fault struct{ Error string }
	if err := json.Unmarshal(j.out.Bytes(), &fault); err != nil {
		return err
	}
	if fault.Error != "" {
		return errors.New(fault.Error)
	}
	return json.Unmarshal(j.out.Bytes(), answer)
}

// reading is what one reader made of a file.
type reading struct {
	reader  string
	refused map[string]string // by column: why
	columns map[string]column
}

// column of a reading: its type's name and the canonical text of each row.
type column struct {
	typ   arrow.Field
	cells []string
}

// read has PyArrow and DuckDB read a file.
func (j *judge) read(path string) ([]reading, error) {
	var refused struct{ Pyarrow, Duckdb map[string]string }
	err := j.ask(map[string]string{"op": "read", "path": path, "out": path}, &refused)
	if err != nil {
		return nil, err
	}
	out := []reading{{reader: "pyarrow", refused: refused.Pyarrow}, {reader: "duckdb", refused: refused.Duckdb}}
	for i := range out {
		name := path + "." + out[i].reader
		out[i].columns, err = stream(name)
		_ = os.Remove(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", out[i].reader, err)
		}
	}
	return out, nil
}

// stream renders an Arrow stream.
func stream(path string) (map[string]column, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := ipc.NewReader(f)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	t := canon.NewTable(r.Schema(), canon.StoredOrder)
	for r.Next() {
		if err := t.Add(r.RecordBatch()); err != nil {
			return nil, err
		}
	}
	return columnsOf(r.Schema(), t), r.Err()
}

func columnsOf(s *arrow.Schema, t *canon.Table) map[string]column {
	out := make(map[string]column, s.NumFields())
	for i, f := range s.Fields() {
		out[f.Name] = column{f, t.Column(i)}
	}
	return out
}
