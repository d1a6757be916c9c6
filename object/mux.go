package object

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Mux picks a store by scheme, so that one Store serves a table whose files lie in several places. The entry "s3" also serves
// s3a and s3n, unless these have their own. A relative location has the scheme "".
func Mux(byScheme map[string]Store) Store {
	m := mux(maps.Clone(byScheme))
	for _, alias := range []string{"s3a", "s3n"} {
		if s, ok := m["s3"]; ok && m[alias] == nil {
			m[alias] = s
		}
	}
	return m
}

type mux map[string]Store

func (m mux) pick(op string, loc Location) (Store, error) {
	if s := m[loc.Scheme]; s != nil {
		return s, nil
	}
	served := slices.Sorted(maps.Keys(m))
	err := fmt.Errorf("%w: no store serves the scheme %q (served: %s)", ErrInvalid, loc.Scheme, strings.Join(served, ", "))
	if loc.Scheme == "" {
		err = fmt.Errorf("%w: a relative location needs a mapping to be opened (served schemes: %s)", ErrInvalid, strings.Join(served, ", "))
	}
	return nil, &Error{Op: op, Location: loc, Err: err}
}

func (m mux) Read(ctx context.Context, loc Location, r Range, dst []byte, o ReadOptions) ([]byte, Info, error) {
	s, err := m.pick("read", loc)
	if err != nil {
		return nil, Info{Location: loc, Size: -1}, err
	}
	return s.Read(ctx, loc, r, dst, o)
}

func (m mux) AtHand(loc Location, r Range, o ReadOptions) bool {
	s := m[loc.Scheme]
	return s != nil && AtHand(s, loc, r, o)
}

func (m mux) List(ctx context.Context, prefix Location) iter.Seq2[Info, error] {
	s, err := m.pick("list", prefix)
	if err != nil {
		return failedList(prefix, err)
	}
	return ListOf(ctx, s, prefix)
}

func (m mux) Create(ctx context.Context, loc Location, ifMatch string) (Upload, error) {
	s, err := m.pick("create", loc)
	if err != nil {
		return nil, err
	}
	return CreateIn(ctx, s, loc, ifMatch)
}

func (m mux) Delete(ctx context.Context, loc Location) error {
	s, err := m.pick("delete", loc)
	if err != nil {
		return err
	}
	return DeleteIn(ctx, s, loc)
}

// listOf, createIn and deleteIn pass on what a store may not be able to do.
// ListOf lists by a store that may not be able to: then the one element is errors.ErrUnsupported. For decorators.
func ListOf(ctx context.Context, s Store, prefix Location) iter.Seq2[Info, error] {
	if l, ok := s.(Lister); ok {
		return l.List(ctx, prefix)
	}
	return failedList(prefix, unsupported("list", prefix))
}

// CreateIn is the same for Create.
func CreateIn(ctx context.Context, s Store, loc Location, ifMatch string) (Upload, error) {
	if w, ok := s.(Writer); ok {
		return w.Create(ctx, loc, ifMatch)
	}
	return nil, unsupported("create", loc)
}

// DeleteIn is the same for Delete.
func DeleteIn(ctx context.Context, s Store, loc Location) error {
	if w, ok := s.(Writer); ok {
		return w.Delete(ctx, loc)
	}
	return unsupported("delete", loc)
}

func unsupported(op string, loc Location) error {
	return &Error{Op: op, Location: loc, Err: fmt.Errorf("this store cannot %s: %w", op, errors.ErrUnsupported)}
}

func failedList(prefix Location, err error) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) { yield(Info{Location: prefix, Size: -1}, err) }
}
