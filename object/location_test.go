package object_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/object"
)

func TestParseLocation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, scheme, bucket, key string }{
		{"s3://b/k", "s3", "b", "k"},
		{"S3A://b/k", "s3a", "b", "k"},
		{"s3n://b//k//", "s3n", "b", "/k//"},
		{"s3://b", "s3", "b", ""},
		{"s3://b/", "s3", "b", ""},
		{"s3://b/a%20b+c?d=e#f/../g/./h", "s3", "b", "a%20b+c?d=e#f/../g/./h"},
		{"s3://b/ts=2020-01-01T10:30:00", "s3", "b", "ts=2020-01-01T10:30:00"},
		{"gs://b/k", "gs", "b", "k"},
		{"file:///a/b%20c", "file", "", "/a/b%20c"},
		{"file:/a/b", "file", "", "/a/b"},
		{"file://localhost/a", "file", "", "/a"},
		{"file://data/t/x.parquet", "file", "data", "/t/x.parquet"},
		{"/a/b c", "file", "", "/a/b c"},
		{"data/x.parquet", "", "", "data/x.parquet"},
		{"ts=10:30/x", "", "", "ts=10:30/x"},
		{"x:y", "", "", "x:y"},
		{"c:/windows", "", "", "c:/windows"},
	} {
		loc, err := object.ParseLocation(c.text)
		want := object.Location{Recorded: c.text, Scheme: c.scheme, Bucket: c.bucket, Key: c.key}
		if err != nil || loc != want {
			t.Errorf("%q: %#v, %v", c.text, loc, err)
		}
	}
}

func TestParseLocationRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "s3:///k", "s3:/b/k", "a\x00b", "s3a://AKIA:hush@bucket/k"} {
		loc, err := object.ParseLocation(text)
		if !errors.Is(err, object.ErrInvalid) {
			t.Errorf("%q: %#v, %v, want ErrInvalid", text, loc, err)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: the text %q shows the secret", text, err)
		}
	}
}

func TestLocationDerived(t *testing.T) {
	t.Parallel()
	parse := func(text string) object.Location {
		loc, err := object.ParseLocation(text)
		if err != nil {
			t.Fatal(err)
		}
		return loc
	}
	for _, c := range []struct{ got, want object.Location }{
		{parse("s3://b").Join("k"), parse("s3://b/k")},
		{parse("s3://b/t").Join("x//y"), parse("s3://b/t/x//y")},
		{parse("s3://b/t/").Join("x"), parse("s3://b/t/x")},
		{parse("file:///t").Join("x"), parse("file:///t/x")},
		{parse("t").Join("x"), parse("t/x")},
		{parse("s3a://b/t/x").WithKey("u/y"), parse("s3a://b/u/y")},
		{parse("s3://b").WithKey("u"), parse("s3://b/u")},
		{parse("file:/t/x").WithKey("/u"), parse("file:/u")},
	} {
		if c.got != c.want {
			t.Errorf("got %#v, want %#v", c.got, c.want)
		}
	}
	if a, b := parse("s3a://b/k").Canonical(), parse("s3n://b/k").Canonical(); a != b || a != "s3://b/k" {
		t.Errorf("canonical %q and %q", a, b)
	}
	if a, b := parse("file:/k").Canonical(), parse("/k").Canonical(); a != b {
		t.Errorf("canonical %q and %q", a, b)
	}
}

// Whatever text comes: it is refused, or kept to the byte; and what is derived from it opens what it says.
func FuzzLocation(f *testing.F) {
	for _, text := range []string{"s3://b/k", "s3a://b", "file:///a//b", "/x y", "rel/x", "x:y", "S3N://b/%2F?#"} {
		f.Add(text, "name/x")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		loc, err := object.ParseLocation(text)
		if err != nil {
			if !errors.Is(err, object.ErrInvalid) {
				t.Errorf("class of %v", err)
			}
			return
		}
		if loc.Recorded != text || (loc.Bucket != "" && !strings.HasSuffix(text, loc.Key)) {
			t.Errorf("%q became %#v", text, loc)
		}
		joined := loc.Join(name)
		again, err := object.ParseLocation(joined.Recorded)
		if err == nil && loc.Scheme != "" && again != joined {
			t.Errorf("%q joined with %q is %#v, parsed %#v", text, name, joined, again)
		}
	})
}
