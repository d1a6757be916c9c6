package render

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Format of the output.
type Format string

// The formats. Null reads and counts only.
const (
	Table    Format = "table"
	Markdown Format = "markdown"
	CSV      Format = "csv"
	TSV      Format = "tsv"
	JSON     Format = "json"
	NDJSON   Format = "ndjson"
	Arrow    Format = "arrow"
	Parquet  Format = "parquet"
	Null     Format = "null"
)

// Formats lists them in the order of the manual.
var Formats = []Format{Table, Markdown, CSV, TSV, JSON, NDJSON, Arrow, Parquet, Null}

// Errors.
var (
	ErrFormat   = errors.New("render: unknown format")
	ErrTerminal = errors.New("render: a binary format does not go to a terminal")
	ErrSchema   = errors.New("render: the batch does not have the schema of Begin")
)

// ByExtension is the format that a file's name asks for; ok is false if its extension is none.
func ByExtension(name string) (f Format, ok bool) {
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))
	switch ext {
	case "md":
		return Markdown, true
	case "txt":
		return Table, true
	case "jsonl":
		return NDJSON, true
	case "ipc", "arrows", "feather":
		return Arrow, true
	}
	f = Format(ext)
	return f, slices.Contains(Formats, f) && f != Null && f != Table
}

// Options of an encoder; the zero value is good for files.
type Options struct {
	Terminal bool // w is a terminal: binary formats are refused
	File     bool // Arrow: the file format instead of the stream format
	Color    bool // Table: dim NULL and the type row
	Width    int  // Table: columns of the terminal; 0 = full width
	MaxRows  int  // Table: rows shown, head and tail; 0 = all, which keeps all rows in memory
	Expanded bool // Table: one line a column
	Null     string
	Zone     *time.Location // nil = UTC; table, markdown, csv, tsv

	NumbersAsStrings bool // JSON, NDJSON

	// Parquet makes the writer of Parquet files; a Parquet writer is too heavy to be linked in by every user of this package.
	Parquet func(w io.Writer, s *arrow.Schema) (BatchWriter, error)
}

// Encoder writes one result. Begin is called once, then Write any number of times, then Close, also when there was no row.
type Encoder interface {
	Begin(schema *arrow.Schema) error
	Write(batch arrow.RecordBatch) error // batch is borrowed
	Close() error                        // writes what is still held; w stays open
}

// New makes an encoder. Errors: ErrFormat, ErrTerminal.
func New(w io.Writer, f Format, o Options) (Encoder, error) {
	if o.Null == "" {
		o.Null = "NULL"
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	switch f {
	case Table:
		return &table{w: w, o: o}, nil
	case Markdown:
		return &delimited{w: w, o: o, dialect: markdown}, nil
	case CSV:
		return &delimited{w: w, o: o, dialect: csv}, nil
	case TSV:
		return &delimited{w: w, o: o, dialect: tsv}, nil
	case JSON, NDJSON:
		return &objects{w: w, o: o, lines: f == NDJSON}, nil
	case Null:
		return &counter{}, nil
	case Arrow, Parquet:
		if o.Terminal {
			return nil, fmt.Errorf("%w: %s", ErrTerminal, f)
		}
		return binaryEncoder(w, f, o)
	}
	return nil, fmt.Errorf("%w: %q", ErrFormat, string(f))
}

func binaryEncoder(w io.Writer, f Format, o Options) (Encoder, error) {
	switch {
	case f == Parquet && o.Parquet == nil:
		return nil, fmt.Errorf("%w: no writer of parquet is linked in", ErrFormat)
	case f == Parquet:
		return &files{w: w, make: o.Parquet}, nil
	case o.File:
		return &files{w: w, make: ipcFile}, nil
	}
	return &files{w: w, make: ipcStream}, nil
}

// counter is the null format.
type counter struct{ checked }

func (c *counter) Begin(s *arrow.Schema) error       { return c.begin(s) }
func (c *counter) Write(rec arrow.RecordBatch) error { return c.check(rec) }
func (c *counter) Close() error                      { return nil }

// checked holds the schema and refuses batches of another one.
type checked struct {
	schema *arrow.Schema
}

func (c *checked) begin(s *arrow.Schema) error {
	c.schema = s
	return nil
}

func (c *checked) check(rec arrow.RecordBatch) error {
	s := rec.Schema()
	if s == c.schema {
		return nil
	}
	if s.NumFields() != c.schema.NumFields() {
		return fmt.Errorf("%w: %d columns, not %d", ErrSchema, s.NumFields(), c.schema.NumFields())
	}
	for i, f := range s.Fields() {
		if want := c.schema.Field(i); !arrow.TypeEqual(f.Type, want.Type) {
			return fmt.Errorf("%w: column %s is a %s, not a %s", ErrSchema, want.Name, f.Type, want.Type)
		}
	}
	return nil
}

// uniqueNames gives a repeated name a number.
func uniqueNames(s *arrow.Schema) []string {
	seen := map[string]bool{}
	names := make([]string, s.NumFields())
	for i, f := range s.Fields() {
		names[i] = f.Name
		for n := 1; seen[names[i]]; n++ {
			names[i] = fmt.Sprintf("%s_%d", f.Name, n)
		}
		seen[names[i]] = true
	}
	return names
}
