package page

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/lakescan/lakescan/parquet/thrift"
)

// Classes of failure.
var (
	ErrCorrupt = errors.New("page: corrupt")
	// ErrShort: the page does not end within the bytes given; more of them may help.
	ErrShort = fmt.Errorf("%w: bytes end within a page", ErrCorrupt)
)

// MaxHeader is the most a page header takes; statistics inside may be long.
const MaxHeader = 16 << 20

// Page is a page as stored.
type Page struct {
	thrift.PageHeader
	Body   []byte // as stored, Header.CompressedSize bytes
	Offset int64  // of the header, in the file
}

// Read reads the page at the start of b, which lies at offset off of the file, and returns the bytes it takes.
func Read(b []byte, off int64, p *Page) (int, error) {
	n, fits, err := Fit(b, off, p)
	if err == nil && !fits {
		return 0, fmt.Errorf("%w: page of %d bytes, %d given", ErrShort, n, len(b))
	}
	return n, err
}

// Fit is Read for who guesses at the size of a page: if its header is in b but not all of its body, fits is false, and n the bytes that it
// takes.
func Fit(b []byte, off int64, p *Page) (n int, fits bool, err error) {
	head, err := thrift.ParsePageHeader(b, &p.PageHeader)
	if err != nil {
		if head >= len(b) && len(b) < MaxHeader {
			return 0, false, fmt.Errorf("%w: %w", ErrShort, err)
		}
		return 0, false, fmt.Errorf("%w: header: %w", ErrCorrupt, err)
	}
	n = int(min(int64(head)+int64(p.CompressedSize), math.MaxInt))
	if n > len(b) {
		return n, false, nil
	}
	p.Body, p.Offset = b[head:n:cap(b)], off
	return n, true, nil
}

// Data reports whether p holds values.
func (p *Page) Data() bool { return p.Type == thrift.DataPage || p.Type == thrift.DataPageV2 }

// Verify checks the page's checksum, if it has one.
func (p *Page) Verify() error {
	if !p.HasCRC {
		return nil
	}
	if sum := crc32.ChecksumIEEE(p.Body); sum != p.CRC {
		return fmt.Errorf("%w: checksum %08x instead of %08x", ErrCorrupt, sum, p.CRC)
	}
	return nil
}

// Parts of a page. Definition and repetition levels are without their length prefix; they are empty where the column has
// none of them.
type Parts struct {
	Repetition, Definition []byte
	Values                 []byte
}

// SplitV2 takes the levels of a v2 page from its body; Values are as stored, and size is their length uncompressed.
func (p *Page) SplitV2() (parts Parts, size int, err error) {
	r, d := int64(p.RepetitionLength), int64(p.DefinitionLength)
	if r+d > int64(len(p.Body)) || r+d > int64(p.UncompressedSize) {
		return Parts{}, 0, fmt.Errorf("%w: levels of %d and %d bytes in a page of %d", ErrCorrupt, r, d, len(p.Body))
	}
	return Parts{Repetition: p.Body[:r], Definition: p.Body[r : r+d], Values: p.Body[r+d:]}, int(int64(p.UncompressedSize) - r - d), nil
}

// SplitV1 takes the uncompressed body b of a v1 page apart. maxRep and maxDef are the column's highest levels.
func (p *Page) SplitV1(b []byte, maxRep, maxDef int) (parts Parts, err error) {
	if maxRep > 0 {
		if parts.Repetition, b, err = p.levels(b, p.RepetitionEncoding, maxRep); err != nil {
			return Parts{}, err
		}
	}
	if maxDef > 0 {
		if parts.Definition, b, err = p.levels(b, p.DefinitionEncoding, maxDef); err != nil {
			return Parts{}, err
		}
	}
	parts.Values = b
	return parts, nil
}

func (p *Page) levels(b []byte, e thrift.Encoding, maximum int) (levels, rest []byte, err error) {
	switch e {
	case thrift.RLE:
		if len(b) < 4 {
			return nil, nil, fmt.Errorf("%w: no room for levels", ErrCorrupt)
		}
		n := binary.LittleEndian.Uint32(b)
		if int64(n) > int64(len(b)-4) {
			return nil, nil, fmt.Errorf("%w: levels of %d bytes in a page of %d", ErrCorrupt, n, len(b))
		}
		return b[4 : 4+n], b[4+n:], nil
	case thrift.BitPacked:
		n := (int64(p.NumValues)*int64(Width(maximum)) + 7) / 8
		if n > int64(len(b)) {
			return nil, nil, fmt.Errorf("%w: levels of %d bytes in a page of %d", ErrCorrupt, n, len(b))
		}
		return b[:n], b[n:], nil
	}
	return nil, nil, fmt.Errorf("%w: levels encoded as %v", ErrCorrupt, e)
}

// Width is the bits a level of at most maximum takes.
func Width(maximum int) int {
	w := 0
	for ; maximum > 0; maximum >>= 1 {
		w++
	}
	return w
}
