// Package transform holds Iceberg's partition transforms: parsing, applying them to a value, and projecting a predicate on
// a column to predicates on the partition values derived from it (Iceberg specification, "Partition Transforms" and
// "Scan Planning").
//
// All arithmetic is UTC and floor. Years, months, days and hours count from 1970-01-01. The package is pure; a Transform is
// a small comparable value.
package transform
