package walk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/parquet"
)

// Outcome is what became of one case.
type Outcome struct {
	Case canon.Case
	// Got says what the reader did: "rows", or the class of its error.
	Got  string
	Rows int64
	// Digests counts the columns whose digest was compared and found equal.
	Digests int
	Err     error    // of the reader
	Faults  []string // why the case fails; nil = passed
}

// Corpus reads every Parquet case of the manifest and judges the result: rows, digests and facts of every column, or the
// class of the error.
func Corpus(ctx context.Context, m *canon.Manifest, o parquet.Options) []Outcome {
	var out []Outcome
	for _, c := range m.Select(canon.ParquetGood, canon.ParquetBad) {
		b, err := m.File(c)
		if err != nil {
			out = append(out, Outcome{Case: c, Err: err, Faults: []string{err.Error()}})
			continue
		}
		out = append(out, Judge(ctx, c, b, o))
	}
	return out
}

// Judge reads one case's file.
func Judge(ctx context.Context, c canon.Case, file []byte, o parquet.Options) Outcome {
	out := Outcome{Case: c}
	table, err := Read(ctx, file, Request{Options: o})
	if err != nil {
		out.Err, out.Got = err, Class(err)
		switch want := c.Expected.ErrorClass; {
		case c.Expected.Outcome == canon.Rows:
			out.Faults = []string{"rows expected, got " + err.Error()}
		case want != "" && out.Got != want, out.Got == "other":
			out.Faults = []string{fmt.Sprintf("error of class %s expected, got %s: %v", want, out.Got, err)}
		}
		return out
	}
	facts := table.Facts()
	out.Got, out.Rows = "rows", facts.NumRows
	switch {
	case c.Expected.Outcome == canon.Error:
		out.Faults = []string{"an error expected, got rows"}
	case c.Expected.Outcome == canon.ErrorOrRows && c.Expected.ErrorClass == "corrupt" && strings.Contains(c.ID, "checksum"):
		out.Faults = []string{"a reader that verifies checksums must refuse"}
	default:
		out.Faults = c.Expected.Diff(facts, false)
		out.Digests = len(c.Expected.Columns)
	}
	return out
}

// Class names the class of a reader's error as the corpus does; "other" is none of them.
func Class(err error) string {
	switch {
	case errors.Is(err, parquet.ErrCorrupt):
		return "corrupt"
	case errors.Is(err, parquet.ErrUnsupported):
		return "unsupported"
	case errors.Is(err, parquet.ErrTooLarge):
		return "limit"
	}
	return "other"
}

// Table prints one line a case and a summary, and returns how many failed.
func Table(w io.Writer, outcomes []Outcome) (failed int) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "case\texpected\tgot\trows\tcolumns equal\tresult\texercises")
	for _, o := range outcomes {
		expected := o.Case.Expected.Outcome
		if class := o.Case.Expected.ErrorClass; class != "" {
			expected += " (" + class + ")"
		}
		result, rows, columns := "pass", "-", "-"
		if o.Got == "rows" {
			rows, columns = fmt.Sprint(o.Rows), fmt.Sprintf("%d of %d", o.Digests, len(o.Case.Expected.Columns))
		}
		if o.Faults != nil {
			failed++
			result, columns = "FAIL", "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.Case.ID, expected, o.Got, rows, columns, result, o.Case.Exercises)
	}
	t.Flush()
	for _, o := range outcomes {
		for _, f := range o.Faults {
			fmt.Fprintf(w, "\n%s: %s", o.Case.ID, f)
		}
	}
	fmt.Fprintf(w, "\n%d cases, %d passed, %d failed\n", len(outcomes), len(outcomes)-failed, failed)
	return failed
}
