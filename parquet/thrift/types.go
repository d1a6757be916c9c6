package thrift

import "strconv"

// Type is a physical type.
type Type uint8

// Physical types.
const (
	Boolean Type = iota
	Int32
	Int64
	Int96
	Float
	Double
	ByteArray
	FixedLenByteArray
	NoType Type = 255 // a group
)

var typeNames = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

func (t Type) String() string { return name(typeNames[:], uint8(t), "type") }

// Width is the bytes of one PLAIN value; 0 for BOOLEAN, BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY (whose length is in the schema).
func (t Type) Width() int {
	switch t {
	case Int32, Float:
		return 4
	case Int64, Double:
		return 8
	case Int96:
		return 12
	}
	return 0
}

// Encoding of values or levels.
type Encoding uint8

// Encodings; 1 was never used.
const (
	Plain                Encoding = 0
	PlainDictionary      Encoding = 2
	RLE                  Encoding = 3
	BitPacked            Encoding = 4
	DeltaBinaryPacked    Encoding = 5
	DeltaLengthByteArray Encoding = 6
	DeltaByteArray       Encoding = 7
	RLEDictionary        Encoding = 8
	ByteStreamSplit      Encoding = 9
)

var encodingNames = [...]string{
	"PLAIN", "GROUP_VAR_INT", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED",
	"DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT", "ALP",
}

func (e Encoding) String() string { return name(encodingNames[:], uint8(e), "encoding") }

// Dictionary reports whether data pages of e hold indices.
func (e Encoding) Dictionary() bool { return e == RLEDictionary || e == PlainDictionary }

// Codec is a compression codec.
type Codec uint8

// Codecs.
const (
	Uncompressed Codec = iota
	Snappy
	Gzip
	LZO
	Brotli
	LZ4Hadoop // deprecated: framed or raw, by writer
	Zstd
	LZ4Raw
)

var codecNames = [...]string{"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"}

func (c Codec) String() string { return name(codecNames[:], uint8(c), "codec") }

// PageType is a kind of page.
type PageType uint8

// Page types.
const (
	DataPage PageType = iota
	IndexPage
	DictionaryPage
	DataPageV2
)

var pageNames = [...]string{"DATA_PAGE", "INDEX_PAGE", "DICTIONARY_PAGE", "DATA_PAGE_V2"}

func (p PageType) String() string { return name(pageNames[:], uint8(p), "page type") }

// Repetition of a schema element.
type Repetition uint8

// Repetitions; the root has none and counts as required.
const (
	Required Repetition = iota
	Optional
	Repeated
)

var repetitionNames = [...]string{"REQUIRED", "OPTIONAL", "REPEATED", "VECTOR"}

func (r Repetition) String() string { return name(repetitionNames[:], uint8(r), "repetition") }

// Converted is the older annotation.
type Converted uint8

// Converted types.
const (
	ConvUTF8 Converted = iota
	ConvMap
	ConvMapKeyValue
	ConvList
	ConvEnum
	ConvDecimal
	ConvDate
	ConvTimeMillis
	ConvTimeMicros
	ConvTimestampMillis
	ConvTimestampMicros
	ConvUint8
	ConvUint16
	ConvUint32
	ConvUint64
	ConvInt8
	ConvInt16
	ConvInt32
	ConvInt64
	ConvJSON
	ConvBSON
	ConvInterval
	NoConverted Converted = 255
)

// Unit of times and timestamps.
type Unit uint8

// Units, numbered as in the TimeUnit union.
const (
	NoUnit Unit = iota
	Millis
	Micros
	Nanos
)

// LogicalKind numbers the members of the LogicalType union.
type LogicalKind uint8

// Logical types; Interval has no member of the union and comes from the converted type only.
const (
	NoLogical        LogicalKind = 0
	LogicalString    LogicalKind = 1
	LogicalMap       LogicalKind = 2
	LogicalList      LogicalKind = 3
	LogicalEnum      LogicalKind = 4
	LogicalDecimal   LogicalKind = 5
	LogicalDate      LogicalKind = 6
	LogicalTime      LogicalKind = 7
	LogicalTimestamp LogicalKind = 8
	LogicalInterval  LogicalKind = 9
	LogicalInt       LogicalKind = 10
	LogicalUnknown   LogicalKind = 11 // always null
	LogicalJSON      LogicalKind = 12
	LogicalBSON      LogicalKind = 13
	LogicalUUID      LogicalKind = 14
	LogicalFloat16   LogicalKind = 15
	LogicalVariant   LogicalKind = 16
	LogicalGeometry  LogicalKind = 17
	LogicalGeography LogicalKind = 18
	OtherLogical     LogicalKind = 255 // a member this package does not know
)

// Logical is a logical type with its parameters; which ones count depends on Kind.
type Logical struct {
	Kind      LogicalKind
	Unit      Unit // Time, Timestamp
	UTC       bool // Time, Timestamp: adjusted to UTC
	BitWidth  uint8
	Signed    bool
	Scale     int32
	Precision int32
}

// Order of a column's statistics.
type Order uint8

// Orders, numbered as in the ColumnOrder union.
const (
	OrderUndefined Order = iota
	OrderType            // of the logical, else the physical type
	OrderIEEE754         // total order
	OrderInt96           // chronological
)

func name(names []string, i uint8, what string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return what + " " + strconv.Itoa(int(i))
}
