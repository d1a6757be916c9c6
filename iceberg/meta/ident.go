package meta

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lakescan/lakescan/object"
)

// Ident is a namespace and a name; a dot inside a part belongs to the part.
type Ident struct {
	Namespace []string
	Name      string
}

// String joins the parts with dots; a part that holds a dot or a quote is quoted.
func (i Ident) String() string {
	var b strings.Builder
	for _, p := range i.Namespace {
		b.WriteString(quotePart(p))
		b.WriteByte('.')
	}
	b.WriteString(quotePart(i.Name))
	return b.String()
}

func quotePart(p string) string {
	if strings.ContainsAny(p, ".\"") {
		return `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
	}
	return p
}

// Version picks at most one; the zero value is the current snapshot.
type Version struct {
	Snapshot int64
	Ref      string
	AsOf     time.Time
}

// Validate refuses more than one choice.
func (v Version) Validate() error {
	n := 0
	for _, set := range []bool{v.Snapshot != 0, v.Ref != "", !v.AsOf.IsZero()} {
		if set {
			n++
		}
	}
	if n > 1 {
		return errors.New("iceberg: a snapshot, a ref and a time exclude each other")
	}
	return nil
}

// Backend is one catalog: rest and dir implement it. With allSnapshots false a catalog may leave out snapshots that no
// ref names. Post of a read-only catalog is ErrUnsupported.
type Backend interface {
	Load(ctx context.Context, id Ident, allSnapshots bool) (*Metadata, error)
	Post(ctx context.Context, id Ident, body []byte) (*Metadata, error)
}

// Vendor is implemented by a Backend whose catalog gives out keys for the files of a table. It is asked after a Load of id;
// nil means that the catalog gave none.
type Vendor interface {
	Credentials(id Ident) object.Credentials
}
