package puffin

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const corpus = "../../../shared/corpus"

// parse gives the footer piece by piece, as a reader over a network would.
func parse(t testing.TB, b []byte) (*File, error) {
	t.Helper()
	n := int64(1)
	for range 4 {
		f, missing, err := ParseFooter(b[int64(len(b))-n:], int64(len(b)))
		if err != nil || missing == 0 {
			return f, err
		}
		n += missing
	}
	t.Fatal("the footer is never complete")
	return nil, nil
}

func TestCorpusPuffin(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(corpus, "manifest.json"))
	if err != nil {
		t.Fatal("no corpus: ", err)
	}
	var m struct {
		Cases []struct {
			ID, Path string
			Expected json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range m.Cases {
		var want struct {
			Outcome    string
			Properties map[string]string
			Blobs      []map[string]any
		}
		if err := json.Unmarshal(c.Expected, &want); err != nil || want.Outcome != "puffin" {
			continue
		}
		n++
		b, err := os.ReadFile(filepath.Join(corpus, c.Path))
		if err != nil {
			t.Fatal(err)
		}
		f, err := parse(t, b)
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		if !reflect.DeepEqual(f.Properties, want.Properties) || len(f.Blobs) != len(want.Blobs) {
			t.Errorf("%s: %+v, want %+v", c.ID, f, want)
		}
		for i, blob := range f.Blobs {
			content, err := blob.Decode(b[blob.Offset:blob.Offset+blob.Length], 1<<20)
			if err != nil {
				t.Errorf("%s: %v", c.ID, err)
				continue
			}
			sum := sha256.Sum256(content)
			if text := fmt.Sprint(want.Blobs[i]); !strings.Contains(text, hex.EncodeToString(sum[:])) || want.Blobs[i]["type"] != blob.Type {
				t.Errorf("%s: blob %d %s of digest %x, want %s", c.ID, i, blob.Type, sum, text)
			}
		}
	}
	if n == 0 {
		t.Error("no Puffin file in the corpus")
	}
}

func sample(t testing.TB) ([]byte, *File) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	w.SetProperty("created-by", "test")
	for i, codec := range []string{Plain, LZ4, Zstd, Plain} {
		b := Blob{Type: fmt.Sprint("kind-", i), Fields: []int{i, 7}, Snapshot: 9007199254740993 + int64(i), Sequence: int64(i), Codec: codec, Properties: map[string]string{"k": "v"}}
		if i == 3 {
			b.Fields, b.Properties = nil, nil
		}
		if _, err := w.Add(b, []byte(strings.Repeat(fmt.Sprint("content ", i), 100*i))); err != nil {
			t.Fatal(err)
		}
	}
	f, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), f
}

func TestWrittenIsRead(t *testing.T) {
	t.Parallel()
	b, wrote := sample(t)
	f, err := parse(t, b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f, wrote) {
		t.Errorf("read %+v\nwrote %+v", f, wrote)
	}
	if f.Size != int64(len(b)) || string(b[f.Size-f.FooterSize:][:4]) != magic {
		t.Errorf("sizes %d, %d", f.Size, f.FooterSize)
	}
	for i, blob := range f.Blobs {
		stored := b[blob.Offset : blob.Offset+blob.Length]
		content, err := blob.Decode(stored, 1<<20)
		if err != nil || string(content) != strings.Repeat(fmt.Sprint("content ", i), 100*i) {
			t.Errorf("blob %d: %d bytes, %v", i, len(content), err)
		}
		if blob.Codec != Plain || i == 3 {
			if _, err := blob.Decode(stored, int64(len(content))-1); !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrCorrupt) {
				t.Errorf("blob %d over the limit: %v", i, err)
			}
		}
		if _, err := blob.Decode(append(slices.Clone(stored), 0), 1<<20); !errors.Is(err, ErrCorrupt) {
			t.Errorf("blob %d with a byte too many: %v", i, err)
		}
	}
	again, _ := sample(t)
	if !bytes.Equal(b, again) {
		t.Error("the same blobs gave other bytes")
	}
}

func TestBlobsAreCarriedOverUnchanged(t *testing.T) {
	t.Parallel()
	b, f := sample(t)
	var out bytes.Buffer
	w, err := NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	unknown := Blob{Type: "of-the-future", Codec: "brotli", Fields: []int{1}}
	if _, err := w.AddStored(unknown, []byte("whatever")); err != nil {
		t.Fatal(err)
	}
	for _, blob := range f.Blobs {
		if _, err := w.AddStored(blob, b[blob.Offset:blob.Offset+blob.Length]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	g, err := parse(t, out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i, blob := range f.Blobs {
		got := g.Blobs[i+1]
		if !bytes.Equal(out.Bytes()[got.Offset:got.Offset+got.Length], b[blob.Offset:blob.Offset+blob.Length]) {
			t.Errorf("blob %d changed", i)
		}
		got.Offset = blob.Offset
		if !reflect.DeepEqual(got, blob) {
			t.Errorf("blob %d is described as %+v, was %+v", i, got, blob)
		}
	}
	if _, err := g.Blobs[0].Decode([]byte("whatever"), 100); !errors.Is(err, ErrUnsupported) {
		t.Errorf("unknown codec: %v", err)
	}
}

// footer makes a file of four bytes of blobs and the text as its footer.
func footer(text string, flags uint32) []byte {
	b := []byte(magic + "blob" + magic + text)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, flags)
	return append(b, magic...)
}

func TestPackedFooter(t *testing.T) {
	t.Parallel()
	text, err := pack(LZ4, []byte(`{"blobs":[{"type":"t","fields":[1],"snapshot-id":1,"sequence-number":1,"offset":4,"length":4}]}`))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse(t, footer(string(text), flagPacked))
	if err != nil || len(f.Blobs) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestBrokenFooters(t *testing.T) {
	t.Parallel()
	blob := func(offset, length int64) string {
		return fmt.Sprintf(`{"blobs":[{"type":"t","fields":[1],"snapshot-id":1,"sequence-number":1,"offset":%d,"length":%d}]}`, offset, length)
	}
	good := footer(blob(4, 4), 0)
	if _, err := parse(t, good); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		b     []byte
		class error
	}{
		"empty":            {nil, ErrCorrupt},
		"short":            {[]byte("PFA1PFA1"), ErrCorrupt},
		"cut":              {good[:len(good)-1], ErrCorrupt},
		"no JSON":          {footer("x", 0), ErrCorrupt},
		"two objects":      {footer("{} {}", 0), ErrCorrupt},
		"blob before":      {footer(blob(0, 4), 0), ErrCorrupt},
		"blob beyond":      {footer(blob(4, 5), 0), ErrCorrupt},
		"blob overflow":    {footer(blob(5, 9223372036854775807), 0), ErrCorrupt},
		"negative length":  {footer(blob(4, -1), 0), ErrCorrupt},
		"fraction":         {footer(`{"blobs":[{"type":"t","offset":4.5}]}`, 0), ErrCorrupt},
		"unknown flag":     {footer("{}", 2), ErrUnsupported},
		"flag, not packed": {footer("{}", flagPacked), ErrCorrupt},
		"size of the file": {append(slices.Clone(good[:len(good)-12]), "\xff\xff\xff\x7f\x00\x00\x00\x00PFA1"...), ErrCorrupt},
		"negative size":    {append(slices.Clone(good[:len(good)-12]), "\xff\xff\xff\xff\x00\x00\x00\x00PFA1"...), ErrCorrupt},
		"inner magic":      {bytes.Replace(good, []byte("PFA1{"), []byte("PFA2{"), 1), ErrCorrupt},
	} {
		if _, _, err := ParseFooter(c.b, int64(len(c.b))); !errors.Is(err, c.class) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriterStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	whole := &failing{1000}
	w, err := NewWriter(whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Add(Blob{Type: "t"}, make([]byte, 60)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	size := 1000 - whole.after
	for after := range size + 10 {
		w, err := NewWriter(&failing{after})
		if err == nil {
			_, err = w.Add(Blob{Type: "t"}, make([]byte, 60))
			if _, cerr := w.Close(); err == nil {
				err = cerr
			} else if cerr == nil {
				t.Errorf("after %d bytes: Close forgets the error", after)
			}
		}
		if (err != nil) != (after < size) {
			t.Errorf("after %d bytes: %v", after, err)
		}
	}
}
