package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A folder of results holds these files; reports are put beside them.
const (
	SamplesFile = "samples.jsonl" // one Sample a line, in the order in which they were taken
	RunFile     = "run.json"      // a Run
)

// Run is what all samples of a folder have in common.
type Run struct {
	Matrix  Matrix  `json:"matrix"`
	Hash    string  `json:"hash"`
	Command string  `json:"command"`
	Store   string  `json:"store"`
	Machine Machine `json:"machine"`
	Began   string  `json:"began"`
	Ended   string  `json:"ended,omitempty"`
	Load    string  `json:"load_before"`
	LoadEnd string  `json:"load_after,omitempty"`
}

// Machine is where and with what it was measured.
type Machine struct {
	OS, Arch, CPU, Kernel string
	CPUs                  int
	MemoryMiB             int64
	Go, Version, Commit   string
	Dirty                 bool `json:",omitempty"`
}

// ThisMachine reads what the system tells; version and commit are the program's.
func ThisMachine(version, commit string, dirty bool) Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Version: version, Commit: commit, Dirty: dirty}
	m.CPU = field("/proc/cpuinfo", "model name")
	if kb := field("/proc/meminfo", "MemTotal"); kb != "" {
		var n int64
		if _, err := fmt.Sscan(kb, &n); err == nil {
			m.MemoryMiB = n >> 10
		}
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	return m
}

// field is the value of the first line "name : value" of a file; "" if there is none.
func field(file, name string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// load is the system's load average, "" where there is none.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b))
	return strings.Join(f[:min(len(f), 3)], " ")
}

// Folder appends samples to a folder of results. It belongs to one goroutine.
type Folder struct {
	Dir     string
	Run     Run
	Samples []Sample // those that are in the file already
	file    *os.File
}

// ErrOtherMatrix is a folder that holds samples of another matrix.
var ErrOtherMatrix = errors.New("lab: the folder holds results of another matrix")

// OpenFolder makes a folder, or opens one to go on with it.
func OpenFolder(dir string, r Run) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f := &Folder{Dir: dir, Run: r}
	old, samples, err := ReadFolder(dir)
	switch {
	case err == nil && old.Hash != r.Hash:
		return nil, fmt.Errorf("%w: %s", ErrOtherMatrix, dir)
	case err == nil:
		f.Run.Began, f.Run.Load = old.Began, old.Load
		f.Samples = samples
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	if err := f.writeRun(); err != nil {
		return nil, err
	}
	if f.file, err = os.OpenFile(filepath.Join(dir, SamplesFile), os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return nil, err
	}
	return f, f.trim()
}

// trim cuts a last line that was not written in full.
func (f *Folder) trim() error {
	text, err := io.ReadAll(f.file)
	if err != nil {
		return err
	}
	end := int64(bytes.LastIndexByte(text, '\n') + 1)
	if err := f.file.Truncate(end); err != nil {
		return err
	}
	_, err = f.file.Seek(end, io.SeekStart)
	return err
}

func (f *Folder) writeRun() error {
	text, err := json.MarshalIndent(f.Run, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(f.Dir, RunFile)
	if err := os.WriteFile(name+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// Add appends a sample.
func (f *Folder) Add(s Sample) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := f.file.Write(append(text, '\n')); err != nil {
		return err
	}
	f.Samples = append(f.Samples, s)
	return nil
}

// Close notes when it was.
func (f *Folder) Close() error {
	f.Run.Ended, f.Run.LoadEnd = time.Now().UTC().Format(time.RFC3339), load()
	return errors.Join(f.file.Close(), f.writeRun())
}

// maxLine bounds one sample, in bytes.
const maxLine = 16 << 20

// ReadFolder reads results; a last line that was not written in full is left out.
func ReadFolder(dir string) (*Run, []Sample, error) {
	text, err := os.ReadFile(filepath.Join(dir, RunFile))
	if err != nil {
		return nil, nil, err
	}
	r := &Run{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, RunFile), err)
	}
	samples, err := ReadSamples(filepath.Join(dir, SamplesFile))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return r, samples, err
}

// ReadSamples reads a file of samples.
func ReadSamples(name string) ([]Sample, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var out []Sample
	lines := bufio.NewReaderSize(file, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		switch {
		case err == io.EOF:
			return out, nil
		case err != nil:
			return nil, err
		case len(line) > maxLine:
			return nil, fmt.Errorf("%s:%d: a line of %d bytes", name, n, len(line))
		}
		var s Sample
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		out = append(out, s)
	}
}

// NewRun describes a run that begins now.
func NewRun(m *Matrix, command, store string, machine Machine) Run {
	return Run{Matrix: *m, Hash: m.Hash(), Command: command, Store: store, Machine: machine, Began: time.Now().UTC().Format(time.RFC3339), Load: load()}
}
