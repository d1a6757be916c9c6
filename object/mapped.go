package object

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// Mapping rewrites a recorded prefix, at a path boundary, when a location is opened. From "" takes every relative location;
// To is a location or an absolute local path.
type Mapping struct{ From, To string }

// Mapped returns s with recorded locations rewritten on opening: of the mappings that fit, the one with the longest From.
// s3, s3a and s3n are one scheme here. Infos keep the recorded location, listings speak of recorded locations too, so that
// what they yield can be opened and compared. Without mappings the answer is s itself.
func Mapped(s Store, m []Mapping) Store {
	if len(m) == 0 {
		return s
	}
	out := &mapped{store: s}
	for _, one := range m {
		to, err := ParseLocation(one.To)
		out.rules = append(out.rules, rule{from: strings.TrimSuffix(foldScheme(one.From), "/"), to: to, err: err})
	}
	slices.SortStableFunc(out.rules, func(a, b rule) int { return len(b.from) - len(a.from) })
	return out
}

type rule struct {
	from string // canonical, without a trailing slash
	to   Location
	err  error // of parsing to, told when the rule is used
}

type mapped struct {
	store Store
	rules []rule // longest from first
}

// foldScheme brings the spellings of one scheme together, and the forms of file URIs.
func foldScheme(text string) string {
	loc, err := ParseLocation(text)
	if err != nil {
		return text
	}
	return loc.Canonical()
}

// open gives the location to open; Recorded stays what the caller has.
func (m *mapped) open(loc Location) (Location, error) {
	text := loc.Canonical()
	for _, r := range m.rules {
		rest, ok := strings.CutPrefix(text, r.from)
		switch {
		case !ok, r.from == "" && loc.Scheme != "":
			continue
		case r.from != "" && rest != "" && rest[0] != '/':
			continue
		}
		if r.err != nil {
			return loc, &Error{Op: "map", Location: loc, Err: r.err}
		}
		target := r.to
		if rest != "" {
			target = target.Join(strings.TrimPrefix(rest, "/"))
		}
		target.Recorded = loc.Recorded
		return target, nil
	}
	return loc, nil
}

func (m *mapped) Read(ctx context.Context, loc Location, r Range, dst []byte, o ReadOptions) ([]byte, Info, error) {
	target, err := m.open(loc)
	if err != nil {
		return nil, Info{Location: loc, Size: -1}, err
	}
	data, info, err := m.store.Read(ctx, target, r, dst, o)
	info.Location = loc
	return data, info, err
}

func (m *mapped) AtHand(loc Location, r Range, o ReadOptions) bool {
	target, err := m.open(loc)
	return err == nil && AtHand(m.store, target, r, o)
}

func (m *mapped) List(ctx context.Context, prefix Location) iter.Seq2[Info, error] {
	target, err := m.open(prefix)
	if err != nil {
		return failedList(prefix, err)
	}
	if target == prefix {
		return ListOf(ctx, m.store, prefix)
	}
	return func(yield func(Info, error) bool) {
		for info, err := range ListOf(ctx, m.store, target) {
			if err == nil {
				info.Location = prefix.WithKey(prefix.Key + strings.TrimPrefix(info.Location.Key, target.Key))
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}

func (m *mapped) Create(ctx context.Context, loc Location, ifMatch string) (Upload, error) {
	target, err := m.open(loc)
	if err != nil {
		return nil, err
	}
	u, err := CreateIn(ctx, m.store, target, ifMatch)
	if err != nil || target == loc {
		return u, err
	}
	return mappedUpload{u, loc}, nil
}

type mappedUpload struct {
	Upload
	loc Location
}

func (u mappedUpload) Commit(ctx context.Context) (Info, error) {
	info, err := u.Upload.Commit(ctx)
	info.Location = u.loc
	return info, err
}

func (m *mapped) Delete(ctx context.Context, loc Location) error {
	target, err := m.open(loc)
	if err != nil {
		return err
	}
	return DeleteIn(ctx, m.store, target)
}
