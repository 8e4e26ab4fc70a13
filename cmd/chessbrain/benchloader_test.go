package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/bench"
)

func TestBenchLoader(t *testing.T) {
	quick := []string{"loader", "--games", "2", "--duration", "1ns", "--store-mib", "8", "--reservoir", "300"}
	for _, mode := range []string{"rl", "sl"} {
		out, err := benchOutput(append(quick, "--mode", mode, "--json")...)
		if err != nil || strings.Count(out, "\n") != 2 {
			t.Fatalf("%s: %v: %s", mode, err, out)
		}
		for line := range strings.Lines(out) {
			var v struct {
				Mode   string  `json:"mode"`
				Clock  string  `json:"clock"`
				Chunks int     `json:"chunks"`
				Rate   float64 `json:"positions_per_cpu_s"`
				Planes float64 `json:"positions_per_cpu_s_planes"`
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil || v.Mode != mode || v.Chunks != 2 || v.Rate <= 0 || v.Planes <= 0 || v.Clock != bench.Clock {
				t.Errorf("%s: %+v, %v", mode, v, err)
			}
		}
	}
	out, err := benchOutput(quick...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rl from own games, transcoded once: 2 chunks of ", "\n  positions ", " with float32 planes\n", "\n  store ", "\n  heap "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, args := range [][]string{
		{"loader", "--mode", "x"}, {"loader", "--games", "0"}, {"loader", "--dir", "no/such/directory"}, {"loader", "--store-mib", "0"}, {"loader", "--reservoir", "0"},
		{"loader", "--duration", "0s"}, {"loader", "extra"}, {"loader", "--games", "1", "--cpu-profile", "no/such/directory"},
	} {
		if out, err := benchOutput(args...); exitCode(err) != exitUsage {
			t.Errorf("%q: error %v gives exit code %d, output %q", args, err, exitCode(err), out)
		}
	}
}
