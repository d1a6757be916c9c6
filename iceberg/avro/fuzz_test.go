package avro

import (
	"testing"

	"github.com/lakescan/lakescan/internal/usage"
)

// unpacked is how many bytes the blocks of a file hold, as far as they are sound: what memory is measured against beside the file.
func unpacked(data []byte) (n int) {
	f, err := Open(data)
	if err != nil {
		return 0
	}
	var blocks Blocks
	for off := f.body; off < len(data); {
		b, err := f.block(off)
		if err != nil {
			return n
		}
		plain, err := blocks.next(f, b.packed)
		if n += len(plain); err != nil {
			return n + MaxBlock // how far it came is not known
		}
		off = b.end
	}
	return n
}

// FuzzContainer: no panic, errors of a class, memory in proportion to the file and what it unpacks to. A row in an array of records
// has slots for all that is wanted, at a byte of the file at least: the factor.
func FuzzContainer(f *testing.F) {
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		f.Add(file(f, codec, 4))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		size := len(data) + unpacked(data)
		if got, most := usage.Allocated(func() { read(t, data) }), uint64(size)*1000+1<<20; got > most {
			t.Errorf("%d bytes allocated for %d, with what they unpack to %d", got, len(data), size)
		}
	})
}

// FuzzBlock reaches the interpreter without having to guess a container around it.
func FuzzBlock(f *testing.F) {
	f.Add(record(1, false))
	f.Add(record(3, true))
	s, err := ParseSchema([]byte(everyKind))
	if err != nil {
		f.Fatal(err)
	}
	all, err := Compile(s, everything)
	if err != nil {
		f.Fatal(err)
	}
	none, err := Compile(s, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := usage.Allocated(func() {
			var row Row
			read, skipped := decoder{buf: data}, decoder{buf: data}
			row.reset(all)
			read.exec(all.ops, &row)
			row.reset(none)
			skipped.exec(none.ops, &row)
		})
		if most := uint64(len(data))*1000 + 1<<16; got > most {
			t.Errorf("%d bytes allocated for %d", got, len(data))
		}
		for n := range int64(len(data) + 2) {
			one, all := decoder{buf: data}, decoder{buf: data}
			for range n {
				one.long()
			}
			if all.skipLongs(n); !one.bad && (all.bad || all.pos != one.pos) || all.bad && !one.bad {
				t.Fatalf("%d varints passed over end at byte %d (fault %v), read one by one at %d", n, all.pos, all.bad, one.pos)
			}
		}
	})
}
