//go:build duckdb_arrow && cgo

package duckdb

import (
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakescan/lakescan/query"
)

// bind prepares the text that runs, and learns the result's schema.
func (s *statement) bind() error {
	if bindings.Prepare(s.in.conn, s.splice.Text, &s.prepared) == bindings.StateError {
		return &engineError{text: bindings.PrepareError(s.prepared)}
	}
	var options bindings.ArrowOptions
	bindings.ConnectionGetArrowOptions(s.in.conn, &options)
	defer bindings.DestroyArrowOptions(&options)
	n := bindings.PreparedStatementColumnCount(s.prepared)
	types, names := make([]bindings.LogicalType, n), make([]string, n)
	for i := range n {
		types[i] = bindings.PreparedStatementColumnLogicalType(s.prepared, i)
		names[i] = bindings.PreparedStatementColumnName(s.prepared, i)
	}
	var err error
	s.schema, err = arrowSchema(options, types, names)
	return err
}

func (s *statement) plan() error {
	_, err := s.in.text("SELECT json_serialize_plan(" + query.QuoteString(s.splice.Text) + ", optimize := true)::VARCHAR")
	return err
}
