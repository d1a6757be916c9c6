// Package icebergtest helps tests of everything that reads Iceberg: it is imported by tests only.
//
//   - Table builds a table byte by hand, with an Avro writer of its own, so that any detail can be wrong on purpose; hooks see
//     every manifest, list and metadata document before it is encoded.
//   - Script is a REST catalog that gives scripted answers, for what no honest catalog sends.
//   - TestCatalog is the suite that every catalog backend must pass.
//   - Rows scans a table through planner and source, for cases that need both.
package icebergtest
