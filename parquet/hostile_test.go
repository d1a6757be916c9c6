package parquet_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/page"
	pq "github.com/parquet-go/parquet-go"
	pqenc "github.com/parquet-go/parquet-go/encoding"
)

// meter is an allocator that knows its peak.
type meter struct {
	below     arrowmem.Allocator
	now, peak int
}

func (m *meter) note(d int) { m.now += d; m.peak = max(m.peak, m.now) }

func (m *meter) Allocate(n int) []byte { m.note(n); return m.below.Allocate(n) }

func (m *meter) Reallocate(n int, b []byte) []byte {
	m.note(n - len(b))
	return m.below.Reallocate(n, b)
}

func (m *meter) Free(b []byte) { m.note(-len(b)); m.below.Free(b) }

// readHostile reads a file that may be broken in any way, within bounds of memory and time. Errors must be of a class, and
// nothing may panic or leak.
func readHostile(t testing.TB, b []byte) error {
	t.Helper()
	const unit, maxPage = 1 << 20, 4 << 20
	mem := &meter{below: arrowmem.NewGoAllocator()}
	start := time.Now()
	rows := 0
	err := scan(t.Context(), b, readable, parquet.Options{Allocator: mem, UnitBytes: unit, MaxPage: maxPage}, func(rec arrow.RecordBatch) error {
		if rows += int(rec.NumRows()); rows > 1<<20 { // a few bytes may claim billions of equal rows
			return errEnough
		}
		return nil
	})
	if spent := time.Since(start); spent > 20*time.Second {
		t.Fatalf("%v for %d bytes and %d rows: %v", spent, len(b), rows, err)
	}
	if mem.now != 0 {
		t.Fatalf("%d bytes are still held: %v", mem.now, err)
	}
	if limit := 8*len(b) + 64*unit + 8*maxPage; mem.peak > limit {
		t.Fatalf("%d bytes at once for a file of %d: %v", mem.peak, len(b), err)
	}
	for peak := int64(mem.peak); ; {
		if was := hostilePeak.Load(); peak <= was || hostilePeak.CompareAndSwap(was, peak) {
			break
		}
	}
	if err == nil || errors.Is(err, errEnough) {
		return nil
	}
	var c *parquet.CorruptError
	if errors.As(err, &c) && c.Stack != nil {
		t.Fatalf("%v\n%s", err, c.Stack)
	}
	if !errors.Is(err, parquet.ErrCorrupt) && !errors.Is(err, parquet.ErrUnsupported) && !errors.Is(err, parquet.ErrTooLarge) {
		t.Fatalf("error without a class: %v", err)
	}
	return err
}

var errEnough = errors.New("enough rows")

// mutate changes a few bytes: flips, random bytes, copied or deleted pieces, small and huge varints.
func mutate(rnd *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + rnd.IntN(3) {
		if len(b) < 16 {
			return b
		}
		at := rnd.IntN(len(b))
		if rnd.IntN(2) == 0 { // the footer is where it hurts
			at = len(b) - 1 - rnd.IntN(min(len(b), 1500))
		}
		switch rnd.IntN(5) {
		case 0:
			b[at] ^= 1 << rnd.IntN(8)
		case 1:
			b[at] = byte(rnd.Uint32())
		case 2:
			n := min(rnd.IntN(20), len(b)-at)
			b = slices.Delete(b, at, at+n)
		case 3:
			b = slices.Insert(b, at, b[at:min(len(b), at+rnd.IntN(20))]...)
		case 4:
			copy(b[at:], binary.AppendUvarint(nil, rnd.Uint64()>>rnd.IntN(64)))
		}
	}
	return b
}

// mutations is how many mutated files TestL52_MutationsOfEveryFile reads, all together: LAKESCAN_MUTATIONS, or a few of each file.
func mutations(files int) (rounds int) {
	all, _ := strconv.Atoi(os.Getenv("LAKESCAN_MUTATIONS"))
	switch {
	case all > 0:
		return (all + files - 1) / files
	case testing.Short():
		return 4
	}
	return 40
}

// TestL52_MutationsOfEveryFile: no panic, no hang, no leak, no allocation beyond reason, whatever is broken. The log says how many
// files were read, how they ended, and the most that arrays took at once.
func TestL52_MutationsOfEveryFile(t *testing.T) {
	t.Parallel()
	m := canon.Corpus(t)
	files := map[string][]byte{}
	for _, c := range m.Select(canon.ParquetGood, canon.ParquetBad) {
		b, err := m.File(c)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) <= 60000 && !strings.HasPrefix(c.ID, "pt-variant") {
			files[c.ID] = b
		}
	}
	rounds := mutations(len(files))
	var read, failed atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d mutations of %d files: %d errors, %d read; at most %d bytes of arrays at once", read.Load(), len(files), failed.Load(), read.Load()-failed.Load(), hostilePeak.Load())
	})
	for id, b := range files {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(52, uint64(len(b))))
			for range rounds {
				read.Add(1)
				if readHostile(t, mutate(rnd, b)) != nil {
					failed.Add(1)
				}
			}
		})
	}
}

// hostilePeak is the most that arrays of one file took.
var hostilePeak atomic.Int64

func FuzzFile(f *testing.F) {
	m := canon.Corpus(f)
	for _, c := range m.Select(canon.ParquetGood, canon.ParquetBad) {
		if b, err := m.File(c); err == nil && len(b) < 8000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = readHostile(t, b)
	})
}

// TestQ8_EveryFlipIsSeen: any flipped bit in a page body with a checksum is an error, for every codec.
func TestQ8_EveryFlipIsSeen(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(8, 8))
	values := make([]pq.Value, 300)
	for i := range values {
		if i%5 != 0 {
			values[i] = pq.ByteArrayValue([]byte(words[rnd.IntN(len(words))]))
		}
	}
	for _, codec := range matrixCodecs {
		for _, enc := range []pqenc.Encoding{&pq.Plain, &pq.RLEDictionary, &pq.DeltaByteArray} {
			for _, version := range []int{1, 2} {
				t.Run(fmt.Sprintf("%v/%v/v%d", codec, enc, version), func(t *testing.T) {
					t.Parallel()
					b, err := writeMatrix(values, pq.ByteArrayType, enc, codec, true, version, 1<<20)
					if err != nil {
						t.Fatal(err)
					}
					everyFlip(t, b)
				})
			}
		}
	}
}

var words = []string{"a", "flip", "of any bit", "in a page body", "with a checksum", "is an error", ""}

func everyFlip(t *testing.T, b []byte) {
	t.Helper()
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Bind(all(f.Schema()), nil, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	flips := 0
	for _, rng := range r.Ranges(0, parquet.PartRest, parquet.RowSelection{}, parquet.Cost{}) {
		flips += flipRange(t, r, 0, b, rng)
	}
	if flips < 100 {
		t.Errorf("only %d flips", flips)
	}
}

// flipRange flips one bit of every byte of the page bodies in a range.
func flipRange(t *testing.T, r *parquet.Reader, rg int, b []byte, rng parquet.Range) (flips int) {
	t.Helper()
	file := slices.Clone(b)
	for at := rng.Off; at < rng.Off+rng.Len; {
		var p page.Page
		n, err := page.Read(b[at:rng.Off+rng.Len], at, &p)
		if err != nil || !p.HasCRC {
			t.Fatalf("page at %d: %v, checksum %v", at, err, p.HasCRC)
		}
		for i := at + int64(n) - int64(p.CompressedSize); i < at+int64(n); i++ {
			bit := byte(1) << (i % 8)
			file[i] ^= bit
			err := scanGroup(t.Context(), r, rg, parquet.RowSelection{}, whole(file), func(arrow.RecordBatch) error { return nil })
			if !errors.Is(err, parquet.ErrCorrupt) {
				t.Fatalf("flip at %d: %v", i, err)
			}
			file[i] ^= bit
			flips++
		}
		at += int64(n)
	}
	return flips
}

// TestErrorsNamePlace: an error says row group, column, page and offset.
func TestErrorsNamePlace(t *testing.T) {
	t.Parallel()
	b := canonFile(t, "own-bad-flipped-byte-zstd-crc")
	err := readHostile(t, b)
	var c *parquet.CorruptError
	if !errors.As(err, &c) || c.RowGroup < 0 || c.Column == "" || c.Page < 0 || c.Offset <= 0 {
		t.Errorf("%v: %+v", err, c)
	}
}

// TestBomb: a page that claims to be huge is refused before memory is taken for it.
func TestBomb(t *testing.T) {
	t.Parallel()
	b := canonFile(t, "own-constant-columns")
	err := scan(t.Context(), b, all, parquet.Options{MaxPage: 100}, func(arrow.RecordBatch) error { return nil })
	var large *parquet.TooLargeError
	if !errors.As(err, &large) || large.Need <= 100 || large.Budget != 100 || large.Column == "" {
		t.Errorf("%v", err)
	}
}

// TestQ7_NoGoroutines: decoding starts none.
func TestQ7_NoGoroutines(t *testing.T) {
	b := canonFile(t, "own-codec-zstd-v1")
	before := runtime.NumGoroutine()
	err := scan(t.Context(), b, all, parquet.Options{}, func(arrow.RecordBatch) error {
		if n := runtime.NumGoroutine(); n > before {
			return fmt.Errorf("%d goroutines, %d before", n, before)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := canonFile(t, "own-codec-zstd-v1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, leaks := checked(t, parquet.Options{})
	if err := scan(ctx, b, all, o, func(arrow.RecordBatch) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	leaks()
}
