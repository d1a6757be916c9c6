package fakerest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type update map[string]any

// unmet says why a requirement does not hold; "" = it does. A nil document is a table that does not exist.
func unmet(r map[string]any, doc document) string {
	kind, _ := r["type"].(string)
	if kind == "assert-create" {
		if doc != nil {
			return "the table exists"
		}
		return ""
	}
	if doc == nil {
		return "the table does not exist"
	}
	same := func(key, member string) string {
		if want, is := number(r[key]), doc.number(member); want != is {
			return fmt.Sprintf("%s is %d, not %d", member, is, want)
		}
		return ""
	}
	switch kind {
	case "assert-table-uuid":
		if want, _ := r["uuid"].(string); !strings.EqualFold(want, doc.text("table-uuid")) {
			return "the table's uuid is " + doc.text("table-uuid")
		}
		return ""
	case "assert-ref-snapshot-id":
		name, _ := r["ref"].(string)
		is := int64(-1)
		if ref, ok := doc.object("refs")[name].(map[string]any); ok {
			is = number(ref["snapshot-id"])
		} else if name == "main" {
			is = doc.number("current-snapshot-id")
		}
		if want := number(r["snapshot-id"]); want != is {
			return fmt.Sprintf("branch or tag %s is at %d, not %d", name, is, want)
		}
		return ""
	case "assert-last-assigned-field-id":
		return same("last-assigned-field-id", "last-column-id")
	case "assert-current-schema-id":
		return same("current-schema-id", "current-schema-id")
	case "assert-last-assigned-partition-id":
		return same("last-assigned-partition-id", "last-partition-id")
	case "assert-default-spec-id":
		return same("default-spec-id", "default-spec-id")
	case "assert-default-sort-order-id":
		return same("default-sort-order-id", "default-sort-order-id")
	}
	return "unknown requirement " + kind
}

// builder applies updates to a document.
type builder struct {
	doc                             document
	now                             func() int64 // milliseconds
	lastSchema, lastSpec, lastOrder any
	stale                           bool // the error asks for another try
}

func (b *builder) apply(u update) error {
	action, _ := u["action"].(string)
	doc := b.doc
	switch action {
	case "assign-uuid":
		doc["table-uuid"] = u["uuid"]
	case "upgrade-format-version":
		v := number(u["format-version"])
		if v < doc.number("format-version") || v > 3 {
			return fmt.Errorf("cannot change the format version from %d to %d", doc.number("format-version"), v)
		}
		doc["format-version"] = v
		if v >= 3 && doc["next-row-id"] == nil {
			doc["next-row-id"] = int64(0)
		}
	case "set-location":
		s, _ := u["location"].(string)
		doc["location"] = strings.TrimRight(s, "/")
	case "set-properties":
		updates, _ := u["updates"].(map[string]any)
		maps.Copy(doc.object("properties"), updates)
	case "remove-properties":
		removals, _ := u["removals"].([]any)
		for _, k := range removals {
			if k, ok := k.(string); ok {
				delete(doc.object("properties"), k)
			}
		}
	case "add-schema", "set-current-schema", "add-spec", "set-default-spec", "add-sort-order", "set-default-sort-order":
		return b.structure(action, u)
	case "add-snapshot":
		return b.addSnapshot(u)
	case "set-snapshot-ref":
		return b.setRef(u)
	case "remove-snapshot-ref":
		name, _ := u["ref-name"].(string)
		delete(doc.object("refs"), name)
		if name == "main" {
			doc["current-snapshot-id"] = nil
		}
	case "remove-snapshots":
		ids, _ := u["snapshot-ids"].([]any)
		doc["snapshots"] = removeWhere(doc.list("snapshots"), "snapshot-id", ids...)
	case "set-statistics":
		s, _ := u["statistics"].(map[string]any)
		if s == nil {
			return errors.New("set-statistics without statistics")
		}
		doc["statistics"] = append(removeWhere(doc.list("statistics"), "snapshot-id", s["snapshot-id"]), any(s))
	case "remove-statistics":
		doc["statistics"] = removeWhere(doc.list("statistics"), "snapshot-id", u["snapshot-id"])
	default:
		return fmt.Errorf("unknown update %q", action)
	}
	return nil
}

func removeWhere(l []any, key string, values ...any) []any {
	return slices.DeleteFunc(slices.Clone(l), func(e any) bool {
		m, ok := e.(map[string]any)
		return ok && slices.ContainsFunc(values, func(v any) bool { return number(v) == number(m[key]) })
	})
}

// structure adds schemas, specs and orders and makes one the current; -1 names the one added last.
func (b *builder) structure(action string, u update) error {
	doc := b.doc
	add := func(list, key string, raw any) (any, error) {
		m, ok := raw.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s without its object", action)
		}
		next := int64(0)
		for _, e := range doc.list(list) {
			if e, ok := e.(map[string]any); ok {
				if sameBut(e, m, key) {
					return e[key], nil
				}
				next = max(next, number(e[key])+1)
			}
		}
		m = maps.Clone(m)
		m[key] = next
		doc[list] = append(doc.list(list), any(m))
		return next, nil
	}
	set := func(member, key string, last any) error {
		id := u[key]
		if number(id) == -1 {
			if last == nil {
				return fmt.Errorf("%s -1 without one added", action)
			}
			id = last
		}
		doc[member] = id
		return nil
	}
	var err error
	switch action {
	case "add-schema":
		b.lastSchema, err = add("schemas", "schema-id", u["schema"])
		doc["last-column-id"] = max(doc.number("last-column-id"), highestID(u["schema"]))
	case "set-current-schema":
		return set("current-schema-id", "schema-id", b.lastSchema)
	case "add-spec":
		b.lastSpec, err = add("partition-specs", "spec-id", b.fillSpec(u["spec"]))
	case "set-default-spec":
		return set("default-spec-id", "spec-id", b.lastSpec)
	case "add-sort-order":
		b.lastOrder, err = add("sort-orders", "order-id", u["sort-order"])
	case "set-default-sort-order":
		return set("default-sort-order-id", "sort-order-id", b.lastOrder)
	}
	return err
}

func sameBut(a, b map[string]any, key string) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	delete(a, key)
	delete(b, key)
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// fillSpec gives ids to the fields that have none.
func (b *builder) fillSpec(raw any) any {
	m, ok := raw.(map[string]any)
	if !ok {
		return raw
	}
	last := b.doc.number("last-partition-id")
	fields, _ := m["fields"].([]any)
	for _, f := range fields {
		if f, ok := f.(map[string]any); ok {
			if f["field-id"] == nil {
				last++
				f["field-id"] = last
			}
			last = max(last, number(f["field-id"]))
		}
	}
	b.doc["last-partition-id"] = last
	return raw
}

// highestID of a schema: field, element, key and value ids at any depth.
func highestID(v any) int64 {
	top := int64(0)
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			switch k {
			case "id", "element-id", "key-id", "value-id":
				top = max(top, number(e))
			case "identifier-field-ids":
			default:
				top = max(top, highestID(e))
			}
		}
	case []any:
		for _, e := range v {
			top = max(top, highestID(e))
		}
	}
	return top
}

func (b *builder) addSnapshot(u update) error {
	s, _ := u["snapshot"].(map[string]any)
	if s == nil || number(s["snapshot-id"]) < 0 {
		return errors.New("add-snapshot without a snapshot")
	}
	doc := b.doc
	for _, e := range doc.list("snapshots") {
		if e, ok := e.(map[string]any); ok && number(e["snapshot-id"]) == number(s["snapshot-id"]) {
			return fmt.Errorf("snapshot %d exists", number(s["snapshot-id"]))
		}
	}
	if doc.number("format-version") >= 2 {
		seq := number(s["sequence-number"])
		if seq <= doc.number("last-sequence-number") {
			b.stale = true
			return fmt.Errorf("cannot add a snapshot with sequence number %d, the last is %d", seq, doc.number("last-sequence-number"))
		}
		doc["last-sequence-number"] = seq
	}
	if doc.number("format-version") >= 3 {
		first, added := number(s["first-row-id"]), number(s["added-rows"])
		if first < doc.number("next-row-id") || added < 0 {
			b.stale = first >= 0
			return fmt.Errorf("first-row-id %d, added-rows %d: the next row id is %d", first, added, doc.number("next-row-id"))
		}
		doc["next-row-id"] = first + added
	}
	doc["snapshots"] = append(doc.list("snapshots"), any(s))
	return nil
}

func (b *builder) setRef(u update) error {
	name, _ := u["ref-name"].(string)
	id := number(u["snapshot-id"])
	known := slices.ContainsFunc(b.doc.list("snapshots"), func(e any) bool {
		m, ok := e.(map[string]any)
		return ok && number(m["snapshot-id"]) == id
	})
	if !known {
		return fmt.Errorf("no snapshot %d for %s", id, name)
	}
	ref := maps.Clone(u)
	delete(ref, "action")
	delete(ref, "ref-name")
	b.doc.object("refs")[name] = map[string]any(ref)
	if name == "main" {
		b.doc["current-snapshot-id"] = id
		ms := b.doc.number("last-updated-ms")
		if b.now != nil {
			ms = b.now()
		}
		b.doc["snapshot-log"] = append(b.doc.list("snapshot-log"), any(map[string]any{"timestamp-ms": ms, "snapshot-id": id}))
	}
	return nil
}
