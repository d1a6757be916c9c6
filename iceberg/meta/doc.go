// Package meta is the leaf of iceberg: names, versions, errors, and table metadata of format versions 1 to 3. The root
// re-exports by alias what users need, so rest, dir, manifest, plan and inspect import meta and never the root.
//
// Parse keeps the document's bytes: snapshots, logs and statistics stay unread until asked for, since a table may have ten
// thousand snapshots of which a scan needs one. Everything here is immutable after Parse and safe to share. No I/O.
package meta
