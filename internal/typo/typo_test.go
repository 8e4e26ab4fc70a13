package typo

import (
	"strings"
	"testing"
)

// What was meant begins so, or is what is nearest; nothing where all may be.
func TestMeant(t *testing.T) {
	for _, c := range []struct{ word, names, want string }{
		{"shufle", "select shuffle shuffled", "shuffle"},
		{"trian", "train run gain", "train"},
		{"gate", "gatekeeper rating date", "gatekeeper"},
		{"TSET", "tests Test best rset", "rset"}, {"wight", "weight width night", "weight or night"},
		{"--lr", "--lrs --l --lrs", "--lrs"},
		{"Same", "same", "same"},
		{"ab", "xy cd", ""}, {"", "a b", ""}, {"c", "c1 c2 c3 c4 c5", ""}, {"dance", "gatekeeper rating", ""},
	} {
		want := c.want
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got := Meant(c.word, strings.Fields(c.names)...); got != want {
			t.Errorf("%q of %s: %q, want %q", c.word, c.names, got, want)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		n    int // letters
	}{{"", "", 0}, {"a", "", 1}, {"ab", "ba", 2}, {"abc", "axc", 1}, {"abcd", "bcde", 2}, {"kitten", "sitting", 3}, {"aab", "ab", 1}} {
		for n := range 5 {
			if within(n, c.a, c.b) != (n >= c.n) || within(n, c.b, c.a) != (n >= c.n) {
				t.Errorf("%q and %q within %d letters: %v", c.a, c.b, n, n < c.n)
			}
		}
	}
}
