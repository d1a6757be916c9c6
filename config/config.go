package config

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lakescan/lakescan/object/s3/awsconfig"
)

// Config is what Load found; immutable.
type Config struct {
	values   map[string]value            // of settings, defaults included
	catalogs map[string]map[string]value // properties by lower-case name
	files    []File
	ignored  []Entry
	env      map[string]string
	shared   *awsconfig.Source // AWS's files and services
}

// Load reads the layers. Errors are joined *Error, all faults at once.
func Load(in Input) (*Config, error) {
	r := newReader(in)
	var errs []error
	layers := []layer{flagLayer(in.Flags), r.ownEnv(), r.pyEnv()}
	for _, path := range r.ownFiles() {
		l, err := r.ownFile(path)
		errs = append(errs, err)
		layers = append(layers, l)
	}
	l, err := r.pyFile()
	errs = append(errs, err)
	layers = append(layers, l)

	c := &Config{values: map[string]value{}, catalogs: map[string]map[string]value{}, files: r.looked, ignored: r.ignored, env: r.env}
	for _, s := range settings {
		v := value{s.Default, "default"}
		for _, l := range layers {
			if x, ok := l[s.Key]; ok {
				v = x
				break
			}
		}
		if v.text, err = s.normalAll(v.text); err != nil {
			errs = append(errs, &Error{Origin: v.origin, Key: s.Key, Msg: err.Error()})
		}
		c.values[s.Key] = v
	}
	for _, l := range layers {
		c.addCatalogs(l)
	}
	c.addFlagsOfCatalog()
	c.shared = awsconfig.New(awsconfig.Config{Profile: c.Text(KeyProfile)})
	slices.SortFunc(c.ignored, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Origin, b.Origin)) })
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func (s Setting) normalAll(text string) (string, error) {
	if !s.List {
		return s.normal(text)
	}
	if text == "" {
		return "", nil
	}
	parts := strings.Split(text, "\n")
	for i := range parts {
		var err error
		if parts[i], err = s.normal(parts[i]); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, "\n"), nil
}

// ownFiles are our files, the one nearest to the user's work first.
func (r *reader) ownFiles() []string {
	var out []string
	if r.dir != "" {
		out = append(out, filepath.Join(r.dir, "lakescan.yaml"))
	}
	base := r.env["XDG_CONFIG_HOME"]
	if base == "" && r.home != "" {
		base = filepath.Join(r.home, ".config")
	}
	if base != "" {
		out = append(out, filepath.Join(base, "lakescan", "config.yaml"))
	}
	return out
}

// addCatalogs takes catalog.<name>.<property>; what a higher layer gave stays.
func (c *Config) addCatalogs(l layer) {
	for _, key := range sorted(l) {
		rest, ok := strings.CutPrefix(key, "catalog.")
		if !ok {
			continue
		}
		name, prop, _ := strings.Cut(rest, ".")
		name = strings.ToLower(name)
		if c.catalogs[name] == nil {
			c.catalogs[name] = map[string]value{}
		}
		if _, taken := c.catalogs[name][prop]; !taken {
			c.catalogs[name][prop] = l[key]
		}
	}
}

// addFlagsOfCatalog gives uri and warehouse, when set by themselves, to the default catalog: they beat its file. Another uri than the file's is
// another catalog: the store and the keys that the file names would not fit it.
func (c *Config) addFlagsOfCatalog() {
	name := strings.ToLower(c.Text(KeyCatalog))
	if old, given := c.catalogs[name][KeyURI].text, c.Text(KeyURI); old != "" && given != "" && strings.TrimRight(old, "/") != strings.TrimRight(given, "/") {
		for _, prop := range sorted(c.catalogs[name]) {
			c.ignored = append(c.ignored, Entry{Key: "catalog." + name + "." + prop, Origin: c.catalogs[name][prop].origin, Note: "not used: of the catalog " + old})
		}
		delete(c.catalogs, name)
	}
	for _, key := range []string{KeyURI, KeyWarehouse} {
		if v := c.values[key]; v.text != "" {
			if c.catalogs[name] == nil {
				c.catalogs[name] = map[string]value{}
			}
			c.catalogs[name][key] = v
		}
	}
}

// Text is a setting's value as text.
func (c *Config) Text(key string) string { return c.values[key].text }

// Origin is where a setting's value came from: a flag, a variable, file:line, or "default".
func (c *Config) Origin(key string) string { return c.values[key].origin }

// List is the values of a list setting.
func (c *Config) List(key string) []string {
	if c.Text(key) == "" {
		return nil
	}
	return strings.Split(c.Text(key), "\n")
}

// Bool is a switch.
func (c *Config) Bool(key string) bool { return c.Text(key) == "true" }

// Int is a count; 0 for a word such as auto.
func (c *Config) Int(key string) int {
	n, _ := strconv.Atoi(c.Text(key))
	return n
}

// Size is in bytes; 0 for a word such as auto or none.
func (c *Config) Size(key string) int64 {
	n, err := ParseSize(c.Text(key))
	if err != nil {
		return 0
	}
	return n
}

// Duration is 0 for a word such as auto or none.
func (c *Config) Duration(key string) time.Duration {
	d, _ := time.ParseDuration(c.Text(key))
	return d
}

// Zone is the time zone of the output and of literals without one.
func (c *Config) Zone() *time.Location {
	z, err := time.LoadLocation(c.Text(KeyZone))
	if err != nil || z.String() == "UTC" {
		return time.UTC
	}
	return z
}

// Files are those that were looked for, in the order of their layers.
func (c *Config) Files() []File { return slices.Clone(c.files) }
