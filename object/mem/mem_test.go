package mem_test

import (
	"testing"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/object/objecttest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	objecttest.Run(t, func(t *testing.T) objecttest.Harness {
		root, err := object.ParseLocation("s3a://bucket/root")
		if err != nil {
			t.Fatal(err)
		}
		return objecttest.Harness{Store: mem.New(), Root: root}
	})
}

func TestSchemesNameOneObject(t *testing.T) {
	t.Parallel()
	s := mem.New()
	s.Put("s3a://b/k", []byte("x"))
	for _, text := range []string{"s3://b/k", "s3n://b/k", "S3://b/k"} {
		loc, err := object.ParseLocation(text)
		if err != nil {
			t.Fatal(err)
		}
		data, info, err := s.Read(t.Context(), loc, object.Whole, nil, object.ReadOptions{})
		if err != nil || string(data) != "x" || info.Location.Recorded != text {
			t.Errorf("%s: %q, %+v, %v", text, data, info, err)
		}
	}
}
