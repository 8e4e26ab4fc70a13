package main

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/nn"
)

// constantNet returns a small net of one number everywhere.
func constantNet(t *testing.T, arch string, v float32) *nn.Net {
	t.Helper()
	a, err := nn.ParseArch(arch)
	if err != nil {
		t.Fatal(err)
	}
	n := nn.Init(a, 1)
	for _, p := range n.Params {
		for i := range p.Data {
			p.Data[i] = v
		}
	}
	return n
}

// 0.2*10 + 0.8*20 = 18.
func TestCombine(t *testing.T) {
	nets := map[string]*nn.Net{"A": constantNet(t, "2x1", 10), "B": constantNet(t, "2x1", 20)}
	factors, err := parseNetExpr("0.2*A + 0.8*B")
	if err != nil {
		t.Fatal(err)
	}
	got, err := combine(nets, factors)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got.Params {
		for i, v := range p.Data {
			if v != 18 {
				t.Fatalf("%s[%d] is %v, want 18", p.Name, i, v)
			}
		}
	}
	if err := got.Validate(); err != nil || nets["A"].Params[0].Data[0] != 10 {
		t.Errorf("%v, or a summand was changed", err)
	}
}

func TestCombineRefuses(t *testing.T) {
	a, b := constantNet(t, "2x1", math.MaxFloat32), constantNet(t, "2x1-mish", 1)
	if _, err := combine(map[string]*nn.Net{"A": a}, map[string]float64{"A": 2}); !errors.Is(err, nn.ErrNotFinite) {
		t.Errorf("an overflow: %v", err)
	}
	if _, err := combine(map[string]*nn.Net{"B": b}, map[string]float64{"B": -1}); !errors.Is(err, nn.ErrParams) {
		t.Errorf("a negative variance: %v", err)
	}
	if _, err := combine(map[string]*nn.Net{"A": a, "B": b}, map[string]float64{"A": 1, "B": 1}); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "one architecture") {
		t.Errorf("two architectures: %v", err)
	}
}

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

// A file's content says what it is: each format under the name of another.
func TestOpenNetByContent(t *testing.T) {
	want, err := openNet("random-weights:5:4x1-plain")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"safetensors", "lc0"} {
		path := filepath.Join(t.TempDir(), "net.onnx")
		if err := (&netWriter{format: format, encoding: 4}).write(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := openNet(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.Arch != want.Arch || got.Get("value.fc1.weight")[5] != want.Get("value.fc1.weight")[5] || got.name != "net.onnx" {
			t.Errorf("%s: %s, a net %s", format, got.name, got.Arch)
		}
	}
	path := filepath.Join(t.TempDir(), "net.safetensors")
	if err := (&netWriter{format: "onnx"}).write(path, want); err != nil {
		t.Fatal(err)
	}
	if _, err := openNet(path); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "ONNX") {
		t.Errorf("an ONNX model: %v", err)
	}
}
