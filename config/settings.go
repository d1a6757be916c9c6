package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/query/render"
)

// Group says which commands take a setting's flag.
type Group uint8

// Groups.
const (
	Connect Group = iota // every command that opens a client
	Read                 // commands that read data
	Output               // commands that print a result
	Process              // every command
)

// Setting is one setting of ours.
type Setting struct {
	Key     string // in files
	Flag    string // without dashes; "" = no flag, for secrets
	Group   Group
	Default string // as text, as it is written in files
	Usage   string
	Values  []string // of an enumeration; nil = not one
	List    bool     // may be given more than once
	Switch  bool     // a boolean, whose flag needs no value
	secret  bool
	check   func(text string) error
}

// Env is the setting's variable.
func (s Setting) Env() string {
	name := s.Flag
	if name == "" {
		name = s.Key
	}
	return ownPrefix + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

// Keys of settings that others ask for.
const (
	KeyCatalog      = "default-catalog"
	KeyURI          = "uri"
	KeyWarehouse    = "warehouse"
	KeyOutput       = "output"
	KeyMaxRows      = "max-rows"
	KeyMaxWidth     = "max-width"
	KeyNull         = "null"
	KeyJSONNumbers  = "json-numbers"
	KeyTimeout      = "timeout"
	KeyMaxBytes     = "max-bytes"
	KeyZone         = "tz"
	KeyCase         = "case-sensitive"
	KeyProgress     = "progress"
	KeyColor        = "color"
	KeyPager        = "pager"
	KeyLogFormat    = "log-format"
	KeyErrorFormat  = "error-format"
	KeyMemory       = "memory"
	KeyDepth        = "prefetch.max-files-to-prefetch"
	KeyOrder        = "prefetch.order"
	KeyPoolSize     = "prefetch.pool-size"
	KeyPoolMemory   = "prefetch.memory-budget"
	KeyHedge        = "prefetch.hedge-after"
	KeyTail         = "prefetch.footer-tail-bytes"
	KeyRetries      = "retry.retries"
	KeyCacheDir     = "cache.dir"
	KeyCacheSize    = "cache.size"
	KeyMap          = "map-location"
	KeyEndpoint     = "s3.endpoint"
	KeyRegion       = "s3.region"
	KeyPathStyle    = "s3.path-style"
	KeyAnonymous    = "s3.anonymous"
	KeyProfile      = "s3.profile"
	KeyCommand      = "s3.credential-command"
	KeyAccessKey    = "s3.access-key-id"
	KeySecretKey    = "s3.secret-access-key"
	KeySessionToken = "s3.session-token"
	KeyCABundle     = "tls.ca-bundle"
	KeySpillDir     = "sql.spill-dir"
	KeyThreads      = "sql.threads"
)

var settings = []Setting{
	{Key: KeyCatalog, Flag: "catalog", Group: Connect, Default: "default", Usage: "`name` of the catalog in the configuration"},
	{Key: KeyURI, Flag: "uri", Group: Connect, Usage: "`address` of the catalog, as http://host:8181"},
	{Key: KeyWarehouse, Flag: "warehouse", Group: Connect, Usage: "warehouse `name` (REST catalog), or folder of tables without a catalog"},
	{Key: KeyEndpoint, Flag: "endpoint-url", Group: Connect, Usage: "`address` of the S3 service; empty: AWS", check: isEndpoint},
	{Key: KeyRegion, Flag: "region", Group: Connect, Usage: "S3 `region`; empty: learnt from the bucket"},
	{Key: KeyPathStyle, Flag: "path-style", Group: Connect, Default: "auto", Values: []string{"auto", "on", "off"}, Usage: "bucket in the path of S3 addresses: auto, on, off"},
	{Key: KeyAnonymous, Flag: "no-sign-request", Group: Connect, Default: "false", Switch: true, Usage: "read public buckets without credentials"},
	{Key: KeyProfile, Flag: "profile", Group: Connect, Usage: "`profile` of the AWS configuration"},
	{Key: KeyCommand, Flag: "credential-command", Group: Connect, Usage: "`command` that prints credentials as AWS credential_process does"},
	{Key: KeyAccessKey, Group: Connect, Usage: "S3 access key"},
	{Key: KeySecretKey, Group: Connect, Usage: "S3 secret key", secret: true},
	{Key: KeySessionToken, Group: Connect, Usage: "S3 session token", secret: true},
	{Key: KeyCABundle, Flag: "ca-bundle", Group: Connect, Usage: "`file` of PEM certificates to trust beside the system's"},
	{Key: KeyMap, Flag: "map-location", Group: Connect, List: true, Usage: "open locations that begin with FROM at TO (`FROM=TO`, repeatable)", check: isMapping},
	{Key: KeyRetries, Flag: "retries", Group: Connect, Default: "4", Usage: "attempts after the first", check: isCount},
	{Key: KeyMemory, Flag: "memory", Group: Connect, Default: "auto", Usage: "memory budget of the process (`size`); auto: half of what the machine or its cgroup has", check: isAutoOr(isSize)},

	{Key: KeyDepth, Flag: "max-files-to-prefetch", Group: Read, Default: "auto", Usage: "files of look-ahead: auto, 0 (off), 1, … (`n`)", check: isAutoOr(isCount)},
	{Key: KeyOrder, Flag: "order", Group: Read, Default: "file", Values: []string{"file", "arrival"}, Usage: "rows in file order, or as they arrive: file, arrival"},
	{Key: KeyPoolSize, Flag: "prefetch-pool-size", Group: Read, Default: "128", Usage: "requests in flight in the whole process (`n`)", check: isPositive},
	{Key: KeyPoolMemory, Flag: "prefetch-memory-budget", Group: Read, Default: "auto", Usage: "memory for look-ahead (`size`); auto: a quarter of --memory", check: isAutoOr(isSize)},
	{Key: KeyHedge, Flag: "hedge-after", Group: Read, Default: "auto", Usage: "repeat a slow request after this time: auto, off, or a `duration`", check: isHedge},
	{Key: KeyTail, Flag: "footer-tail-bytes", Group: Read, Default: "auto", Usage: "bytes of a file's first read: auto or a `size`", check: isAutoOr(isSize)},
	{Key: KeyCacheDir, Flag: "cache-dir", Group: Read, Usage: "`folder` where footers and ranges read from S3 are kept for later runs; empty: none"},
	{Key: KeyCacheSize, Flag: "cache-size", Group: Read, Default: "1GiB", Usage: "most that the cache folder may hold (`size`)", check: isSize},
	{Key: KeyCase, Flag: "case-sensitive", Group: Read, Default: "false", Switch: true, Usage: "names match exactly; else exactly first, then in any case"},
	{Key: KeyTimeout, Flag: "timeout", Group: Read, Default: "none", Usage: "give up after this `duration` (exit code 9)", check: isNoneOr(isDuration)},
	{Key: KeyMaxBytes, Flag: "max-bytes", Group: Read, Default: "none", Usage: "give up once this much was fetched (`size`; exit code 9)", check: isNoneOr(isSize)},
	{Key: KeyZone, Flag: "tz", Group: Read, Default: "UTC", Usage: "time `zone` in which timestamps with a zone are shown and texts without one are read", check: isZone},
	{Key: KeyThreads, Flag: "threads", Group: Read, Default: "auto", Usage: "threads of an SQL statement (`n`)", check: isAutoOr(isPositive)},
	{Key: KeySpillDir, Flag: "spill-dir", Group: Read, Usage: "`folder` for what SQL spills; empty: the system's temporary folder"},

	{Key: KeyOutput, Flag: "output", Group: Output, Default: "auto", Values: formats(), Usage: "`format`: table, markdown, csv, tsv, json, ndjson, arrow, parquet, null; auto: table on a terminal, else csv"},
	{Key: KeyMaxRows, Flag: "max-rows", Group: Output, Default: "40", Usage: "rows that a table shows, its head and tail (`n`; 0: all)", check: isCount},
	{Key: KeyMaxWidth, Flag: "max-width", Group: Output, Default: "auto", Usage: "width of a table (`n`; 0: whatever it needs; auto: the terminal's)", check: isAutoOr(isCount)},
	{Key: KeyNull, Flag: "null", Group: Output, Default: "NULL", Usage: "`text` for NULL in tables"},
	{Key: KeyJSONNumbers, Flag: "json-numbers", Group: Output, Default: "number", Values: []string{"number", "string"}, Usage: "numbers beyond 2^53 in json: number, string"},
	{Key: KeyProgress, Flag: "progress", Group: Output, Default: "auto", Values: []string{"auto", "always", "never"}, Usage: "progress line on stderr: auto, always, never"},
	{Key: KeyPager, Flag: "pager", Group: Output, Default: "off", Usage: "show tables through this `command`; alone: PAGER, or less"},

	{Key: KeyColor, Flag: "color", Group: Process, Default: "auto", Values: []string{"auto", "always", "never"}, Usage: "colours: auto, always, never"},
	{Key: KeyLogFormat, Flag: "log-format", Group: Process, Default: "text", Values: []string{"text", "json"}, Usage: "form of log lines (see -v): text, json"},
	{Key: KeyErrorFormat, Flag: "error-format", Group: Process, Default: "auto", Values: []string{"auto", "text", "json"}, Usage: "form of an error on stderr: text, json; auto: json if the output is json or ndjson"},
}

func formats() []string {
	out := []string{"auto"}
	for _, f := range render.Formats {
		out = append(out, string(f))
	}
	return out
}

// Settings lists them in the order of the manual.
func Settings() []Setting { return append([]Setting(nil), settings...) }

func settingOf(key string) (Setting, bool) {
	for _, s := range settings {
		if s.Key == key {
			return s, true
		}
	}
	return Setting{}, false
}

// normal checks a text and brings an enumeration into its spelling.
func (s Setting) normal(text string) (string, error) {
	switch {
	case s.Values != nil:
		for _, v := range s.Values {
			if strings.EqualFold(v, text) {
				return v, nil
			}
		}
		msg := fmt.Sprintf("%q is not one of %s", text, strings.Join(s.Values, ", "))
		if near := expr.Nearest(text, s.Values); len(near) > 0 {
			msg += ": did you mean " + near[0] + "?"
		}
		return "", fmt.Errorf("%s", msg)
	case s.Switch:
		b, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return "", fmt.Errorf("%q is not true or false", text)
		}
		return strconv.FormatBool(b), nil
	case s.check != nil && (text != "" || s.Default != ""):
		return text, s.check(text)
	}
	return text, nil
}

func isSize(text string) error {
	_, err := ParseSize(text)
	return err
}

func isDuration(text string) error {
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%q is not above zero", text)
	} else if err != nil {
		err = fmt.Errorf("%q is not a duration such as 30s or 5m", text)
	}
	return err
}

func isCount(text string) error {
	if n, err := strconv.ParseInt(text, 10, 32); err != nil || n < 0 {
		return fmt.Errorf("%q is not a whole number from 0", text)
	}
	return nil
}

func isPositive(text string) error {
	if n, err := strconv.ParseInt(text, 10, 32); err != nil || n < 1 {
		return fmt.Errorf("%q is not a whole number from 1", text)
	}
	return nil
}

func isAutoOr(check func(string) error) func(string) error { return wordOr("auto", check) }
func isNoneOr(check func(string) error) func(string) error { return wordOr("none", check) }

func wordOr(word string, check func(string) error) func(string) error {
	return func(text string) error {
		if strings.EqualFold(text, word) {
			return nil
		}
		if err := check(text); err != nil {
			return fmt.Errorf("%w, and not %s", err, word)
		}
		return nil
	}
}

func isHedge(text string) error {
	if strings.EqualFold(text, "off") {
		return nil
	}
	return isAutoOr(isDuration)(text)
}

func isZone(text string) error {
	_, err := time.LoadLocation(text)
	if err != nil {
		return fmt.Errorf("%q is not a time zone such as UTC or Europe/Berlin", text)
	}
	return nil
}

func isMapping(text string) error {
	from, to, ok := strings.Cut(text, "=")
	if !ok || from == "" || to == "" {
		return fmt.Errorf("%q is not FROM=TO", text)
	}
	return nil
}

func isEndpoint(text string) error {
	if scheme, rest, ok := strings.Cut(text, "://"); ok && (scheme != "http" && scheme != "https" || rest == "" || strings.Contains(rest, "://")) {
		return fmt.Errorf("%q is not an address such as http://127.0.0.1:9000", text)
	}
	return nil
}
