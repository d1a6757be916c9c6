package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lakescan/lakescan/internal/lab"
	"github.com/lakescan/lakescan/internal/lab/draw"
)

// ErrNoSamples is a folder without a kept run.
var ErrNoSamples = errors.New("report: no samples")

// Files that Write makes beside the plots.
const (
	PageFile    = "report.html"
	CellsFile   = "cells.csv"
	SamplesFile = "samples.csv"
	PlotFolder  = "plots"
)

// Write makes the report of a folder of results in the folder to: the page, the plots in both themes, the tables.
func Write(from, to string) (page string, err error) {
	run, samples, err := lab.ReadFolder(from)
	if err != nil {
		return "", err
	}
	groups := groupsOf(samples, run.Matrix.Cells())
	if len(groups) == 0 {
		return "", fmt.Errorf("%w in %s", ErrNoSamples, from)
	}
	list := charts(run, groups)
	if err := os.MkdirAll(filepath.Join(to, PlotFolder), 0o755); err != nil {
		return "", err
	}
	for _, c := range list {
		if err := writePNG(filepath.Join(to, PlotFolder, c.name+".png"), c.pic, draw.Light); err != nil {
			return "", err
		}
		if err := writePNG(filepath.Join(to, PlotFolder, c.name+"-dark.png"), c.pic, draw.Dark); err != nil {
			return "", err
		}
	}
	var out bytes.Buffer
	if err := pageOf(&out, run, groups, list, samples); err != nil {
		return "", err
	}
	for name, text := range map[string][]byte{PageFile: out.Bytes(), CellsFile: cellsCSV(groups), SamplesFile: samplesCSV(samples)} {
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(to, PageFile), nil
}

func writePNG(name string, p *draw.Picture, t draw.Theme) error {
	var out bytes.Buffer
	if err := p.PNG(&out, t); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}

// Summary is the table of cells as text, for a terminal.
func Summary(from string) (string, error) {
	run, samples, err := lab.ReadFolder(from)
	if err != nil {
		return "", err
	}
	groups := groupsOf(samples, run.Matrix.Cells())
	head, rows := table(groups)
	return align(head, rows), nil
}

// align sets columns to the right, the first to the left.
func align(head []string, rows [][]string) string {
	width := make([]int, len(head))
	for _, r := range append([][]string{head}, rows...) {
		for i, v := range r {
			width[i] = max(width[i], len([]rune(v)))
		}
	}
	var b strings.Builder
	for _, r := range append([][]string{head}, rows...) {
		for i, v := range r {
			pad := strings.Repeat(" ", width[i]-len([]rune(v)))
			if i == 0 {
				b.WriteString(v + pad)
			} else {
				b.WriteString("  " + pad + v)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
