package deletes

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/lakescan/lakescan/parquet/rowsel"
)

// vectorMagic opens the bitmap of a deletion vector (Puffin specification, blob type deletion-vector-v1).
var vectorMagic = [4]byte{0xd1, 0xd3, 0x39, 0x64}

const vectorFrame = 4 + 4 + 4 // length, magic, CRC

// parseVector checks a blob: length, magic, CRC, bitmap. The blob's size is the manifest's content_size_in_bytes.
func parseVector(blob []byte) (*roaring, error) {
	if len(blob) < vectorFrame {
		return nil, corrupt("deletion vector of %d bytes", len(blob))
	}
	if n := int64(binary.BigEndian.Uint32(blob)); n != int64(len(blob)-8) {
		return nil, corrupt("deletion vector: length field %d in a blob of %d bytes", n, len(blob))
	}
	body := blob[4 : len(blob)-4]
	if [4]byte(body) != vectorMagic {
		return nil, corrupt("deletion vector: magic %x", body[:4])
	}
	if want, got := binary.BigEndian.Uint32(blob[len(blob)-4:]), crc32.ChecksumIEEE(body); want != got {
		return nil, corrupt("deletion vector: CRC-32 %08x, computed %08x", want, got)
	}
	return parseRoaring(body[4:])
}

// checkVector compares with what the manifest says: cardinality (-1 = not said) and the data file's rows (-1 = not known).
func checkVector(r *roaring, cardinality, rows int64) error {
	if cardinality >= 0 && r.cardinality != cardinality {
		return corrupt("deletion vector of %d positions, the manifest says %d", r.cardinality, cardinality)
	}
	if rows >= 0 && r.cardinality > 0 && r.last >= rows {
		return corrupt("deletion vector: position %d in a data file of %d rows", r.last, rows)
	}
	return nil
}

// DecodeVector reads a deletion-vector-v1 blob whole. Errors are ErrCorrupt.
func DecodeVector(blob []byte) (rowsel.Selection, error) {
	r, err := parseVector(blob)
	if err != nil {
		return rowsel.None(), err
	}
	return r.selection(), nil
}
