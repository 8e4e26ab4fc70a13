package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
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
}

// TestBenchPlay holds which measurements the commands about games make.
func TestBenchPlay(t *testing.T) {
	both := 1
	if kernel.HasBF16() {
		both = 2
	}
	quick := strings.Fields("--games 2 --duration 1ns --cache 100")
	for args, lines := range map[string]int{
		"search --visits 3":                       1,
		"search --simulations 3 --evaluator hash": 1,
		"search": 2, // 100 and 800 visits
		"search --visits 2 --evaluator net --net 8x1":               both,
		"selfplay --visits 2 --net 8x1":                             both,
		"selfplay --visits 2 --net 8x1 --precision fp32":            1,
		"selfplay --simulations 2 --evaluator constant --workers 2": 1,
	} {
		out, err := benchOutput(append(strings.Fields(args), append(quick, "--json")...)...)
		if err != nil || strings.Count(out, "\n") != lines {
			t.Errorf("%s: %d lines, want %d; %v", args, strings.Count(out, "\n"), lines, err)
		}
		for line := range strings.Lines(out) {
			var v struct {
				Evaluator   string  `json:"evaluator"`
				Net         string  `json:"net"`
				Simulations int     `json:"simulations"`
				Games       int     `json:"games"`
				Clock       string  `json:"clock"`
				Ratio       float64 `json:"ratio"`
				Moves       float64 `json:"moves_per_cpu_s"`
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%s: line %q: %v", args, line, err)
			}
			net, selfplay := v.Net == "8x1-se", strings.HasPrefix(args, "selfplay")
			if v.Simulations < 2 || v.Games != 2 || v.Clock != bench.Clock || v.Moves < 0 || net != (v.Evaluator == "net") || (v.Ratio > 0) != (net && selfplay) {
				t.Errorf("%s: %+v", args, v)
			}
		}
		text, err := benchOutput(append(strings.Fields(args), quick...)...)
		if err != nil || !strings.Contains(text, " evaluator") || !strings.Contains(text, "\n  moves ") {
			t.Errorf("%s: %v:\n%s", args, err, text)
		}
	}
}

// TestBenchProfile: the file is a profile.
func TestBenchProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu.pprof")
	if _, err := benchOutput("search", "--visits", "2", "--games", "2", "--duration", "1ns", "--cpu-profile", path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(data, []byte("\x1f\x8b")) { // gzip, as pprof writes it
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// TestBenchNetFile measures a net file.
func TestBenchNetFile(t *testing.T) {
	arch := nntest.Named("8x1-plain")
	path := filepath.Join(t.TempDir(), "a.safetensors")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(nn.WriteSafetensors(f, nn.Init(arch, 5), nil), f.Close()); err != nil {
		t.Fatal(err)
	}
	out, err := benchOutput("selfplay", "--net", path, "--visits", "2", "--games", "2", "--duration", "1ns", "--precision", "fp32", "--json")
	if err != nil || !strings.Contains(out, `"net":"8x1-plain"`) {
		t.Errorf("%v: %s", err, out)
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
		{"selfplay", "--net", "none.safetensors"},
		{"selfplay", "--visits", "3", "--simulations", "3"},
		{"selfplay", "--pools", "3"},
		{"search", "--visits", "0"},
		{"search", "--evaluator", "oracle"},
		{"search", "--workers", "0"},
		{"search", "--cache", "-1"},
		{"search", "--cpu-profile", "no/such/directory"},
	} {
		out, err := benchOutput(args...)
		if exitCode(err) != exitUsage {
			t.Errorf("%q: error %v gives exit code %d, output %q", args, err, exitCode(err), out)
		}
	}
}
