package main

import (
	"strings"
	"testing"
)

func TestOpenNetsRefuses(t *testing.T) {
	for _, c := range []struct {
		specs []string
		say   string
	}{
		{[]string{"A"}, "want NAME=NET"},
		{[]string{"A="}, "want NAME=NET"},
		{[]string{"A=random-weights:1:2x1", "A=x"}, "given twice"},
		{[]string{"C=x"}, "does not name C"},
		{[]string{"A=random-weights:1:2x1"}, "say with --net B=NET"},
		{[]string{"A=none", "B=none"}, "--net A: "},
	} {
		if _, err := openNets(c.specs, map[string]float64{"A": 1, "B": 1}); exitCode(err) != exitUsage || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%q: %v, want %q", c.specs, err, c.say)
		}
	}
}
