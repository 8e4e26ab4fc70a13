// Package typo asks what was meant by a word that is none of those that there are: a name
// of a command, flag, field or stage, or a word of an enum.
package typo

import (
	"slices"
	"strings"
)

// Meant asks whether some of the names were meant by a word that is none of them: those that
// begin with it, else the nearest ones, of two letters' difference at most; "" = none was.
func Meant[S ~string](word string, names ...S) string {
	var near []string
	word = strings.ToLower(word)
	for n := 0; n <= min(2, len(strings.TrimLeft(word, "-"))/2) && word != "" && len(near) == 0; n++ {
		for _, name := range names {
			if lower := strings.ToLower(string(name)); (strings.HasPrefix(lower, word) || within(n, word, lower)) && !slices.Contains(near, string(name)) {
				near = append(near, string(name))
			}
		}
	}
	if len(near) == 0 || len(near) > 4 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// within says whether n letters put in, left out or replaced turn a into b.
func within(n int, a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if a == "" || b == "" || n == 0 {
		return len(a)+len(b) <= n
	}
	return within(n-1, a[1:], b[1:]) || within(n-1, a[1:], b) || within(n-1, a, b[1:])
}
