package source

import "github.com/apache/arrow-go/v18/arrow"

// Digits of the decimals that Config.Short is about: DuckDB and others keep them in 64 bits, too.
const shortFrom, shortTo = 10, 18

// shortDecimals gives the schema of the output.
func shortDecimals(s *arrow.Schema) *arrow.Schema {
	if s == nil {
		return s
	}
	fields := s.Fields() // a copy
	for i, f := range fields {
		if d, ok := f.Type.(*arrow.Decimal128Type); ok && shortFrom <= d.Precision && d.Precision <= shortTo {
			fields[i].Type = &arrow.Decimal64Type{Precision: d.Precision, Scale: d.Scale}
		}
	}
	meta := s.Metadata()
	return arrow.NewSchema(fields, &meta)
}
