package config

import (
	"context"
	"log/slog"
	"strings"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/diskcache"
	"github.com/lakescan/lakescan/source"
)

// Client is the configuration of a client. It may be changed before lakescan.Open.
func (c *Config) Client(log *slog.Logger) lakescan.Config {
	cfg := lakescan.Config{
		CatalogName: strings.ToLower(c.Text(KeyCatalog)),
		Catalogs:    map[string]iceberg.CatalogConfig{},
		Depth:       c.depth(),
		PoolSlots:   c.Int(KeyPoolSize),
		PoolMemory:  c.Size(KeyPoolMemory),
		Memory:      c.Size(KeyMemory),
		Retries:     c.Int(KeyRetries),
		HedgeAfter:  c.Duration(KeyHedge),
		FooterTail:  c.Size(KeyTail),
		Cache:       diskcache.Config{Dir: c.Text(KeyCacheDir), MaxBytes: c.Size(KeyCacheSize)},
		SpillDir:    c.Text(KeySpillDir),
		Threads:     c.Int(KeyThreads),
		Logger:      log,
	}
	if c.Text(KeyOrder) == "arrival" {
		cfg.Order = source.ArrivalOrder
	}
	if cfg.Retries == 0 {
		cfg.Retries = -1
	}
	if strings.EqualFold(c.Text(KeyHedge), "off") {
		cfg.HedgeAfter = -1
	}
	for _, m := range c.List(KeyMap) {
		from, to, _ := strings.Cut(m, "=")
		cfg.Map = append(cfg.Map, object.Mapping{From: from, To: to})
	}
	cfg.S3.Transport.CAFile = c.Text(KeyCABundle)
	cfg.S3.Access = c.explicitAccess()
	cfg.S3.Fallback = object.Layered(object.Static(c.ownKeys()), object.Static(c.catalogAccess(cfg.CatalogName)), c.command(), c.aws())
	for name := range c.catalogs {
		cc := c.catalog(name)
		cc.Logger = log
		cc.OwnS3Keys = c.hasOwnKeys()
		if name == cfg.CatalogName {
			cfg.Catalog = cc
		} else {
			cfg.Catalogs[name] = cc
		}
	}
	return cfg
}

func (c *Config) depth() source.Depth {
	text := c.Text(KeyDepth)
	switch n := c.Int(KeyDepth); {
	case strings.EqualFold(text, "auto"):
		return source.Auto
	case n == 0:
		return source.Off
	default:
		return source.Depth(n)
	}
}

// explicitAccess is what beats the keys that a catalog gives out: where the store is, never whose keys open it.
func (c *Config) explicitAccess() object.Access {
	return object.Access{
		Endpoint:    c.Text(KeyEndpoint),
		Region:      c.Text(KeyRegion),
		PathStyle:   c.Text(KeyPathStyle) == "on",
		VirtualHost: c.Text(KeyPathStyle) == "off",
		Anonymous:   c.Bool(KeyAnonymous),
	}
}

func (c *Config) ownKeys() object.Access {
	return object.Access{KeyID: c.Text(KeyAccessKey), Secret: c.Text(KeySecretKey), Token: c.Text(KeySessionToken)}
}

func (c *Config) hasOwnKeys() bool {
	return c.Text(KeyAccessKey) != "" || c.Text(KeyCommand) != "" || c.Text(KeyProfile) != "" || c.env["AWS_ACCESS_KEY_ID"] != "" || c.env["AWS_PROFILE"] != ""
}

// catalogAccess is what the default catalog's properties say of the store, for paths outside of any table: whoever configured
// a catalog with keys for its bucket expects that a file of the bucket opens too.
func (c *Config) catalogAccess(name string) object.Access {
	get := func(keys ...string) string {
		for _, k := range keys {
			if v := c.catalogs[name][k].text; v != "" {
				return v
			}
		}
		return ""
	}
	a := object.Access{
		Endpoint:  get("s3.endpoint"),
		Region:    get("s3.region", "client.region"),
		KeyID:     get("s3.access-key-id", "client.access-key-id"),
		Anonymous: strings.EqualFold(get("s3.anonymous"), "true"),
		PathStyle: strings.EqualFold(get("s3.path-style-access"), "true"),
	}
	if a.KeyID != "" {
		a.Secret = get("s3.secret-access-key", "client.secret-access-key")
		a.Token = get("s3.session-token", "client.session-token")
	}
	a.VirtualHost = strings.EqualFold(get("s3.force-virtual-addressing"), "true") && !a.PathStyle
	return a
}

// catalogTypes are PyIceberg's names of catalogs that are ours too.
var catalogTypes = map[string]string{"": "", "rest": iceberg.TypeREST, "dir": iceberg.TypeDir, "hadoop": iceberg.TypeDir}

func (c *Config) catalog(name string) iceberg.CatalogConfig {
	cc := iceberg.CatalogConfig{Properties: map[string]string{}}
	for prop, v := range c.catalogs[name] {
		switch prop {
		case "type":
			if t, ok := catalogTypes[strings.ToLower(v.text)]; ok {
				cc.Type = t
			} else {
				cc.Type = v.text // refused by name when it is opened
			}
		case KeyURI:
			cc.URI = v.text
		case KeyWarehouse:
			cc.Warehouse = v.text
		default:
			cc.Properties[prop] = v.text
		}
	}
	cc.Origin = func(key string) string { return c.catalogs[name][key].origin }
	cc.SigningKeys = c.signingKeys
	return cc
}

// signingKeys are AWS keys for catalogs that want SigV4.
func (c *Config) signingKeys(ctx context.Context) (keyID, secret, token string, err error) {
	a, err := object.Layered(object.Static(c.ownKeys()), c.command(), c.aws()).Access(ctx, object.Location{}, object.Access{})
	return a.KeyID, a.Secret, a.Token, err
}

// Catalogs are the names of the configured catalogs.
func (c *Config) Catalogs() []string { return sorted(c.catalogs) }
