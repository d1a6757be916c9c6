package resolve

import "testing"

func TestErrorNamesEachThingOnce(t *testing.T) {
	for want, e := range map[string]*Error{
		`resolve: f: column "a.b" (id 3): why`: {File: "f", Field: []string{"a", "b"}, ID: 3, Reason: "why"},
		`resolve: f: column "a": why`:          {File: "f", Field: []string{"a"}, ID: madeUpID + 1, Reason: "why"},
		`resolve: why`:                         {Reason: "why"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
