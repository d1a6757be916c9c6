package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/lakescan/lakescan/failpoints"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/puffin"
	"github.com/lakescan/lakescan/internal/fakerest"
	"github.com/lakescan/lakescan/object"
)

// statisticsFile writes a Puffin file with blobs of the kinds, carrying over those of present that are of another kind.
func (l *lake) statisticsFile(ctx context.Context, name string, present *meta.StatisticsFile, kinds ...string) (meta.StatisticsFile, error) {
	var b bytes.Buffer
	w, err := puffin.NewWriter(&b)
	if err != nil {
		return meta.StatisticsFile{}, err
	}
	err = l.table.CarryOver(ctx, present, w, func(b puffin.Blob) bool { return !slices.Contains(kinds, b.Type) })
	if err != nil {
		return meta.StatisticsFile{}, err
	}
	for _, k := range kinds {
		if _, err := w.Add(puffin.Blob{Type: k, Fields: []int{1}, Snapshot: mustHead(l.t, l.base), Sequence: 1, Codec: puffin.Zstd}, []byte("content of "+k)); err != nil {
			return meta.StatisticsFile{}, err
		}
	}
	f, err := w.Close()
	if err != nil {
		return meta.StatisticsFile{}, err
	}
	path := "s3://warehouse/db/t/metadata/" + name
	l.store.Put(path, b.Bytes())
	return Describe(path, f), nil
}

func blobKinds(t testing.TB, m *meta.Metadata, snapshot int64) []string {
	s, err := statistics(m, snapshot)
	if err != nil || s == nil {
		t.Fatalf("statistics %v, %v", s, err)
	}
	var kinds []string
	for _, b := range s.Blobs {
		kinds = append(kinds, b.Type)
	}
	slices.Sort(kinds)
	return kinds
}

func TestStatistics(t *testing.T) {
	t.Parallel()
	l := created(t, fakerest.Config{}, "a")
	id := mustHead(t, l.base)
	set := func(ctx context.Context, base *meta.Metadata, name, kind string) (*meta.Metadata, error) {
		n := 0
		return l.table.SetStatistics(ctx, base, id, func(ctx context.Context, present *meta.StatisticsFile) (meta.StatisticsFile, error) {
			n++
			return l.statisticsFile(ctx, fmt.Sprintf("%s-%d.puffin", name, n), present, kind)
		})
	}
	m, err := set(t.Context(), l.base, "first", "theta")
	if err != nil {
		t.Fatal(err)
	}
	m, err = set(t.Context(), m, "second", "lakescan-index")
	if err != nil {
		t.Fatal(err)
	}
	if got := blobKinds(t, m, id); !slices.Equal(got, []string{"lakescan-index", "theta"}) {
		t.Errorf("blobs %v", got)
	}
	// Another writer that knew neither file comes in between request and look.
	l2, _ := failpoints.Scoped(t, t.Context(), "iceberg/commit_answer=1*call", func(ctx context.Context, _ string) error {
		f, err := l.statisticsFile(ctx, "rival.puffin", nil, "of-the-rival")
		if err != nil {
			return err
		}
		f.Snapshot = id
		rq := request{Requirements: []jsonMap{}, Updates: []jsonMap{{"action": "set-statistics", "snapshot-id": id, "statistics": statisticsJSON(f)}}}
		body, err := rq.bytes()
		if err != nil {
			return err
		}
		_, err = l.client.Post(t.Context(), ident, body)
		return err
	})
	m, err = set(l2, m, "third", "lakescan-index")
	if err != nil {
		t.Fatal(err)
	}
	if got := blobKinds(t, m, id); !slices.Equal(got, []string{"lakescan-index", "of-the-rival"}) {
		t.Errorf("blobs %v", got)
	}
	s, _ := statistics(m, id)
	if s.Path != "s3://warehouse/db/t/metadata/third-2.puffin" {
		t.Errorf("file %s", s.Path)
	}
	loc, err := object.ParseLocation("s3://warehouse/db/t/metadata/third-1.puffin")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.store.Read(t.Context(), loc, object.Whole, nil, object.ReadOptions{}); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("the file that lost is still there: %v", err)
	}
}

func TestStatisticsWithLostAnswers(t *testing.T) {
	t.Parallel()
	for _, script := range [][]string{{"apply", "ok"}, {"500", "ok"}, {"500", "apply", "ok"}} {
		synctest.Test(t, func(t *testing.T) {
			cfg, _ := flaky(script...)
			l := created(t, cfg, "a")
			l.arm()
			id := mustHead(t, l.base)
			m, err := l.table.SetStatistics(t.Context(), l.base, id, func(ctx context.Context, present *meta.StatisticsFile) (meta.StatisticsFile, error) {
				return l.statisticsFile(ctx, "x.puffin", present, "k")
			})
			if err != nil {
				t.Fatalf("%v: %v", script, err)
			}
			if got := blobKinds(t, m, id); !slices.Equal(got, []string{"k"}) {
				t.Errorf("%v: blobs %v", script, got)
			}
		})
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := flaky("500", "apply", "ok")
		l := created(t, cfg, "a")
		l.arm()
		m, err := l.table.SetProperties(t.Context(), l.base, map[string]string{"a": "1", "b": "2"})
		if err != nil {
			t.Fatal(err)
		}
		if m, err = l.table.SetProperties(t.Context(), m, nil, "a"); err != nil {
			t.Fatal(err)
		}
		if _, still := m.Properties["a"]; still || m.Properties["b"] != "2" {
			t.Errorf("properties %v", m.Properties)
		}
		if same, err := l.table.SetProperties(t.Context(), m, nil); err != nil || same != m {
			t.Errorf("nothing to do: %v", err)
		}
	})
}
