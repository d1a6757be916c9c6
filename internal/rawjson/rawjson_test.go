package rawjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestObject(t *testing.T) {
	t.Parallel()
	in := ` { "a" : 1 , "b":"x\"}y", "c":[1,{"d":"]"},[ ]], "e\u0041":null,"f":{},"g":-1.5e3 } `
	want := map[string]string{"a": "1", "b": `"x\"}y"`, "c": `[1,{"d":"]"},[ ]]`, "eA": "null", "f": "{}", "g": "-1.5e3"}
	got := map[string]string{}
	for m, err := range Object([]byte(in)) {
		if err != nil {
			t.Fatal(err)
		}
		got[m.Key] = string(m.Value)
	}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s = %q, want %q", k, got[k], v)
		}
	}
}

func TestArray(t *testing.T) {
	t.Parallel()
	var got []string
	for v, err := range Array([]byte(`[ 1, "a,]", {"b":[]} ,null]`)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(v))
	}
	if s := strings.Join(got, "|"); s != `1|"a,]"|{"b":[]}|null` {
		t.Fatal(s)
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a" 1}`, `{a:1}`, `{"a":1}x`, `{"a":"x`, `{"a":"\"`,
		`{"a":[1}`, `[1]`, `{"a":}`, `{"a":,"b":1}`, `{"a":1 "b":2}`, `{,}`, `{"a":1,}`,
	} {
		var err error
		for _, e := range Object([]byte(in)) {
			err = e
		}
		if err == nil {
			t.Errorf("%q: no error", in)
		}
	}
}

// FuzzObject compares the cut of every valid document with encoding/json's.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":[{"b":"\\\""}],"c":{}}`, `{`, `[]`, "{\"\x00\":0}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got := map[string]json.RawMessage{}
		var failed error
		for m, err := range Object(in) {
			if err != nil {
				failed = err
				break
			}
			got[m.Key] = m.Value
		}
		want := map[string]json.RawMessage{}
		if json.Unmarshal(in, &want) != nil || want == nil || !json.Valid(in) {
			return
		}
		if failed != nil {
			t.Fatalf("valid document refused: %v", failed)
		}
		for k, v := range want {
			if g, ok := got[k]; ok && string(g) != string(v) {
				t.Fatalf("%q: %q, want %q", k, g, v)
			}
		}
	})
}
