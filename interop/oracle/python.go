package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// python is one process of scripts/reader.py. It belongs to one goroutine.
type python struct {
	program, script string
	cmd             *exec.Cmd
	in              io.WriteCloser
	out             *bufio.Reader
}

func startPython(program, script string) (*python, error) {
	p := &python{program: program, script: script}
	return p, p.start()
}

func (p *python) start() error {
	program, script := p.program, p.script
	cmd := exec.Command(program, script)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "PYICEBERG_MAX_WORKERS=1", "OMP_NUM_THREADS=1", "ARROW_IO_THREADS=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.cmd, p.in, p.out = cmd, in, bufio.NewReaderSize(out, 1<<20)
	return cmd.Start()
}

func (p *python) close() error {
	p.in.Close()
	return p.cmd.Wait()
}

// readerError is what another reader said instead of rows.
type readerError struct{ text string }

func (e *readerError) Error() string { return e.text }

// ask sends a request and hands each answer to f: batches, or an error.
func (p *python) ask(req map[string]any, n int, f func(i int, schema *arrow.Schema, recs []arrow.RecordBatch, err error)) error {
	b, err := json.Marshal(req)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		return err
	}
	for i := range n {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("python ended: %w", err)
		}
		var head struct {
			Bytes int
			Error string
		}
		if err := json.Unmarshal(line, &head); err != nil {
			return err
		}
		if head.Error != "" {
			f(i, nil, nil, &readerError{head.Error})
			continue
		}
		body := make([]byte, head.Bytes)
		if _, err := io.ReadFull(p.out, body); err != nil {
			return err
		}
		r, err := ipc.NewReader(bytes.NewReader(body))
		if err != nil {
			return err
		}
		var recs []arrow.RecordBatch
		for r.Next() {
			rec := r.RecordBatch()
			rec.Retain()
			recs = append(recs, rec)
		}
		if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		f(i, r.Schema(), recs, nil)
		r.Release()
	}
	return nil
}

// answer is what one reader gave for one query: sorted texts of rows, or an error.
type answer struct {
	rows []string
	err  error
}

// read asks all queries of a table. A query at which the process died is answered by an error that says so; the others by a new process.
func (p *python) read(op string, q question, queries []any) ([]answer, error) {
	out := make([]answer, 0, len(queries))
	for crashes := 0; len(out) < len(queries); crashes++ {
		part, err := p.readSome(op, q, queries[len(out):])
		out = append(out, part...)
		if err == nil {
			continue
		}
		how := p.close()
		out = append(out, answer{err: &readerError{fmt.Sprintf("the process died (%v): %v", how, err)}})
		if err := p.start(); err != nil {
			return nil, err
		}
		for crashes >= 2 && len(out) < len(queries) { // it will not do better
			out = append(out, out[len(out)-1])
		}
	}
	return out, nil
}

func (p *python) readSome(op string, q question, queries []any) (out []answer, _ error) {
	err := p.ask(map[string]any{"op": op, "metadata": q.at, "snapshot": q.m.Snapshot, "queries": queries}, len(queries), func(_ int, s *arrow.Schema, recs []arrow.RecordBatch, err error) {
		if err != nil {
			out = append(out, answer{err: err})
			return
		}
		out = append(out, texts(s, recs, q.m.schema()))
	})
	return out, err
}

// texts renders a result; other columns than the table's are an error.
func texts(s *arrow.Schema, recs []arrow.RecordBatch, t *Type) (a answer) {
	var names, want []string
	for _, f := range s.Fields() {
		names = append(names, f.Name)
	}
	for _, f := range t.Fields {
		want = append(want, f.Name)
	}
	if strings.Join(names, "\x00") != strings.Join(want, "\x00") {
		a.err = &readerError{fmt.Sprintf("columns %q, the table has %q", names, want)}
		return a
	}
	for _, r := range recs {
		if a.err == nil {
			a.rows, a.err = batchText(a.rows, r, t)
		}
		r.Release()
	}
	return a
}
