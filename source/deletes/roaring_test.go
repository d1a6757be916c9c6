package deletes

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/lakescan/lakescan/parquet/rowsel"
)

const corpus = "../../../shared/corpus"

func positions(s rowsel.Selection) []int64 {
	var out []int64
	for from, to := range s.Ranges(math.MaxInt64) {
		for r := from; r < to; r++ {
			out = append(out, r)
		}
	}
	return out
}

// corpusRoot is the corpus beside the repository.
func corpusRoot(t testing.TB) string {
	if _, err := os.Stat(filepath.Join(corpus, "manifest.json")); err != nil {
		t.Fatal("no corpus: ", err)
	}
	return corpus
}

func TestCorpusBitmaps(t *testing.T) {
	t.Parallel()
	root := corpusRoot(t)
	raw, err := os.ReadFile(filepath.Join(root, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Cases []struct {
			ID, Kind, Path string
			Expected       struct {
				Outcome         string
				Cardinality     int64
				PositionsSHA256 string `json:"positions_sha256"`
			}
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range m.Cases {
		if c.Expected.Outcome != "positions" {
			continue
		}
		n++
		blob, err := os.ReadFile(filepath.Join(root, c.Path))
		if err != nil {
			t.Fatal(err)
		}
		parse := parseVector
		if len(blob) < vectorFrame || binary.BigEndian.Uint32(blob) != uint32(len(blob)-8) {
			parse = parseRoaring
		}
		r, err := parse(blob)
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		h := sha256.New()
		for _, p := range positions(r.selection()) {
			fmt.Fprintf(h, "%d\n", p)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != c.Expected.PositionsSHA256 || r.cardinality != c.Expected.Cardinality {
			t.Errorf("%s: %d positions, digest %s", c.ID, r.cardinality, got)
		}
	}
	if n < 4 {
		t.Errorf("only %d bitmaps in the corpus", n)
	}
}

// write serializes by the library.
func write(t testing.TB, rows []uint64, optimize bool) []byte {
	t.Helper()
	b := roaring64.New()
	b.AddMany(rows)
	if optimize {
		b.RunOptimize()
	}
	out, err := b.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// frame wraps a bitmap as a deletion vector.
func frame(bitmap []byte) []byte {
	body := append(vectorMagic[:], bitmap...)
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	out = append(out, body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
}

func rowPatterns() map[string][]uint64 {
	rng := rand.New(rand.NewPCG(1, 2))
	p := map[string][]uint64{"empty": nil, "zero": {0}, "edges": {0, 65535, 65536, 131071, 1<<32 - 1, 1 << 32, 1<<40 + 7, 1<<62 + 3}}
	for name, step := range map[string]uint64{"all": 1, "half": 2, "sparse": 1000, "container ends": 65535} {
		for r := uint64(0); r < 300_000*min(step, 100); r += step {
			p[name] = append(p[name], r)
		}
	}
	for i := range 20 {
		var rows []uint64
		at := rng.Uint64N(1 << (10 + i))
		for range 5000 {
			at += 1 + rng.Uint64N(1<<rng.UintN(14))
			for range 1 + rng.UintN(1<<rng.UintN(8)) {
				rows = append(rows, at)
				at++
			}
		}
		p[fmt.Sprint("random ", i)] = rows
	}
	return p
}

func TestRoaringAgainstTheLibrary(t *testing.T) {
	t.Parallel()
	for name, rows := range rowPatterns() {
		for _, optimize := range []bool{false, true} {
			r, err := parseVector(frame(write(t, rows, optimize)))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if r.cardinality != int64(len(rows)) {
				t.Errorf("%s: cardinality %d, want %d", name, r.cardinality, len(rows))
			}
			s := r.selection()
			got := positions(s)
			if !slices.EqualFunc(got, rows, func(a int64, b uint64) bool { return uint64(a) == b }) {
				t.Errorf("%s, runs %v: %d positions, want %d", name, optimize, len(got), len(rows))
			}
			if s.Bytes() > r.bytes()+64 {
				t.Errorf("%s: selection of %d bytes, %d foretold", name, s.Bytes(), r.bytes())
			}
		}
	}
}

func TestL08_VectorChecks(t *testing.T) {
	t.Parallel()
	good := frame(write(t, []uint64{1, 5, 9}, false))
	edit := func(f func(b []byte) []byte) []byte { return f(slices.Clone(good)) }
	for name, blob := range map[string][]byte{
		"bad CRC":        edit(func(b []byte) []byte { b[len(b)-1]++; return b }),
		"flipped bitmap": edit(func(b []byte) []byte { b[20]++; return b }),
		"bad magic":      edit(func(b []byte) []byte { b[4]++; return b }),
		"bad length":     edit(func(b []byte) []byte { b[3]++; return b }),
		"cut":            good[:len(good)-1],
		"tail":           append(slices.Clone(good), 0),
		"nothing":        {},
		"frame only":     frame(nil),
		"bytes after":    frame(append(write(t, []uint64{1}, false), 0)),
	} {
		if _, err := DecodeVector(blob); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := DecodeVector(good)
	if err != nil || !slices.Equal(positions(s), []int64{1, 5, 9}) {
		t.Errorf("good vector: %v, %v", s, err)
	}
	r, err := parseVector(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cardinality, rows int64
		ok                bool
	}{{3, 10, true}, {-1, -1, true}, {4, 10, false}, {2, 10, false}, {3, 9, false}} {
		if err := checkVector(r, c.cardinality, c.rows); (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrCorrupt) {
			t.Errorf("cardinality %d, rows %d: %v", c.cardinality, c.rows, err)
		}
	}
}

func BenchmarkVector(b *testing.B) {
	for _, c := range []struct {
		name string
		step uint64
	}{{"half", 2}, {"sparse", 1000}} {
		var rows []uint64
		for r := uint64(0); r < 6_000_000; r += c.step {
			rows = append(rows, r)
		}
		blob := frame(write(b, rows, true))
		b.Run(c.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(blob)))
			for b.Loop() {
				if _, err := DecodeVector(blob); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/library", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(blob)))
			for b.Loop() {
				m := roaring64.New()
				if err := m.UnmarshalBinary(blob[8 : len(blob)-4]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
