package expr

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
)

// FieldIDKey is the metadata key under which Arrow and Parquet readers keep a column's field id.
const FieldIDKey = "PARQUET:field_id"

// FieldID returns the field id in f's metadata; ok is false if there is none.
func FieldID(f arrow.Field) (id int, ok bool) {
	i := f.Metadata.FindKey(FieldIDKey)
	if i < 0 {
		return 0, false
	}
	id, err := strconv.Atoi(f.Metadata.Values()[i])
	return id, err == nil
}

// WithFieldID returns f with the field id set and its other metadata kept.
func WithFieldID(f arrow.Field, id int) arrow.Field {
	var keys, values []string
	for i, k := range f.Metadata.Keys() {
		if k != FieldIDKey {
			keys, values = append(keys, k), append(values, f.Metadata.Values()[i])
		}
	}
	f.Metadata = arrow.NewMetadata(append(keys, FieldIDKey), append(values, strconv.Itoa(id)))
	return f
}
