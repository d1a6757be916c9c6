// Package exit turns an error into what a program's end says: an exit code, an object for machines, and a line for people.
//
// The code is decided by errors.Is and errors.As alone, never by text. New codes may come; unknown means failed. The object
// is documented in docs/json.md. A Redactor takes secrets out of every text that leaves the process.
//
// All functions are pure; a Redactor is filled at start-up, and safe for concurrent use from then on.
package exit
