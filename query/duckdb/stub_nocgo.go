//go:build duckdb_arrow && !cgo

package duckdb

const missing = "built with -tags duckdb_arrow but with CGO_ENABLED=0"
