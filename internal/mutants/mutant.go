package main

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

const (
	oldMark = "--- old"
	newMark = "+++ new"
)

// mutant is one wrong change.
type mutant struct {
	name     string
	file     string   // slash path from the root of the module
	pkg      string   // of the test
	run      string   // its pattern
	flags    []string // of the build: -tags and the like
	old, new string   // whole lines with their ends
}

var errApplies = errors.New("no longer applies")

// parse reads the format of the package comment. Nothing may be missing, repeated or unknown.
func parse(text string) (mutant, error) {
	var m mutant
	head, rest, ok := strings.Cut(text, "\n"+oldMark+"\n")
	if !ok {
		return m, fmt.Errorf("no line %q", oldMark)
	}
	if err := m.header(head); err != nil {
		return m, err
	}
	if strings.HasPrefix(rest, newMark+"\n") {
		return m, errors.New("the old text is empty")
	}
	if m.old, m.new, ok = strings.Cut(rest, "\n"+newMark+"\n"); !ok {
		return m, fmt.Errorf("no line %q", newMark)
	}
	m.old += "\n"
	if m.new != "" && !strings.HasSuffix(m.new, "\n") {
		m.new += "\n"
	}
	if m.old == m.new {
		return m, errors.New("old and new text are equal")
	}
	return m, nil
}

func (m *mutant) header(head string) error {
	var test string
	fields := map[string]*string{"name": &m.name, "file": &m.file, "test": &test}
	for line := range strings.SplitSeq(head, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		to := fields[key]
		value = strings.TrimSpace(value)
		switch {
		case to == nil:
			return fmt.Errorf("header line %q", line)
		case *to != "":
			return fmt.Errorf("%s is given twice", key)
		case value == "":
			return fmt.Errorf("%s is empty", key)
		}
		*to = value
	}
	for _, key := range []string{"name", "file", "test"} {
		if *fields[key] == "" {
			return fmt.Errorf("no %s", key)
		}
	}
	if err := m.parseTest(strings.Fields(test)); err != nil {
		return fmt.Errorf("test %q: %w", test, err)
	}
	if path.IsAbs(m.file) || path.Clean(m.file) != m.file || strings.HasPrefix(m.file, "..") {
		return fmt.Errorf("file %q is not a path from the root of the module", m.file)
	}
	return nil
}

// parseTest takes the package, -run with its pattern, and flags of the build.
func (m *mutant) parseTest(words []string) error {
	m.pkg = words[0]
	if m.pkg != "." && !strings.HasPrefix(m.pkg, "./") {
		return errors.New("it does not start with a package of the module")
	}
	for i := 1; i < len(words); i++ {
		switch {
		case words[i] != "-run":
			m.flags = append(m.flags, words[i])
		case m.run != "" || i+1 == len(words):
			return errors.New("one -run with a pattern is wanted")
		default:
			i++
			m.run = words[i]
		}
	}
	if m.run == "" {
		return errors.New("no -run")
	}
	return nil
}

// apply gives the changed file. The error is errApplies unless the old text is there as whole lines exactly once.
func (m *mutant) apply(source string) (string, error) {
	lines, old := "\n"+source, "\n"+m.old
	at := strings.Index(lines, old)
	if at < 0 {
		return "", fmt.Errorf("%s: the old text is not there: %w", m.file, errApplies)
	}
	if strings.Contains(lines[at+1:], old) { // not Count: two that follow each other share a line end
		return "", fmt.Errorf("%s: the old text is there more than once: %w", m.file, errApplies)
	}
	return source[:at] + m.new + lines[at+len(old):], nil
}
