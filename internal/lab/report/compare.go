package report

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lakescan/lakescan/internal/lab"
)

// ErrNothingInCommon is two folders without a cell that both have.
var ErrNothingInCommon = errors.New("report: no cell is in both folders")

// Ratio of a cell of B to that of A: the median over pairs of runs of one round, with the interval in which it lies in 95 of 100 redraws.
type Ratio struct {
	Cell                 lab.Cell
	Pairs                int
	A, B                 float64 // medians
	Mid, Low, High       float64
	RequestsA, RequestsB float64
}

// Verdict says what the interval allows to say.
func (r Ratio) Verdict() string {
	switch {
	case r.Pairs < 4:
		return "too few pairs"
	case r.High < 1:
		return "faster"
	case r.Low > 1:
		return "slower"
	}
	return "no difference"
}

const redraws = 4000

// bootstrap is the median of values and the middle 95 % of the medians of as many draws with replacement; the seed is fixed.
func bootstrap(values []float64) (mid, low, high float64) {
	mid = spreadOf(values).mid
	r := rand.New(rand.NewPCG(1, uint64(len(values))))
	medians := make([]float64, redraws)
	draw := make([]float64, len(values))
	for i := range medians {
		for k := range draw {
			draw[k] = values[r.IntN(len(values))]
		}
		medians[i] = spreadOf(draw).mid
	}
	slices.Sort(medians)
	return mid, quantile(medians, 0.025), quantile(medians, 0.975)
}

// Compare pairs the runs of two folders by cell and round.
func Compare(a, b string) ([]Ratio, error) {
	runA, samplesA, err := lab.ReadFolder(a)
	if err != nil {
		return nil, err
	}
	_, samplesB, err := lab.ReadFolder(b)
	if err != nil {
		return nil, err
	}
	cells := runA.Matrix.Cells()
	other := map[string]*group{}
	for _, g := range groupsOf(samplesB, cells) {
		other[g.cell.ID()] = g
	}
	var out []Ratio
	for _, g := range groupsOf(samplesA, cells) {
		o := other[g.cell.ID()]
		if o == nil {
			continue
		}
		sent := func(s *lab.Sample) float64 { return float64(s.Sent()) }
		r := Ratio{Cell: g.cell, A: g.wall().mid, B: o.wall().mid, RequestsA: g.of(sent).mid, RequestsB: o.of(sent).mid}
		ratios := pairs(g.runs, o.runs)
		if r.Pairs = len(ratios); r.Pairs == 0 {
			continue
		}
		r.Mid, r.Low, r.High = bootstrap(ratios)
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %s, %s", ErrNothingInCommon, a, b)
	}
	return out, nil
}

// pairs are the ratios of wall times of runs of one round.
func pairs(a, b []lab.Sample) []float64 {
	var out []float64
	for _, s := range a {
		if i := slices.IndexFunc(b, func(o lab.Sample) bool { return o.Round == s.Round }); i >= 0 && s.Wall > 0 {
			out = append(out, b[i].Wall/s.Wall)
		}
	}
	return out
}

// CompareText is the table for a terminal, with the geometric mean over cells below it.
func CompareText(list []Ratio) string {
	rows := make([][]string, 0, len(list)+1)
	sum := 0.0
	for _, r := range list {
		sum += math.Log(r.Mid)
		rows = append(rows, []string{
			r.Cell.ID(), fmt.Sprintf("%.3f", r.A), fmt.Sprintf("%.3f", r.B), fmt.Sprintf("%.3f", r.Mid), fmt.Sprintf("[%.3f, %.3f]", r.Low, r.High),
			fmt.Sprint(r.Pairs), fmt.Sprintf("%.0f", r.RequestsA), fmt.Sprintf("%.0f", r.RequestsB), r.Verdict(),
		})
	}
	rows = append(rows, []string{"geometric mean", "", "", fmt.Sprintf("%.3f", math.Exp(sum/float64(len(list)))), "", "", "", "", ""})
	return align([]string{"cell", "A, s", "B, s", "B/A", "95 %", "pairs", "requests A", "B", ""}, rows)
}
