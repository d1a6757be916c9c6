package codec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lakescan/lakescan/parquet/codec"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/parquettest/bounded"
	"github.com/lakescan/lakescan/parquet/thrift"
)

func bodies() map[string][]byte {
	rnd := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	return map[string][]byte{"empty": {}, "one": {7}, "runs": bytes.Repeat([]byte("lake"), 3000), "noise": noise}
}

// What other programs compress comes back, by a decoder that is used again for every codec in turn.
func TestL54_EveryCodecComesBack(t *testing.T) {
	t.Parallel()
	var d codec.Decoder
	for range 2 {
		for name, want := range bodies() {
			for _, c := range parquettest.Codecs {
				for _, verified := range []bool{false, true} {
					src := parquettest.Compress(c, want)
					got := codec.Grow(nil, len(want))
					if err := d.Decode(c, got, src, verified); err != nil || !bytes.Equal(got, want) {
						t.Errorf("%v, %s: %v", c, name, err)
					}
				}
			}
		}
	}
}

// A page is exactly as long as its header says: shorter and longer output are errors, and nothing is written beyond the capacity.
func TestOutputIsOfTheLengthAsked(t *testing.T) {
	t.Parallel()
	var d codec.Decoder
	want := bodies()["runs"]
	for _, c := range parquettest.Codecs {
		src := parquettest.Compress(c, want)
		for _, n := range []int{0, 1, len(want) - 1, len(want) + 1, 2 * len(want)} {
			buf := bytes.Repeat([]byte{0xa5}, n+codec.Slack+8)
			if err := d.Decode(c, buf[:n:n+codec.Slack], src, false); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%v: %d bytes asked of %d: %v", c, n, len(want), err)
			}
			if tail := buf[n+codec.Slack:]; !bytes.Equal(tail, bytes.Repeat([]byte{0xa5}, 8)) {
				t.Errorf("%v: %x beyond the capacity", c, tail)
			}
		}
	}
}

// A body cut anywhere is an error: never rows that are not there.
func TestL52_CutBodiesAreErrors(t *testing.T) {
	t.Parallel()
	var d codec.Decoder
	want := bodies()["noise"][:300]
	for _, c := range parquettest.Codecs {
		src := parquettest.Compress(c, want)
		for n := range len(src) {
			got := codec.Grow(nil, len(want))
			if err := d.Decode(c, got, src[:n:n], false); !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("%v: %d of %d bytes: %v", c, n, len(src), err)
			}
		}
	}
}

// The old LZ4: Hadoop's frame of one or several blocks, several frames, a bare block; anything else is refused by name (L54).
func TestL54_OldLZ4(t *testing.T) {
	t.Parallel()
	var d codec.Decoder
	want := bodies()["runs"]
	raw := func(b []byte) []byte { return parquettest.Compress(thrift.LZ4Raw, b) }
	block := func(b []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw(b)))), raw(b)...)
	}
	frame := func(parts ...[]byte) []byte {
		n, out := 0, []byte(nil)
		for _, p := range parts {
			n += len(p)
			out = append(out, block(p)...)
		}
		return append(binary.BigEndian.AppendUint32(nil, uint32(n)), out...)
	}
	good := map[string][]byte{
		"one block": frame(want), "two blocks": frame(want[:5000], want[5000:]), "bare": raw(want),
		"two frames": append(frame(want[:77]), frame(want[77:])...),
	}
	for name, src := range good {
		got := codec.Grow(nil, len(want))
		if err := d.Decode(thrift.LZ4Hadoop, got, src, false); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, src := range map[string][]byte{"frame format": append([]byte{0x04, 0x22, 0x4d, 0x18}, raw(want)...), "nothing": nil, "cut frame": frame(want)[:40]} {
		got := codec.Grow(nil, len(want))
		if err := d.Decode(thrift.LZ4Hadoop, got, src, false); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := codec.Supported(thrift.LZO); !errors.Is(err, codec.ErrUnsupported) || err.Error() != "codec: unsupported: LZO" {
		t.Errorf("%v", err)
	}
}

// Several gzip members are one page.
func TestGzipMembers(t *testing.T) {
	t.Parallel()
	want := bodies()["noise"]
	src := slices.Concat(parquettest.Compress(thrift.Gzip, want[:999]), parquettest.Compress(thrift.Gzip, want[999:]))
	got := codec.Grow(nil, len(want))
	if err := new(codec.Decoder).Decode(thrift.Gzip, got, src, false); err != nil || !bytes.Equal(got, want) {
		t.Error(err)
	}
}

// A checksum inside the codec counts unless the page's own was verified.
func TestChecksumOfZstd(t *testing.T) {
	t.Parallel()
	want := bodies()["runs"]
	src := parquettest.Compress(thrift.Zstd, want)
	src[len(src)-1] ^= 1
	var d codec.Decoder
	got := codec.Grow(nil, len(want))
	if err := d.Decode(thrift.Zstd, got, src, false); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("not verified: %v", err)
	}
	if err := d.Decode(thrift.Zstd, got, src, true); err != nil || !bytes.Equal(got, want) {
		t.Errorf("verified: %v", err)
	}
}

// Any bytes in any codec: an error or exactly the length asked, nothing beyond the capacity, memory that does not follow the
// lengths inside.
func FuzzDecode(f *testing.F) {
	for name, b := range bodies() {
		for _, c := range parquettest.Codecs {
			if name != "noise" {
				f.Add(parquettest.Compress(c, b), uint8(c), uint16(len(b)), false)
			}
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, c uint8, n uint16, verified bool) {
		var d codec.Decoder
		buf := bytes.Repeat([]byte{0xa5}, int(n)+codec.Slack+8)
		// A decoder's tables and windows are made once for many pages: brotli's are the largest.
		bounded.Run(t, uint64(8*len(src)+40<<20), func() {
			err := d.Decode(thrift.Codec(c), buf[:n:int(n)+codec.Slack], src, verified)
			if err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrUnsupported) {
				t.Error(fmt.Errorf("no class: %w", err))
			}
		})
		if tail := buf[int(n)+codec.Slack:]; !bytes.Equal(tail, bytes.Repeat([]byte{0xa5}, 8)) {
			t.Errorf("%x beyond the capacity", tail)
		}
	})
}
