// Package render writes Arrow batches as text tables, markdown, csv, tsv, json, ndjson, Arrow IPC, Parquet, or nothing.
//
//	enc, err := render.New(w, render.CSV, render.Options{})
//	err = enc.Begin(schema)
//	for each batch { err = enc.Write(batch) }
//	err = enc.Close()
//
// An Encoder borrows a batch for one call and keeps no reference to it or its strings. It writes to w in pieces of about a
// batch and never closes w. After an error of w, or to give up, an encoder is simply dropped; it starts no goroutine.
// An Encoder belongs to one goroutine.
//
// # Values as text
//
//	NULL          the text of Options.Null (table, markdown), nothing (csv, whose empty string is ""), \N (tsv), null (json)
//	float         shortest text that reads back equal, with .0 where it would look like an integer; NaN, Infinity, -Infinity
//	decimal       all digits of its scale
//	date, time    2020-01-31, 13:05:00.25
//	timestamp     2020-01-31 13:05:00.25, with a zone +00:00 behind it, shown in Options.Zone; in json RFC 3339 with all the
//	              digits of the unit
//	interval      ISO 8601 (P1M2DT3.5S)
//	uuid          8-4-4-4-12 hexadecimal digits
//	binary        \xDE\xAD, in json base64
//	nested        json; a map is an object if its keys are strings, else an array of {"key":…,"value":…}
//
// In json, int64 and decimals are numbers of exact digits; with Options.NumbersAsStrings those beyond 2^53 are strings. NaN and
// infinities are strings. Text that is not UTF-8 has its bad bytes replaced by U+FFFD. A repeated column name gets _1, _2 … .
//
// The table and markdown forms show control characters, and the characters that turn the direction of text, as escapes:
// data must not drive a terminal. csv, tsv and ndjson keep them (tsv escapes tab, line feed, carriage return and backslash).
package render
