package build

import (
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Records counts the rows that begin in a data page of a column with repetition levels, and says whether the page begins with one of
// them or goes on with the row of the page before. It reads levels only; a page of version 1 has to be decompressed for them, of at
// most maxPage bytes.
func Records(p *page.Page, c thrift.Codec, maxRep int, maxPage int64) (begun int64, first bool, err error) {
	s := scratches.Get().(*scratch)
	defer func() {
		if s.size() <= maxPooled {
			scratches.Put(s)
		}
	}()
	old := p.Type == thrift.DataPage && p.RepetitionEncoding == thrift.BitPacked
	var levels []byte
	if p.Type == thrift.DataPageV2 {
		parts, _, err := p.SplitV2()
		if err != nil {
			return 0, false, err
		}
		levels = parts.Repetition
	} else {
		body := p.Body
		if c != thrift.Uncompressed && (p.UncompressedSize > 0 || len(body) > 0) {
			if int64(p.UncompressedSize) > maxPage {
				return 0, false, &TooLargeError{What: "page", Need: int64(p.UncompressedSize), Budget: maxPage}
			}
			call := calls.Get().(*callState)
			defer calls.Put(call)
			s.page = growBytes(s.page, int(p.UncompressedSize))
			if err := call.codec.Decode(c, s.page, body, false); err != nil {
				return 0, false, err
			}
			body = s.page
		}
		parts, err := p.SplitV1(body, maxRep, 0)
		if err != nil {
			return 0, false, err
		}
		levels = parts.Repetition
	}
	var r levelReader
	left := int(p.NumValues)
	if err := r.init(levels, uint8(maxRep), old, left); err != nil {
		return 0, false, err
	}
	var buf [levelStep]uint8
	for at := 0; left > 0; at++ {
		some := buf[:min(left, levelStep)]
		if err := r.next(some); err != nil {
			return 0, false, err
		}
		first = first || at == 0 && some[0] == 0
		for _, l := range some {
			if l == 0 {
				begun++
			}
		}
		left -= len(some)
	}
	return begun, first, nil
}
