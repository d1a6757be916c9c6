// Package commit is the small write half: what index and projections need of a catalog, and no more. It creates tables,
// appends and replaces data files, registers statistics files and sets properties, against REST catalogs.
//
//	data files, statistics   the caller's: written before, deleted by the caller if the commit fails
//	manifests, lists         written here through the table's store; deleted here after a definite failure
//
// Every commit states what it assumes (requirements). A conflict is answered by loading the table again, asking whether the
// commit still makes sense, and trying again on top; a lost answer by looking for what it would have done. Nothing is
// deleted while the outcome is unknown: that is an *UnknownError, which lists the files.
//
// Data is committed to tables of format versions 2 and 3. The package keeps no state and starts no goroutine; its functions
// are safe for concurrent use. It is imported by publish and refresh packages, never by a reader.
package commit
