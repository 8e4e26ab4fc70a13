package config

import (
	"slices"
	"strings"
	"testing"
)

// TestJoinWords: a switch that takes words takes them from the next argument, and
// nothing else.
func TestJoinWords(t *testing.T) {
	for args, want := range map[string]string{
		"train --amp bf16 --seed 3": "train --amp=bf16 --seed 3",
		"train --amp OFF":           "train --amp=OFF",
		"train --amp":               "train --amp",
		"train --amp --no-amp":      "train --amp --no-amp",
		"train --amp run":           "train --amp=run", // a wrong word
		"train --amp runs/a":        "train --amp runs/a",
		"train --no-amp off":        "train --no-amp off",
		"x -- --amp bf16":           "x -- --amp bf16",
		"":                          "",
	} {
		if got := JoinWords(strings.Fields(args)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q becomes %q, want %q", args, got, want)
		}
	}
}
