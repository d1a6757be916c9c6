package commit

import (
	"fmt"
	"strings"

	"github.com/lakescan/lakescan/iceberg/meta"
)

// ErrStale says that the commit no longer makes sense on the table as it is now. It is a meta.ErrConflict.
var ErrStale = fmt.Errorf("%w: the table has changed in a way that the commit did not allow for", meta.ErrConflict)

// UnknownError is a meta.ErrCommitUnknown: the request may or may not have been carried out. Files are those written for it,
// which must stay until that is known: see whether the table names the snapshot.
type UnknownError struct {
	Ident    meta.Ident
	Snapshot int64 // 0 = the commit makes none
	Files    []string
	Err      error
}

func (e *UnknownError) Error() string {
	s := fmt.Sprintf("commit to %s: %v", e.Ident, meta.ErrCommitUnknown)
	if e.Snapshot != 0 {
		s += fmt.Sprintf(": look for snapshot %d", e.Snapshot)
	}
	if len(e.Files) > 0 {
		s += " before deleting " + strings.Join(e.Files, ", ")
	}
	return s + ": " + e.Err.Error()
}

// Is makes it a meta.ErrCommitUnknown.
func (*UnknownError) Is(target error) bool { return target == meta.ErrCommitUnknown }

func (e *UnknownError) Unwrap() error { return e.Err }

func unsupported(what string, id meta.Ident) error {
	return &meta.Error{Op: "commit", Ident: id, Err: &meta.UnsupportedError{Ability: what, Where: "table " + id.String()}}
}
