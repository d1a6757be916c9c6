package write

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/compress"
)

// Errors.
var (
	// ErrUnsupported: the schema has a type that is not written.
	ErrUnsupported = errors.New("parquet/write: unsupported")
	// ErrClosed: the Writer was closed or aborted, or failed before.
	ErrClosed = errors.New("parquet/write: closed")
)

// chunkRows is how many rows are encoded at once; row groups and pages end at multiples of it.
const chunkRows = 4096

// Options of a Writer; zero fields take the defaults of DefaultOptions.
type Options struct {
	// Codec: zstd, snappy, gzip, brotli, lz4_raw, uncompressed.
	Codec string
	// Level of the codec; 0 = zstd 1, the codec's own default for the others.
	Level int
	// RowGroupRows and RowGroupBytes (of values before encoding) end a row group, whichever comes first.
	RowGroupRows  int64
	RowGroupBytes int64
	// PageRows and PageBytes (of values before encoding) end a page.
	PageRows  int64
	PageBytes int64
	// DictionaryBytes is the size from which on a dictionary is given up.
	DictionaryBytes int64
	// Sorting is recorded as the order of the rows, which the caller guarantees.
	Sorting []Sorting
	// Bloom lists leaves (paths of names) that get a Bloom filter, of one false answer in BloomFPP^-1.
	Bloom    [][]string
	BloomFPP float64
	// Metadata goes into the footer.
	Metadata  map[string]string
	CreatedBy string
	Allocator memory.Allocator
}

// Sorting is one key of the order of rows.
type Sorting struct {
	Path       []string // a leaf outside lists and maps
	Descending bool
	NullsFirst bool
}

// DefaultOptions are those of a zero Options.
func DefaultOptions() Options {
	return Options{
		Codec: "zstd", RowGroupRows: 131072, RowGroupBytes: 128 << 20, PageRows: 20480, PageBytes: 1 << 20,
		DictionaryBytes: 1 << 20, BloomFPP: 0.01, CreatedBy: "lakescan", Allocator: memory.DefaultAllocator,
	}
}

func (o Options) withDefaults() Options {
	d := DefaultOptions()
	pick := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	pick(&o.RowGroupRows, d.RowGroupRows)
	pick(&o.RowGroupBytes, d.RowGroupBytes)
	pick(&o.PageRows, d.PageRows)
	pick(&o.PageBytes, d.PageBytes)
	pick(&o.DictionaryBytes, d.DictionaryBytes)
	if o.Codec == "" {
		o.Codec = d.Codec
	}
	if o.Level == 0 && o.Codec == "zstd" {
		o.Level = 1
	}
	if o.BloomFPP <= 0 || o.BloomFPP >= 1 {
		o.BloomFPP = d.BloomFPP
	}
	if o.CreatedBy == "" {
		o.CreatedBy = d.CreatedBy
	}
	if o.Allocator == nil {
		o.Allocator = d.Allocator
	}
	return o
}

var codecs = map[string]compress.Compression{
	"zstd": compress.Codecs.Zstd, "snappy": compress.Codecs.Snappy, "gzip": compress.Codecs.Gzip, "brotli": compress.Codecs.Brotli,
	"lz4_raw": compress.Codecs.Lz4Raw, "uncompressed": compress.Codecs.Uncompressed,
}

func (o Options) codec() (compress.Compression, error) {
	c, ok := codecs[o.Codec]
	if !ok {
		return 0, fmt.Errorf("%w: codec %q", ErrUnsupported, o.Codec)
	}
	return c, nil
}

func unsupported(f arrow.Field) error {
	return fmt.Errorf("%w: column %q of type %v", ErrUnsupported, f.Name, f.Type)
}
