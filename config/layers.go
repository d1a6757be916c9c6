package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lakescan/lakescan/expr"
)

// value is a text and where it came from.
type value struct {
	text   string
	origin string
}

// layer is one source of values, by key. A list is joined by line feeds.
type layer map[string]value

func (l layer) add(key, text, origin string, list bool) {
	if old, ok := l[key]; ok && list {
		text = old.text + "\n" + text
	}
	l[key] = value{text, origin}
}

// Input is what Load reads; the zero value is the process's own environment and folders, and no flags.
type Input struct {
	Flags map[string]string // by flag name; of a list, its values joined by line feeds
	Env   []string          // nil = os.Environ()
	Dir   string            // working folder; "" = the process's
	Home  string            // "" = os.UserHomeDir()
}

// Error is a fault in one place of the configuration. It is ErrInvalid.
type Error struct {
	Origin string // a flag, a variable, or file:line
	Key    string
	Msg    string
}

// ErrInvalid is the class of faults in flags, variables and files.
var ErrInvalid = errors.New("config: invalid")

func (e *Error) Error() string {
	if e.Key == "" || strings.HasSuffix(e.Origin, e.Key) {
		return fmt.Sprintf("%s: %s", e.Origin, e.Msg)
	}
	return fmt.Sprintf("%s: %s: %s", e.Origin, e.Key, e.Msg)
}

func (e *Error) Unwrap() error { return ErrInvalid }

// reader collects layers and what was met on the way.
type reader struct {
	env     map[string]string
	home    string
	dir     string
	looked  []File
	ignored []Entry
}

// File is a file that was looked for.
type File struct {
	Path  string
	Found bool
}

func newReader(in Input) *reader {
	r := &reader{env: map[string]string{}, home: in.Home, dir: in.Dir}
	env := in.Env
	if env == nil {
		env = os.Environ()
	}
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			r.env[k] = v
		}
	}
	if r.home == "" {
		r.home, _ = os.UserHomeDir()
	}
	if r.dir == "" {
		r.dir, _ = os.Getwd()
	}
	return r
}

func flagLayer(flags map[string]string) layer {
	l := layer{}
	for _, s := range settings {
		if text, ok := flags[s.Flag]; ok && s.Flag != "" {
			l.add(s.Key, text, "--"+s.Flag, s.List)
		}
	}
	return l
}

func (r *reader) ownEnv() layer {
	l := layer{}
	known := map[string]Setting{}
	names := []string{}
	for _, s := range settings {
		known[s.Env()] = s
		names = append(names, strings.TrimPrefix(s.Env(), ownPrefix))
	}
	for name, text := range r.env {
		s, ok := known[name]
		switch {
		case ok && text != "":
			l.add(s.Key, strings.ReplaceAll(text, ";", "\n"), name, s.List)
		case !ok && strings.HasPrefix(name, ownPrefix):
			if near := expr.Nearest(strings.TrimPrefix(name, ownPrefix), names); len(near) > 0 {
				r.ignored = append(r.ignored, Entry{Key: name, Origin: "environment", Note: "unknown: did you mean " + ownPrefix + near[0] + "?"})
			}
		}
	}
	return l
}

const (
	ownPrefix = "LAKESCAN_"
	pyPrefix  = "PYICEBERG_"
)

// pyEnv follows PyIceberg: cut at the first two double underscores, then "__" is a dot and "_" a dash.
func (r *reader) pyEnv() layer {
	l := layer{}
	for name, text := range r.env {
		rest, ok := strings.CutPrefix(strings.ToUpper(name), pyPrefix)
		if !ok || rest == "HOME" {
			continue
		}
		parts := strings.SplitN(strings.ToLower(rest), "__", 3)
		for i := range parts {
			parts[i] = strings.ReplaceAll(strings.ReplaceAll(parts[i], "__", "."), "_", "-")
		}
		l.add(strings.Join(parts, "."), text, name, false)
	}
	return l.onlyCatalogs(r)
}

// onlyCatalogs drops what is PyIceberg's own business.
func (l layer) onlyCatalogs(r *reader) layer {
	for key, v := range l {
		own := strings.HasSuffix(key, ".py-io-impl") || strings.HasSuffix(key, ".py-catalog-impl")
		if key == KeyCatalog || strings.HasPrefix(key, "catalog.") && strings.Count(key, ".") >= 2 && !own {
			continue
		}
		r.ignored = append(r.ignored, Entry{Key: key, Value: v.text, Origin: v.origin, Note: "PyIceberg's own"})
		delete(l, key)
	}
	return l
}

// ownFile reads one of our files; a key that is neither a setting nor of a catalog is an error.
func (r *reader) ownFile(path string) (layer, error) {
	l, err := r.file(path)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, key := range sorted(l) {
		if _, ok := settingOf(key); ok || strings.HasPrefix(key, "catalog.") && strings.Count(key, ".") >= 2 {
			continue
		}
		e := &Error{Origin: l[key].origin, Key: key, Msg: "unknown setting"}
		var names []string
		for _, s := range settings {
			names = append(names, s.Key)
		}
		if near := expr.Nearest(key, names); len(near) > 0 {
			e.Msg += ": did you mean " + near[0] + "?"
		}
		errs = append(errs, e)
	}
	return l, errors.Join(errs...)
}

// pyFile reads the first .pyiceberg.yaml.
func (r *reader) pyFile() (layer, error) {
	for _, folder := range []string{r.env["PYICEBERG_HOME"], r.home, r.dir} {
		if folder == "" {
			continue
		}
		path := filepath.Join(folder, ".pyiceberg.yaml")
		l, err := r.file(path)
		if err != nil {
			return nil, err
		}
		if r.looked[len(r.looked)-1].Found {
			lower := layer{}
			for k, v := range l { // catalogs match in any case, and so do PyIceberg's keys
				lower[strings.ToLower(k)] = v
			}
			return lower.onlyCatalogs(r), nil
		}
	}
	return layer{}, nil
}

// file reads a YAML file of nested maps; one that is not there is empty.
func (r *reader) file(path string) (layer, error) {
	if slices.ContainsFunc(r.looked, func(f File) bool { return f.Path == path }) {
		return layer{}, nil
	}
	body, err := os.ReadFile(path)
	r.looked = append(r.looked, File{path, err == nil})
	if errors.Is(err, os.ErrNotExist) {
		return layer{}, nil
	}
	if err != nil {
		return nil, &Error{Origin: r.short(path), Msg: err.Error()}
	}
	const maxFile = 1 << 20
	if len(body) > maxFile {
		return nil, &Error{Origin: r.short(path), Msg: "larger than 1 MiB"}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(body, &doc); err != nil {
		return nil, &Error{Origin: r.short(path), Msg: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	l := layer{}
	if len(doc.Content) == 0 {
		return l, nil
	}
	return l, r.flatten(l, path, "", doc.Content[0])
}

func (r *reader) flatten(l layer, path, prefix string, n *yaml.Node) error {
	fail := func(n *yaml.Node, msg string) error {
		return &Error{Origin: fmt.Sprintf("%s:%d", r.short(path), n.Line), Key: prefix, Msg: msg}
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
				return fail(k, "a key is not a word")
			}
			key := k.Value
			if prefix != "" {
				key = prefix + "." + key
			}
			if err := r.flatten(l, path, key, v); err != nil {
				return err
			}
		}
		return nil
	case yaml.SequenceNode:
		s, ok := settingOf(prefix)
		if !ok || !s.List {
			return fail(n, "takes no list")
		}
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return fail(item, "a list holds words")
			}
			l.add(prefix, item.Value, fmt.Sprintf("%s:%d", r.short(path), item.Line), true)
		}
		return nil
	case yaml.ScalarNode:
		if prefix == "" {
			return fail(n, "the file is not a map of settings")
		}
		if n.Tag != "!!null" {
			l.add(prefix, n.Value, fmt.Sprintf("%s:%d", r.short(path), n.Line), false)
		}
		return nil
	}
	return fail(n, "aliases are not supported")
}

// short writes a path as people do: from the working folder or from home, whichever is nearer.
func (r *reader) short(path string) string {
	below := func(base string) (string, bool) {
		rel, err := filepath.Rel(base, path)
		return filepath.ToSlash(rel), err == nil && base != "" && !strings.HasPrefix(rel, "..")
	}
	here, inDir := below(r.dir)
	home, inHome := below(r.home)
	switch {
	case inHome && (!inDir || len(home) < len(here)):
		return "~/" + home
	case inDir:
		return "./" + here
	}
	return path
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}
