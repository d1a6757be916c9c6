package inflate

import (
	"bytes"
	stdflate "compress/flate"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
)

// pack with one of the two writers.
func pack(t testing.TB, data []byte, level int, std bool) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	if std {
		w, err = stdflate.NewWriter(&b, level)
	} else {
		w, err = flate.NewWriter(&b, level)
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// samples are texts of different kinds.
func samples() map[string][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	noise, few, runs := make([]byte, 200_000), make([]byte, 100_000), make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for i := range few {
		few[i] = byte(r.ExpFloat64() * 9)
	}
	for i := 0; i < len(runs); {
		n, b := 1+r.IntN(700), byte(r.Uint32())
		for ; n > 0 && i < len(runs); n, i = n-1, i+1 {
			runs[i] = b
		}
	}
	skew := make([]byte, 0, 300_000) // codes of every length: a symbol half as often as the last
	for s, n := byte(0), 1<<17; n > 0; s, n = s+1, n/2 {
		skew = append(skew, bytes.Repeat([]byte{s}, n)...)
	}
	r.Shuffle(len(skew), func(i, j int) { skew[i], skew[j] = skew[j], skew[i] })
	return map[string][]byte{
		"nothing": nil, "one byte": {7}, "noise": noise, "few": few, "runs": runs, "skew": skew, "zeros": make([]byte, 1_000_000),
		"text":         []byte(strings.Repeat("the quick brown fox ", 5000)),
		"short period": bytes.Repeat([]byte("abc"), 20_000), "far": append(append(bytes.Clone(noise[:32768]), noise[:32768]...), few...),
	}
}

func TestWhatOthersPacked(t *testing.T) {
	t.Parallel()
	var d Decoder
	var buf []byte
	for name, want := range samples() {
		for _, std := range []bool{false, true} {
			for level := stdflate.HuffmanOnly; level <= stdflate.BestCompression; level++ {
				got, err := d.Append(buf, pack(t, want, level, std), 1<<20)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s, level %d, standard library %v: %d bytes of %d, %v", name, level, std, len(got), len(want), err)
				}
				buf = got
			}
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	var d Decoder
	data := make([]byte, 1_000_000)
	for _, level := range []int{0, 6} {
		packed := pack(t, data, level, true)
		if _, err := d.Append(nil, packed, len(data)); err != nil {
			t.Errorf("level %d, the very size: %v", level, err)
		}
		for _, limit := range []int{0, 1, 1000, len(data) - 1} {
			if _, err := d.Append(nil, packed, limit); !errors.Is(err, ErrTooLong) {
				t.Errorf("level %d, limit %d: %v", level, limit, err)
			}
		}
	}
	if got, err := d.Append(nil, append(pack(t, []byte("x"), 6, true), "more"...), 10); err != nil || string(got) != "x" {
		t.Errorf("bytes after the end: %q, %v", got, err)
	}
}

// Every stream that is cut off is an error, and never a panic.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	var d Decoder
	for name, data := range samples() {
		for _, level := range []int{0, 1, 6} {
			packed := pack(t, data[:min(len(data), 3000)], level, true)
			for n := range packed {
				if _, err := d.Append(nil, packed[:n], 1<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("%s, level %d, %d of %d bytes: %v", name, level, n, len(packed), err)
				}
			}
		}
	}
}

// FuzzInflate: the standard library is the judge of what is a stream, and of what it holds. Memory stays in proportion.
func FuzzInflate(f *testing.F) {
	for _, data := range samples() {
		for _, level := range []int{stdflate.HuffmanOnly, 0, 1, 9} {
			f.Add(pack(f, data[:min(len(data), 2000)], level, true))
		}
	}
	const limit = 1 << 20
	var d Decoder
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := d.Append(nil, data, limit)
		runtime.ReadMemStats(&after)
		if most := uint64(4*len(got) + 12*len(data) + 1<<18); after.TotalAlloc-before.TotalAlloc > most {
			t.Fatalf("%d bytes allocated for %d that became %d", after.TotalAlloc-before.TotalAlloc, len(data), len(got))
		}
		want, wantErr := io.ReadAll(io.LimitReader(stdflate.NewReader(bytes.NewReader(data)), limit+1))
		if len(want) > limit {
			if !errors.Is(err, ErrTooLong) && wantErr == nil {
				t.Fatalf("too long, but %v", err)
			}
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, the standard library: %v", err, wantErr)
		}
		if err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, the standard library has %d others", len(got), len(want))
		}
	})
}

func BenchmarkInflate(b *testing.B) {
	for _, c := range []struct {
		name string
		data []byte
	}{{"text", samples()["text"]}, {"few", samples()["few"]}} {
		packed := pack(b, c.data, 6, false)
		b.Run(c.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.data)))
			var d Decoder
			var buf []byte
			for b.Loop() {
				var err error
				if buf, err = d.Append(buf, packed, 1<<20); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/library", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.data)))
			r := flate.NewReader(nil)
			buf := make([]byte, len(c.data))
			for b.Loop() {
				if err := r.(flate.Resetter).Reset(bytes.NewReader(packed), nil); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(r, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
