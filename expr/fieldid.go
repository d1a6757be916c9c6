package expr

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
)

// FieldIDKey is the metadata key under which Arrow and Parquet readers keep a column's field id.
const FieldIDKey = "PARQUET:field_id"

// The marks of Arrow's canonical extension types in field metadata (Arrow columnar format, "Extension Types"), so that other
// readers of our Arrow output see the same type.
const (
	extensionNameKey = "ARROW:extension:name"
	extensionDataKey = "ARROW:extension:metadata"
	uuidExtension    = "arrow.uuid"
)

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
	return withMetadata(f, FieldIDKey, strconv.Itoa(id))
}

// IsUUID reports whether f is a UUID: 16 fixed bytes, big-endian, marked in the metadata.
func IsUUID(f arrow.Field) bool {
	t, ok := f.Type.(*arrow.FixedSizeBinaryType)
	if !ok || t.ByteWidth != 16 {
		return false
	}
	i := f.Metadata.FindKey(extensionNameKey)
	return i >= 0 && f.Metadata.Values()[i] == uuidExtension
}

// AsUUID returns f with the type and the mark of a UUID and its other metadata kept.
func AsUUID(f arrow.Field) arrow.Field {
	f.Type = &arrow.FixedSizeBinaryType{ByteWidth: 16}
	return withMetadata(withMetadata(f, extensionNameKey, uuidExtension), extensionDataKey, "")
}

func withMetadata(f arrow.Field, key, value string) arrow.Field {
	var keys, values []string
	for i, k := range f.Metadata.Keys() {
		if k != key {
			keys, values = append(keys, k), append(values, f.Metadata.Values()[i])
		}
	}
	f.Metadata = arrow.NewMetadata(append(keys, key), append(values, value))
	return f
}
