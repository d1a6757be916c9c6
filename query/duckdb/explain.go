//go:build duckdb_arrow && cgo

package duckdb

import (
	"errors"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// explain asks DuckDB for its tree, once for each form. It plans again, so it is done only when somebody asks, and never
// beside a run, which has the connection.
func (s *statement) explain(verb string) string {
	s.explained.Lock()
	defer s.explained.Unlock()
	if text, known := s.explained.text[verb]; known || s.acquire() != nil {
		return text
	}
	defer s.release()
	if s.ran {
		return ""
	}
	text, err := s.explainText(verb + s.splice.Text)
	if err != nil {
		s.engine.cfg.Logger.Debug("no plan to show", "reason", err)
	}
	s.explained.text[verb] = text
	return text
}

func (s *statement) explainText(sql string) (string, error) {
	var ps bindings.PreparedStatement
	defer bindings.DestroyPrepare(&ps)
	if bindings.Prepare(s.in.conn, sql, &ps) == bindings.StateError {
		return "", &engineError{text: bindings.PrepareError(ps)}
	}
	if err := s.bindParameters(ps); err != nil {
		return "", err
	}
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	if bindings.ExecutePrepared(ps, &res) == bindings.StateError {
		return "", &engineError{kind: bindings.ResultErrorType(&res), text: bindings.ResultError(&res)}
	}
	chunk := bindings.FetchChunk(res)
	if chunk.Ptr == nil || bindings.DataChunkGetColumnCount(chunk) < 2 {
		return "", errors.New("duckdb: EXPLAIN gave nothing")
	}
	defer bindings.DestroyDataChunk(&chunk)
	value := (*bindings.StringT)(bindings.VectorGetData(bindings.DataChunkGetVector(chunk, 1)))
	return strings.TrimRight(bindings.StringTData(value), "\n"), nil
}
