// Package dir finds tables without a catalog: a metadata file, a table's folder, or a warehouse of folders. It is
// read-only: two writers without a catalog cannot tell who came first.
//
// The rule for a folder T (case L44), whose files are T/metadata/v{N}.metadata.json or T/metadata/{N}-{uuid}.metadata.json,
// with .gz or .gzip before .metadata.json or after it:
//
//  1. version-hint.text, if there, holds N or a file's name. From v{N} on, v{N+1}, v{N+2}, … are tried until one is
//     missing, so a stale hint does no harm.
//  2. Otherwise, and if the file that the hint names is missing or not of the v{N} form, the folder is listed and the
//     highest version is taken. Two files of the highest version are refused: nothing says which one the table is.
//
// A Catalog keeps no context and no state; it is safe for concurrent use.
package dir
