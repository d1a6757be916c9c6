package wildcard

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, s string
		want    bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "a/b/c", true},
		{"?", "", false},
		{"?", "ab", false},
		{"a*c", "abc", true},
		{"a*c", "ac", true},
		{"a*c", "acd", false},
		{"*.parquet", "data/x.parquet", true},
		{"*ab*ab", "abxab", true},
		{"*ab*ab", "ab", false},
		{"a**b?", "axxbc", true},
		{"[a]", "a", false}, // no classes
		{strings.Repeat("*a", 50), strings.Repeat("a", 5000) + "b", false},
	} {
		if got := Match(c.glob, c.s); got != c.want {
			t.Errorf("Match(%q, %.20q) = %v", c.glob, c.s, got)
		}
	}
}
