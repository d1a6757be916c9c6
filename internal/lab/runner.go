package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Runner takes the samples of a matrix. Its fields are set before Run.
type Runner struct {
	Matrix *Matrix
	Stack  Stack
	Folder *Folder
	// Do runs one job, as a rule in a process of its own (InProcess).
	Do func(ctx context.Context, j Job) (*Sample, error)
	// Progress is called before each run; nil = nobody listens.
	Progress func(Progress)
}

// Progress is how far a run of a matrix is.
type Progress struct {
	Done, All int
	Left      time.Duration // by what it took so far
	Cell      Cell
	Round     int
}

// plan is one sample to be taken.
type plan struct {
	round int
	cell  Cell
}

// todo lists the samples in order, those that are there already left out: all cells in each round, in another order each time.
func (r *Runner) todo() (left []plan, all int) {
	type key struct {
		round int
		id    string
	}
	have := map[key]bool{}
	for _, s := range r.Folder.Samples {
		have[key{s.Round, s.Cell.ID()}] = true
	}
	cells := r.Matrix.Cells()
	for round := range *r.Matrix.Warmup + r.Matrix.Runs {
		for _, i := range r.Matrix.Round(round) {
			if warmup, runs := r.Matrix.Rounds(cells[i]); round < *r.Matrix.Warmup-warmup || round >= *r.Matrix.Warmup+runs {
				continue
			}
			all++
			if !have[key{round, cells[i].ID()}] {
				left = append(left, plan{round, cells[i]})
			}
		}
	}
	return left, all
}

// maxFailed ends a run after so many failed samples in a row: something is wrong that repeating does not mend.
const maxFailed = 5

// Run takes what is missing, and appends each sample as it comes, so that it can be broken off and repeated. A failed scan is a sample with
// an error; wrong rows end the run at once, as do several failures in a row.
func (r *Runner) Run(ctx context.Context) error {
	left, all := r.todo()
	var spent, estimated time.Duration
	rest := time.Duration(0)
	for _, p := range left {
		rest += p.cell.Estimate()
	}
	failed := 0
	for i, p := range left {
		if r.Progress != nil {
			r.Progress(Progress{Done: all - len(left) + i, All: all, Left: scaled(rest, spent, estimated), Cell: p.cell, Round: p.round})
		}
		began := time.Now()
		s, err := r.one(ctx, p, uint64(i))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			s = &Sample{Cell: p.cell, Began: began.UTC().Format(time.RFC3339), Error: err.Error()}
		}
		s.Round, s.Warmup = p.round, p.round < *r.Matrix.Warmup
		if aerr := r.Folder.Add(*s); aerr != nil {
			return aerr
		}
		if failed++; err == nil {
			failed = 0
		}
		if errors.Is(err, ErrWrongRows) || errors.Is(err, ErrGate) || failed == maxFailed {
			return fmt.Errorf("%s: %w", p.cell.ID(), err)
		}
		spent, estimated, rest = spent+time.Since(began), estimated+p.cell.Estimate(), rest-p.cell.Estimate()
	}
	return nil
}

// scaled is the rest by how the estimates came true so far.
func scaled(rest, spent, estimated time.Duration) time.Duration {
	if estimated == 0 {
		return rest
	}
	return time.Duration(float64(rest) * float64(spent) / float64(estimated))
}

func (r *Runner) one(ctx context.Context, p plan, seed uint64) (*Sample, error) {
	j, err := r.Stack.Prepare(ctx, p.cell, r.Matrix.Seed+seed)
	if err != nil {
		return nil, err
	}
	limit := max(time.Minute, 10*p.cell.Estimate())
	inner, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("lab: no end after %v", limit))
	defer cancel()
	s, err := r.Do(inner, j)
	if err != nil {
		if inner.Err() != nil {
			err = context.Cause(inner)
		}
		return nil, err
	}
	if s.Server, err = r.Stack.Traffic(ctx); err != nil {
		return nil, err
	}
	return s, r.Matrix.Gate.check(s)
}

// Outcome is what a process that runs a job writes on its standard output.
type Outcome struct {
	Sample *Sample `json:"sample,omitempty"`
	Error  string  `json:"error,omitempty"`
	Wrong  bool    `json:"wrong,omitempty"` // ErrWrongRows
}

// InProcess runs each job in a process of its own, which command makes: it must read a Job from its standard input, Do it, and write an
// Outcome.
func InProcess(command func(ctx context.Context) *exec.Cmd) func(context.Context, Job) (*Sample, error) {
	return func(ctx context.Context, j Job) (*Sample, error) {
		in, err := json.Marshal(j)
		if err != nil {
			return nil, err
		}
		cmd := command(ctx)
		var out, log bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &log
		cmd.WaitDelay = 2 * time.Second
		runErr := cmd.Run()
		var o Outcome
		if err := json.Unmarshal(out.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("lab: the scan's process told nothing (%v): %s", runErr, strings.TrimSpace(log.String()))
		}
		switch {
		case o.Wrong:
			return nil, fmt.Errorf("%w: %s", ErrWrongRows, o.Error)
		case o.Error != "":
			return nil, errors.New(o.Error)
		}
		return o.Sample, nil
	}
}
