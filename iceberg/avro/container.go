package avro

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrCorrupt is the class of every error about a file's bytes.
var ErrCorrupt = errors.New("avro: corrupt")

// ErrCodec says that a block codec is not known.
var ErrCodec = errors.New("avro: unknown codec")

func corrupt(off int, what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrCorrupt, what, off)
}

var magic = []byte("Obj\x01")

const syncSize = 16

// File is an object container file in memory. It keeps the bytes given to Open.
type File struct {
	meta  map[string][]byte
	codec string
	sync  [syncSize]byte
	data  []byte
	body  int // offset of the first block
}

// Open reads the header (Avro specification, "Object Container Files"). The caller must not change data afterwards.
func Open(data []byte) (*File, error) {
	if !bytes.HasPrefix(data, magic) {
		return nil, corrupt(0, "no Avro container file")
	}
	d := decoder{buf: data, pos: len(magic)}
	f := &File{meta: map[string][]byte{}, data: data}
	for {
		n := d.blockCount()
		if n == 0 || d.bad {
			break
		}
		for ; n > 0 && !d.bad; n-- {
			key := d.bytes()
			f.meta[string(key)] = d.bytes()
		}
	}
	copy(f.sync[:], d.fixed(syncSize))
	if d.bad {
		return nil, corrupt(d.at, "malformed header")
	}
	f.body = d.pos
	f.codec = string(f.meta["avro.codec"])
	switch f.codec {
	case "", "null", "deflate", "snappy", "zstandard":
		return f, nil
	}
	return nil, fmt.Errorf("%w %q", ErrCodec, f.codec)
}

// Meta returns a header value, nil if the key is absent. The slice aliases the file.
func (f *File) Meta(key string) []byte { return f.meta[key] }

// SchemaJSON is the file's schema as written; with it a compiled program can be found again.
func (f *File) SchemaJSON() []byte { return f.meta["avro.schema"] }

// stored: the blocks are not packed.
func (f *File) stored() bool { return f.codec == "" || f.codec == "null" }
