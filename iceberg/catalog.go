package iceberg

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strings"

	"github.com/lakescan/lakescan/iceberg/dir"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/plan"
	"github.com/lakescan/lakescan/iceberg/rest"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
)

// Types of catalogs.
const (
	TypeREST = "rest" // an Iceberg REST catalog at URI
	TypeDir  = "dir"  // folders below Warehouse: one a namespace, one a table
)

// CatalogConfig says where tables are found. Without Type, URI and Warehouse there is no catalog, and only locations of
// metadata can be loaded.
type CatalogConfig struct {
	Type       string // empty: rest if there is a URI, else dir if there is a Warehouse
	URI        string
	Warehouse  string // of a REST catalog: its name for it; of a directory catalog: the folder
	Properties map[string]string
	// NewStore is called once a table, with the table's credentials (nil without a REST catalog). The facade fills it with
	// its store chain, so object knows no catalog and iceberg no S3.
	NewStore func(object.Credentials) (object.Store, error)
	Budget   *memory.Budget // charged for cached manifests; nil = not charged

	// Of a REST catalog; all optional.
	Transport   http.RoundTripper
	Origin      func(key string) string // where a setting came from, for errors
	SigningKeys func(ctx context.Context) (keyID, secret, token string, err error)
	Attempts    int  // of a request that may be repeated; 0 = 5
	OwnS3Keys   bool // the user has storage keys, so tables that offer remote signing alone can be read
	Logger      *slog.Logger
}

func (c CatalogConfig) kind() string {
	switch {
	case c.Type != "":
		return c.Type
	case c.URI != "":
		return TypeREST
	case c.Warehouse != "":
		return TypeDir
	}
	return ""
}

// Validate reports all faults at once.
func (c CatalogConfig) Validate() error {
	var errs []error
	if c.NewStore == nil {
		errs = append(errs, errors.New("catalog: NewStore is not set"))
	}
	switch c.kind() {
	case TypeREST:
		if err := (rest.Config{URI: c.URI, Warehouse: c.Warehouse, Attempts: c.Attempts}).Validate(); err != nil {
			errs = append(errs, err)
		}
	case TypeDir:
		if c.Warehouse == "" {
			errs = append(errs, errors.New("catalog: a directory catalog needs a warehouse folder"))
		}
	case "":
	default:
		errs = append(errs, fmt.Errorf("catalog: type %q: want %s or %s", c.Type, TypeREST, TypeDir))
	}
	return errors.Join(errs...)
}

// Catalog finds tables. It keeps no context and is safe for concurrent use.
type Catalog struct {
	cfg     CatalogConfig
	backend meta.Backend // nil = none
	cache   *plan.Cache
	close   func() error
}

// lister is implemented by backends that can list.
type lister interface {
	Tables(ctx context.Context, namespace []string) iter.Seq2[meta.Ident, error]
	Namespaces(ctx context.Context, parent []string) iter.Seq2[[]string, error]
}

// Open makes one request to a REST catalog, none else. The catalog must be closed.
func Open(ctx context.Context, cfg CatalogConfig) (*Catalog, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Catalog{cfg: cfg, close: func() error { return nil }}
	switch cfg.kind() {
	case TypeREST:
		client, err := rest.Open(ctx, rest.Config{
			URI: cfg.URI, Warehouse: cfg.Warehouse, Properties: cfg.Properties, Origin: cfg.Origin,
			Transport: cfg.Transport, Keys: cfg.SigningKeys, OwnS3Keys: cfg.OwnS3Keys, Attempts: cfg.Attempts, Logger: cfg.Logger,
		})
		if err != nil {
			return nil, err
		}
		c.backend, c.close = client, client.Close
	case TypeDir:
		store, err := cfg.NewStore(nil)
		if err != nil {
			return nil, err
		}
		c.backend = dir.New(store, cfg.Warehouse)
	}
	c.cache = plan.NewCache(cfg.Budget, 0)
	return c, nil
}

// Close ends what runs in the background and drops the cache; tables of the catalog must not be used any more. Idempotent.
func (c *Catalog) Close() error {
	c.cache.Close()
	return c.close()
}

// Backend is the catalog's own, nil if there is none.
func (c *Catalog) Backend() meta.Backend { return c.backend }

// Load loads a table by name: one request, and it never lists.
func (c *Catalog) Load(ctx context.Context, id Ident) (*Table, error) {
	if c.backend == nil {
		return nil, &meta.Error{Op: "load table", Ident: id, Err: fmt.Errorf("%w: no catalog is configured (--uri names one)", ErrNoSuchTable)}
	}
	t := &Table{catalog: c, backend: c.backend, ident: id}
	var err error
	if t.meta, err = c.backend.Load(ctx, id, false); err != nil {
		return nil, err
	}
	return t, t.open()
}

// LoadLocation loads a table without a catalog, read-only: from a metadata file (any *.metadata.json, gzip or not), or from
// a table's folder by the rule of package dir.
func (c *Catalog) LoadLocation(ctx context.Context, location string) (*Table, error) {
	store, err := c.cfg.NewStore(nil)
	if err != nil {
		return nil, err
	}
	id := Ident{Name: strings.TrimRight(location, "/")}
	t := &Table{catalog: c, backend: dir.At(store, location), ident: id, store: store, all: true}
	t.meta, err = t.backend.Load(ctx, id, true)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// IsMetadataFile reports whether a location names a metadata file rather than a folder.
func IsMetadataFile(location string) bool { return dir.IsMetadataFile(location) }

// Tables lists a namespace, lazily. After an error nothing follows.
func (c *Catalog) Tables(ctx context.Context, namespace []string) iter.Seq2[Ident, error] {
	if l, ok := c.backend.(lister); ok {
		return l.Tables(ctx, namespace)
	}
	return failed[Ident](c.cannotList())
}

// Namespaces lists the children of a namespace, nil = the top level, lazily. After an error nothing follows.
func (c *Catalog) Namespaces(ctx context.Context, parent []string) iter.Seq2[[]string, error] {
	if l, ok := c.backend.(lister); ok {
		return l.Namespaces(ctx, parent)
	}
	return failed[[]string](c.cannotList())
}

func (c *Catalog) cannotList() error {
	if c.backend == nil {
		return &meta.Error{Op: "list", Err: fmt.Errorf("%w: no catalog is configured (--uri names one)", ErrNoSuchNamespace)}
	}
	return &meta.Error{Op: "list", Err: &meta.UnsupportedError{Ability: "listing a catalog of type " + c.cfg.kind()}}
}

func failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		yield(zero, err)
	}
}
