package lakescan

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/diskcache"
	"github.com/lakescan/lakescan/object/transport"
	"github.com/lakescan/lakescan/prefetchpool"
	"github.com/lakescan/lakescan/source"
)

// Config of a Client. The zero value scans local files; Validate (called by Open) reports all faults at once.
type Config struct {
	Catalog     iceberg.CatalogConfig            // the default catalog; NewStore and Budget are filled by Open
	CatalogName string                           // name of the default catalog; "" = default
	Catalogs    map[string]iceberg.CatalogConfig // others by name, opened at first use
	S3          S3Config                         // explicit settings beat what a catalog vends
	Map         []object.Mapping                 // recorded prefixes that are rewritten when a location is opened

	Depth      source.Depth // max-files-to-prefetch; zero = auto
	Order      source.Order
	PoolSlots  int   // requests in flight in the whole process; 0 = 128
	Memory     int64 // bytes; 0 = half of min(cgroup limit, GOMEMLIMIT, RAM)
	PoolMemory int64 // bytes of Memory that look-ahead may hold; 0 = a quarter

	Retries    int           // attempts after the first, of the store and of catalogs; 0 = 4, negative = none
	HedgeAfter time.Duration // 0 = auto, negative = off
	FooterTail int64         // bytes of the first read of a large file; 0 = auto
	NoCache    bool          // keep no footers and manifests in memory, and use no Cache

	Cache diskcache.Config // what was read from S3, kept on disk; no Dir = off

	SpillDir string // of SQL; "" = the system's temporary folder
	Threads  int    // of one SQL statement; 0 = GOMAXPROCS
	Logger   *slog.Logger
	OnEvent  func(source.Event) // of scans; see source.Config
	OnStore  func(object.Event) // of every request, retry, resume, hedge; see object.NewMeter
}

// S3Config is what the user says of the store; an empty field asks the level below: the table, the catalog, then Fallback.
type S3Config struct {
	Access    object.Access      // explicit endpoint, region, keys, addressing style
	Fallback  object.Credentials // asked last, e.g. the shared AWS configuration; nil = none
	Transport transport.Config   // TLS and proxy, for the catalog as well; MaxConns 0 = from PoolSlots
	UserAgent string
}

const defaultRetries = 4

// Validate reports every fault at once, each with the range it should lie in.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("lakescan: "+format, args...))
		}
	}
	bad(c.Memory >= 0, "Memory %d is negative", c.Memory)
	bad(c.PoolMemory >= 0, "PoolMemory %d is negative", c.PoolMemory)
	bad(c.Memory == 0 || c.PoolMemory <= c.Memory, "PoolMemory %d is above Memory %d", c.PoolMemory, c.Memory)
	bad(c.FooterTail >= 0, "FooterTail %d is negative", c.FooterTail)
	bad(c.Order <= source.ArrivalOrder, "Order %d is unknown", c.Order)
	bad(c.Depth >= source.Off, "Depth %d is below -1 (off)", c.Depth)
	bad(c.Threads >= 0, "Threads %d is negative", c.Threads)
	_, clash := c.Catalogs[c.catalogName()]
	bad(!clash, "Catalogs holds %q, the name of the default catalog", c.catalogName())
	if err := (prefetchpool.Config{Slots: c.PoolSlots, MaxBytes: c.PoolMemory}).Validate(); err != nil {
		errs = append(errs, err)
	}
	if c.Cache.Dir != "" {
		if err := c.Cache.Validate(); err != nil {
			errs = append(errs, err)
		}
	}
	if err := c.S3.Transport.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (c Config) catalogName() string {
	if c.CatalogName == "" {
		return "default"
	}
	return c.CatalogName
}

// attempts of one request, of the store and of catalogs.
func (c Config) attempts() int {
	switch {
	case c.Retries == 0:
		return defaultRetries + 1
	case c.Retries < 0:
		return 1
	}
	return c.Retries + 1
}

func (c Config) retry(m *object.Meter) object.RetryConfig {
	return object.RetryConfig{Attempts: c.attempts(), HedgeAfter: c.HedgeAfter, Meter: m}
}
