package canon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// Facts are what the corpus says about a result, in its JSON form.
type Facts struct {
	Schema            []FieldFacts  `json:"schema,omitempty"`
	NumRows           int64         `json:"num_rows"`
	Columns           []ColumnFacts `json:"columns,omitempty"`
	RowsSHA256        string        `json:"rows_sha256,omitempty"`
	RowsInOrderSHA256 string        `json:"rows_in_order_sha256,omitempty"`
	FirstRows         []string      `json:"first_rows,omitempty"`
}

// FieldFacts is one top-level field; Nullable is absent where readers do not agree on it.
type FieldFacts struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable *bool  `json:"nullable,omitempty"`
}

// ColumnFacts describes the values of one top-level column. Absent facts are nil.
type ColumnFacts struct {
	Name      string  `json:"name"`
	NullCount int64   `json:"null_count"`
	Distinct  int64   `json:"distinct"`
	SHA256    string  `json:"sha256"`
	Min       *string `json:"min,omitempty"`
	Max       *string `json:"max,omitempty"`
	Sum       *string `json:"sum,omitempty"`
	NaNCount  *int64  `json:"nan_count,omitempty"`
	TrueCount *int64  `json:"true_count,omitempty"`
}

// Table collects batches of one schema as text.
type Table struct {
	fields []arrow.Field
	order  MapOrder
	cells  [][]string // by column
	rows   []string
}

// NewTable makes an empty table; every batch added must have this schema.
func NewTable(s *arrow.Schema, order MapOrder) *Table {
	return &Table{fields: s.Fields(), order: order, cells: make([][]string, s.NumFields())}
}

// Add renders every row of a batch, which is only read.
func (t *Table) Add(b arrow.RecordBatch) error {
	if int(b.NumCols()) != len(t.fields) {
		return fmt.Errorf("canon: batch of %d columns, want %d", b.NumCols(), len(t.fields))
	}
	var cell, row []byte
	for i := range int(b.NumRows()) {
		row = append(row[:0], '[')
		for c, f := range t.fields {
			var err error
			if cell, err = AppendValue(cell[:0], f, b.Column(c), i, t.order); err != nil {
				return fmt.Errorf("column %q, row %d: %w", f.Name, len(t.rows), err)
			}
			if c > 0 {
				row = append(row, ',')
			}
			row = append(row, cell...)
			t.cells[c] = append(t.cells[c], string(cell))
		}
		t.rows = append(t.rows, string(append(row, ']')))
	}
	return nil
}

// Rows are the canonical rows so far, in the order of arrival; the slice is the table's own.
func (t *Table) Rows() []string { return t.rows }

// Column holds the canonical texts of column i in the order of arrival; the slice is the table's own.
func (t *Table) Column(i int) []string { return t.cells[i] }

// Facts computes schema, digests and the facts of each column.
func (t *Table) Facts() Facts {
	f := Facts{
		NumRows:           int64(len(t.rows)),
		RowsSHA256:        sortedDigest(t.rows),
		RowsInOrderSHA256: digest(t.rows),
		FirstRows:         slices.Clone(t.rows[:min(3, len(t.rows))]),
	}
	for i, a := range t.fields {
		nullable, name := a.Nullable, TypeName(a)
		f.Schema = append(f.Schema, FieldFacts{Name: a.Name, Type: name, Nullable: &nullable})
		f.Columns = append(f.Columns, columnFacts(a.Name, name, t.cells[i]))
	}
	for i, r := range f.FirstRows {
		f.FirstRows[i] = shortRow(r)
	}
	return f
}

// shortRow stands for a long row by its hash, as the manifest does.
func shortRow(r string) string {
	if utf8.RuneCountInString(r) <= 2000 {
		return r
	}
	h := sha256.Sum256([]byte(r))
	return "sha256:" + hex.EncodeToString(h[:])
}

// Digest hashes lines in the order given; SortedDigest after sorting a copy by bytes.
func digest(lines []string) string {
	h := sha256.New()
	for _, l := range lines {
		h.Write([]byte(l))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sortedDigest(lines []string) string {
	return digest(slices.Sorted(slices.Values(lines)))
}

func columnFacts(name, typ string, cells []string) ColumnFacts {
	f := ColumnFacts{Name: name, SHA256: sortedDigest(cells)}
	seen := map[string]bool{}
	var values []string
	for _, c := range cells {
		if c == "null" {
			f.NullCount++
			continue
		}
		seen[c] = true
		values = append(values, c)
	}
	f.Distinct = int64(len(seen))
	switch {
	case strings.HasPrefix(typ, "int") || strings.HasPrefix(typ, "uint"):
		f.integers(values, 0, false)
	case strings.HasPrefix(typ, "decimal"):
		scale, _ := strconv.Atoi(strings.TrimSuffix(typ[strings.IndexByte(typ, ',')+1:], ")"))
		f.integers(values, scale, true)
	case strings.HasPrefix(typ, "float"):
		f.floats(values, map[string]int{"float16": 4, "float32": 8, "float64": 16}[typ])
	case typ == "bool":
		n := int64(0)
		for _, v := range values {
			if v == "true" {
				n++
			}
		}
		f.TrueCount = &n
	case typ == "binary" || typ == "uuid" || strings.HasPrefix(typ, "fixed"):
		f.texts(values)
	case typ == "date" || strings.HasPrefix(typ, "time"):
		if !slices.ContainsFunc(values, func(v string) bool {
			dated := !strings.HasPrefix(typ, "time[")
			return dated && (v[1] == '-' || v[5] != '-')
		}) {
			f.texts(values)
		}
	}
	return f
}

// integers handles integers and decimals, which are integers with a point put in.
func (f *ColumnFacts) integers(values []string, scale int, quoted bool) {
	if len(values) == 0 {
		return
	}
	var low, high, sum *big.Int
	for _, v := range values {
		x, ok := new(big.Int).SetString(strings.Replace(strings.Trim(v, `"`), ".", "", 1), 10)
		if !ok {
			panic("canon: not a number: " + v)
		}
		if low == nil {
			low, high, sum = x, x, new(big.Int)
		}
		if x.Cmp(low) < 0 {
			low = x
		}
		if x.Cmp(high) > 0 {
			high = x
		}
		sum.Add(sum, x)
	}
	text := func(x *big.Int) *string {
		s := x.String()
		if quoted {
			s = string(appendScaled(nil, x, scale))
		}
		return &s
	}
	f.Min, f.Max, f.Sum = text(low), text(high), text(sum)
}

// floats adds the texts, not the values they came from, and rounds once; zeros of both signs count as the positive one.
func (f *ColumnFacts) floats(values []string, digits int) {
	nans, infinite := int64(0), false
	low, high := math.Inf(1), math.Inf(-1)
	sum := new(big.Float).SetPrec(2200) // wide enough for any sum of float64 without rounding
	for _, v := range values {
		x, err := strconv.ParseFloat(strings.Trim(v, `"`), 64)
		if err != nil {
			panic("canon: not a float: " + v)
		}
		if math.IsNaN(x) {
			nans++
			continue
		}
		low, high = min(low, x), max(high, x)
		if math.IsInf(x, 0) {
			infinite = true
		} else {
			sum.Add(sum, new(big.Float).SetFloat64(x))
		}
	}
	f.NaNCount = &nans
	if int64(len(values)) == nans {
		return
	}
	text := func(x float64, digits int) *string {
		s := string(appendFloat(nil, x+0, digits))
		return &s
	}
	f.Min, f.Max = text(low, digits), text(high, digits)
	if !infinite {
		total, _ := sum.Float64()
		f.Sum = text(total, 16)
	}
}

func (f *ColumnFacts) texts(values []string) {
	if len(values) == 0 {
		return
	}
	low, high := slices.Min(values), slices.Max(values)
	low, high = low[1:len(low)-1], high[1:len(high)-1]
	f.Min, f.Max = &low, &high
}
