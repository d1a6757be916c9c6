package source

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// Strings is the layout of string and binary columns in the output: those of the top level, for fields of structs, lists and maps
// are always plain. Values are equal in all of them.
type Strings uint8

// Layouts.
const (
	// StringsPlain are offsets and bytes (utf8, binary): an array holds what it shows and nothing else. For whoever keeps data.
	StringsPlain Strings = iota
	// StringsView are views (utf8_view, binary_view): values longer than 12 bytes stay in the decompressed page, which the array keeps
	// alive and the budget pays for. Where less than a quarter of the pages is referred to, the values are copied out.
	StringsView
	// StringsDictionary are 32-bit indices of a dictionary, decoded straight from the file's. The dictionary is that of the row group's
	// chunk, shared by its batches; it may hold values that no row has, and some twice. Where a writer gave its dictionary up, a batch's
	// has an entry for each such row.
	StringsDictionary
)

// apply gives the schema of the output.
func (l Strings) apply(s *arrow.Schema) *arrow.Schema {
	if l == StringsPlain || s == nil {
		return s
	}
	fields := s.Fields() // a copy
	for i := range fields {
		fields[i].Type = l.of(fields[i].Type)
	}
	meta := s.Metadata()
	return arrow.NewSchema(fields, &meta)
}

func (l Strings) of(t arrow.DataType) arrow.DataType {
	switch id := t.ID(); {
	case id != arrow.STRING && id != arrow.BINARY:
		return t
	case l == StringsDictionary:
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: t}
	case id == arrow.STRING:
		return arrow.BinaryTypes.StringView
	default:
		return arrow.BinaryTypes.BinaryView
	}
}
