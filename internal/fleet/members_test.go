package fleet

import (
	"strings"
	"testing"
	"time"
)

// TestNamesOfMembers: letters of any script, up to 40 of them, begin with one or a digit.
func TestNamesOfMembers(t *testing.T) {
	for name, good := range map[string]bool{
		"a": true, "7": true, "ana@home.org": true, "Łucja_2-x": true, strings.Repeat("é", 40): true,
		"": false, ".a": false, "-a": false, "a b": false, "a/b": false, "a\n": false, "\xff": false, strings.Repeat("a", 41): false,
	} {
		var m Members
		if _, err := m.Invite(name, time.Now()); (err == nil) != good || len(m.List) == 1 != good {
			t.Errorf("%q: %d members, error %v; want it to be good: %t", name, len(m.List), err, good)
		}
	}
}
