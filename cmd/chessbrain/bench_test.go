package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// benchOutput runs `chessbrain bench` with arguments.
func benchOutput(args ...string) (string, error) {
	root := newRoot()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(append([]string{"bench"}, args...))
	err := root.Execute()
	return out.String(), err
}

func TestBenchJSON(t *testing.T) {
	small := []string{"--net", "16x1", "--batch", "2", "--duration", "1ns", "--json"}
	kernels := 9
	if kernel.HasBF16() {
		kernels += 5 // convolutions in bf16 too
	}
	for command, lines := range map[string]int{"kernels": kernels, "kernels --precision fp32": 9, "infer": 1, "train": 1} {
		out, err := benchOutput(append(strings.Fields(command), small...)...)
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		if n := strings.Count(out, "\n"); n != lines {
			t.Errorf("%s: %d lines, want %d", command, n, lines)
		}
		for line := range strings.Lines(out) {
			var v struct {
				Net       string  `json:"net"`
				Batch     int     `json:"batch"`
				Precision string  `json:"precision"`
				Speed     float64 `json:"boards_per_s"`
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil || v.Net != "16x1-se" || v.Batch != 2 || v.Precision == "" || !(v.Speed > 0) {
				t.Errorf("%s: line %q, %v", command, line, err)
			}
		}
	}
	out, err := benchOutput("selfplay", "--net", "8x1", "--games", "2", "--simulations", "2", "--duration", "1ns", "--json")
	if err != nil || !json.Valid([]byte(out)) {
		t.Errorf("selfplay: %q, %v", out, err)
	}
}

func TestBenchTables(t *testing.T) {
	out, err := benchOutput("infer", "--net", "16x1", "--duration", "1ns")
	if err != nil || !strings.Contains(out, "16x1-se") || !strings.Contains(out, "boards/s") {
		t.Errorf("infer: %q, %v", out, err)
	}
	if testing.Short() {
		t.Skip("the whole bench takes a second")
	}
	out, err = benchOutput("--duration", "1ns")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf("signature %016x\n", mcts.Signature()), "\nsearch ", "\nconv3 64>64 fp32 ", "\ninference ", "\ntraining step "}
	for _, w := range want {
		if !strings.Contains("\n"+out, w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
}

func TestBenchRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--duration", "0s"},
		{"nonsense"},
		{"infer", "extra"},
		{"infer", "--net", "64"},
		{"infer", "--batch", "0"},
		{"infer", "--batch", "x"},
		{"train", "--threads", "-1"},
		{"train", "--precision", "fp8"},
		{"selfplay", "--precision", "fp8"},
		{"infer", "--tier", "generic", "--cpu-tier", "auto"},
		{"precision"},
		{"precision", "none"},
		{"precision", "--net-file", "none.safetensors"},
		{"precision", "--net-file", "x", "--positions", "0"},
		{"kernels", "--tier", "mmx"},
		{"kernels", "--duration", "-1s"},
		{"selfplay", "--games", "0"},
		{"selfplay", "--simulations", "0"},
		{"selfplay", "--net", "?"},
	} {
		out, err := benchOutput(args...)
		if exitCode(err) != exitUsage {
			t.Errorf("%q: error %v gives exit code %d, output %q", args, err, exitCode(err), out)
		}
	}
}
