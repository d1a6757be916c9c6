//go:build !duckdb_arrow

package duckdb

const missing = "built without -tags duckdb_arrow"
