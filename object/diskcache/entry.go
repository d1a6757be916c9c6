package diskcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lakescan/lakescan/object"
)

// key names an object of a store.
type key struct {
	name string // what is written into its entries
	hash string
}

func keyOf(scope string, loc object.Location) key {
	name := scope + "\n" + loc.Canonical()
	sum := sha256.Sum256([]byte(name))
	return key{name, hex.EncodeToString(sum[:16])}
}

func (c *Cache) folder(k key) string { return filepath.Join(c.root, k.hash[:2], k.hash) }

// place is an entry's file name taken apart: which version, and which bytes of it.
type place struct {
	tag            string // hash of the ETag
	size, off, len int64
}

func tagOf(etag string) string {
	sum := sha256.Sum256([]byte(object.Opaque(etag)))
	return hex.EncodeToString(sum[:8])
}

func (p place) String() string {
	return p.tag + "-" + strconv.FormatInt(p.size, 10) + "-" + strconv.FormatInt(p.off, 10) + "-" + strconv.FormatInt(p.len, 10)
}

// parsePlace reads a file name; what is none of ours is not ok.
func parsePlace(name string) (p place, ok bool) {
	f := strings.Split(name, "-")
	if len(f) != 4 {
		return p, false
	}
	p.tag = f[0]
	for i, to := range []*int64{&p.size, &p.off, &p.len} {
		n, err := strconv.ParseInt(f[i+1], 10, 64)
		if err != nil || n < 0 {
			return p, false
		}
		*to = n
	}
	return p, p.len > 0 && p.off+p.len <= p.size && p.String() == name
}

// The format of an entry, little endian:
//
//	magic "LSDC", version u16, blocks u32, name length u32, ETag length u32, size u64, offset u64, length u64
//	name, ETag, blocks × CRC-32C of a block, CRC-32C of all before
//	the bytes
const (
	magic     = "LSDC"
	version   = 1
	fixedHead = 4 + 2 + 3*4 + 3*8
	block     = 64 << 10
	maxText   = 16 << 10 // of a name or an ETag
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errCorrupt is any entry that is not what was written.
var errCorrupt = errors.New("diskcache: entry is damaged")

func blocksOf(n int64) int64 { return (n + block - 1) / block }

// appendHead is the header of an entry for data.
func appendHead(k key, etag string, p place, data []byte) []byte {
	n := blocksOf(p.len)
	b := make([]byte, 0, fixedHead+len(k.name)+len(etag)+4*int(n)+4)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, version)
	for _, v := range []int{int(n), len(k.name), len(etag)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	for _, v := range []int64{p.size, p.off, p.len} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	b = append(b, k.name...)
	b = append(b, etag...)
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(data[i*block:min((i+1)*block, p.len)], castagnoli))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// head is a header that was read and found whole.
type head struct {
	etag string
	sums []byte // CRCs of the blocks
	data int64  // where the bytes begin
}

// readHead reads and checks the header of an entry that its name says is k at p. Lengths are believed only as far as the file's own size goes.
func readHead(f *os.File, k key, p place) (head, error) {
	info, err := f.Stat()
	if err != nil {
		return head{}, err
	}
	first := make([]byte, min(info.Size(), 4<<10))
	if _, err := f.ReadAt(first, 0); err != nil {
		return head{}, corrupt(err)
	}
	if len(first) < fixedHead || string(first[:4]) != magic || binary.LittleEndian.Uint16(first[4:]) != version {
		return head{}, errCorrupt
	}
	u32 := func(at int) int64 { return int64(binary.LittleEndian.Uint32(first[at:])) }
	blocks, name, tag := u32(6), u32(10), u32(14)
	if blocks != blocksOf(p.len) || name > maxText || tag > maxText {
		return head{}, errCorrupt
	}
	n := fixedHead + name + tag + 4*blocks + 4
	if info.Size() != n+p.len {
		return head{}, errCorrupt
	}
	all := first
	if int64(len(all)) < n {
		all = make([]byte, n)
		if _, err := f.ReadAt(all, 0); err != nil {
			return head{}, corrupt(err)
		}
	}
	all = all[:n]
	if crc32.Checksum(all[:n-4], castagnoli) != binary.LittleEndian.Uint32(all[n-4:]) {
		return head{}, errCorrupt
	}
	for i, want := range []int64{p.size, p.off, p.len} {
		if int64(binary.LittleEndian.Uint64(all[18+8*i:])) != want {
			return head{}, errCorrupt
		}
	}
	etag := string(all[fixedHead+name : fixedHead+name+tag])
	if !bytes.Equal(all[fixedHead:fixedHead+name], []byte(k.name)) || tagOf(etag) != p.tag {
		return head{}, errCorrupt
	}
	return head{etag, all[fixedHead+name+tag : n-4], n}, nil
}

func corrupt(err error) error {
	if errors.Is(err, io.EOF) {
		return errCorrupt
	}
	return err
}

// readEntry copies n bytes from off of the object out of the entry at path into dst, and checks the blocks that they lie in.
func readEntry(path string, k key, p place, off, n int64, dst []byte) (data []byte, etag string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	h, err := readHead(f, k, p)
	if err != nil {
		return nil, "", err
	}
	at := off - p.off
	from, to := at/block*block, min((at+n+block-1)/block*block, p.len)
	out := object.Buffer(dst, n)
	buf := out
	if from != at || to != at+n {
		buf = make([]byte, to-from)
	}
	if _, err := f.ReadAt(buf, h.data+from); err != nil {
		return nil, "", corrupt(err)
	}
	for i := from; i < to; i += block {
		sum := binary.LittleEndian.Uint32(h.sums[4*(i/block):])
		if crc32.Checksum(buf[i-from:min(i-from+block, to-from)], castagnoli) != sum {
			return nil, "", fmt.Errorf("%w: %s", errCorrupt, path)
		}
	}
	if &buf[0] != &out[0] {
		copy(out, buf[at-from:])
	}
	return out, h.etag, nil
}
