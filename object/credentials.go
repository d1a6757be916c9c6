package object

import (
	"context"
	"time"
)

// Access is all that opening one location needs; the zero value means "ask the level below".
type Access struct {
	Endpoint    string // URL, or host[:port] meaning https; "" = AWS
	Region      string // "" = learnt per bucket
	KeyID       string
	Secret      string
	Token       string
	PathStyle   bool // bucket in the path; neither set = auto: AWS, Google and Aliyun by host, all others by path
	VirtualHost bool // bucket in the host name
	Anonymous   bool // send no signature
	Expires     time.Time
}

// HasKeys reports whether a says how to sign, or not to.
func (a Access) HasKeys() bool { return a.KeyID != "" || a.Anonymous }

// Complete reports whether nothing is left to ask a lower level for; the addressing style has a default.
func (a Access) Complete() bool { return a.HasKeys() && a.Endpoint != "" && a.Region != "" }

// String tells endpoint, region, and whose keys, but no secret; so %v and %s are safe to log.
func (a Access) String() string {
	who := "no keys"
	switch {
	case a.Anonymous:
		who = "anonymous"
	case a.KeyID != "":
		who = "key " + mask(a.KeyID)
	}
	return "access{" + a.Endpoint + " " + a.Region + " " + who + "}"
}

// GoString keeps %#v from printing the secret.
func (a Access) GoString() string { return a.String() }

func mask(s string) string {
	if len(s) <= 8 {
		return "****"
	}
	return "****" + s[len(s)-4:]
}

// Credentials answers per location (longest prefix); iceberg/rest implements it, one flight per refresh. stale is the
// access that the store was just refused with, zero otherwise. The s3 store asks before a request, with the
// request's ctx, and keeps one client per Access over a shared transport (minio-go calls providers under a mutex).
type Credentials interface {
	Access(ctx context.Context, loc Location, stale Access) (Access, error)
}

// Static answers every location with a.
func Static(a Access) Credentials { return static(a) }

type static Access

func (s static) Access(context.Context, Location, Access) (Access, error) { return Access(s), nil }

// Settings is a Credentials that can tell endpoint, region and style without the cost of finding keys (a file, a command, the
// metadata service of a machine).
type Settings interface {
	Settings(ctx context.Context, loc Location) (Access, error)
}

// Layered asks the levels in order, highest first, and fills what is still missing from each: endpoint, region and
// addressing style one by one, the keys (or anonymous) as a whole from the first level that has them. A level is not asked once
// nothing is missing, and only for its Settings once the keys are found; so an explicit anonymous mode wins over
// keys found below it, and nothing waits for keys that nobody needs. Levels may be nil.
//
// The precedence of a table's S3 settings is: explicit options, vended credentials of the file, table config, catalog
// config (these three answered by the catalog), AWS_* and shared AWS files, defaults.
func Layered(levels ...Credentials) Credentials {
	l := layered{}
	for _, c := range levels {
		if c != nil {
			l = append(l, c)
		}
	}
	return l
}

type layered []Credentials

func (l layered) Access(ctx context.Context, loc Location, stale Access) (Access, error) {
	var out Access
	for _, c := range l {
		if out.Complete() {
			break
		}
		var a Access
		var err error
		if s, ok := c.(Settings); ok && out.HasKeys() {
			a, err = s.Settings(ctx, loc)
		} else {
			a, err = c.Access(ctx, loc, stale)
		}
		if err != nil {
			return Access{}, err
		}
		out = out.Over(a)
	}
	return out, nil
}

// Over is a with its gaps filled from the lower level b.
func (a Access) Over(b Access) Access {
	if a.Endpoint == "" {
		a.Endpoint = b.Endpoint
	}
	if a.Region == "" {
		a.Region = b.Region
	}
	if !a.PathStyle && !a.VirtualHost {
		a.PathStyle, a.VirtualHost = b.PathStyle, b.VirtualHost
	}
	if !a.HasKeys() {
		a.KeyID, a.Secret, a.Token, a.Anonymous, a.Expires = b.KeyID, b.Secret, b.Token, b.Anonymous, b.Expires
	}
	return a
}
