package plan

import "reflect"

// SameButTables reports whether two syntax trees differ in nothing but names, aliases and versions of tables, and places.
func SameButTables(a, b string) bool {
	x, err := decode(a)
	if err != nil || failure(x) != nil {
		return false
	}
	y, err := decode(b)
	if err != nil || failure(y) != nil {
		return false
	}
	return reflect.DeepEqual(withoutTables(x), withoutTables(y))
}

// withoutTables removes in place what may differ.
func withoutTables(v any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = withoutTables(x[i])
		}
	case node:
		delete(x, "query_location")
		delete(x, "named_param_map") // a version's parameter goes with it; the others are nodes of the tree
		if str(x, "type") == "BASE_TABLE" {
			for _, k := range []string{"catalog_name", "schema_name", "table_name", "alias", "at_clause"} {
				delete(x, k)
			}
		}
		for k := range x {
			x[k] = withoutTables(x[k])
		}
	}
	return v
}
