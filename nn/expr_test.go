package nn_test

import (
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
)

func TestParseExpr(t *testing.T) {
	for text, want := range map[string]map[string]float64{
		"A":                    {"A": 1},
		"0.2*A + 0.8*B":        {"A": .2, "B": .8},
		"A*0.5+B*0.5":          {"A": .5, "B": .5},
		"(A + B*3)/4":          {"A": .25, "B": .75},
		"new + (new - old)/2":  {"new": 1.5, "old": -.5},
		"-A*-2":                {"A": 2},
		"A - B - C":            {"A": 1, "B": -1, "C": -1},
		"A/2/2":                {"A": .25},
		"A*(1-1e-1)":           {"A": .9},
		"2*3*A_1/(1+1.5e0+.5)": {"A_1": 2},
		"A-A":                  {"A": 0},
		"A + 0*B":              {"A": 1, "B": 0},
		"1e2 * e2":             {"e2": 100},
		strings.Repeat("(", 100) + "A" + strings.Repeat(")", 100): {"A": 1},
	} {
		got, err := nn.ParseExpr(text)
		if err != nil || !maps.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-15 }) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestParseExprRefuses(t *testing.T) {
	for text, say := range map[string]string{
		"":                       "column 1: the expression ends",
		"A*":                     "column 3: the expression ends",
		"A B":                    `column 3: unexpected 'B'`,
		"A+1":                    "column 2: a net and a number",
		"3-A":                    "column 2: a net and a number",
		"A*B":                    "column 2: nets cannot be multiplied",
		"1/A":                    "column 2: nothing can be divided by a net",
		"A/0":                    "column 2: the result is not finite",
		"A*(1/0)":                "column 5: the result is not finite",
		"A*1e308*1e9":            "column 8: the result is not finite",
		"A*1e999":                `column 3: "1e999" is not a number`,
		"A*1.2.3":                `column 3: "1.2.3" is not a number`,
		"A*.":                    `column 3: "." is not a number`,
		"(A+B":                   "column 5: want a ) for the ( in column 1",
		"A)":                     `column 2: unexpected ')'`,
		"os.Exit(1)":             `column 3: unexpected '.'`,
		"A**2":                   `column 3: unexpected '*'`,
		"1+1":                    "names no net",
		"Ä":                      "column 1: unexpected",
		strings.Repeat("(", 1e6): "more than 100 parentheses",
	} {
		if got, err := nn.ParseExpr(text); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%.20s: %v, %v, want %q", text, got, err, say)
		}
	}
}

// Whatever text comes, the factors are finite or there is an error.
func FuzzExpr(f *testing.F) {
	for _, s := range []string{"A*0.5+B*0.5", "(A + B*3)/4", "-A/1e-300", "A*(", "1e400*A"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		factors, err := nn.ParseExpr(text)
		if (err == nil) == (len(factors) == 0) {
			t.Fatalf("%v, %v", factors, err)
		}
		for name, v := range factors {
			if v-v != 0 || name == "" {
				t.Fatalf("%q has factor %v", name, v)
			}
		}
	})
}

// constantNet returns a small net of one number everywhere.
func constantNet(t *testing.T, arch string, v float32) *nn.Net {
	t.Helper()
	a := nntest.Named(arch)
	n := nn.Init(a, 1)
	for _, p := range n.Params {
		for i := range p.Data {
			p.Data[i] = v
		}
	}
	return n
}

// 0.2*10 + 0.8*20 = 18.
func TestMix(t *testing.T) {
	nets := map[string]*nn.Net{"A": constantNet(t, "2x1", 10), "B": constantNet(t, "2x1", 20)}
	factors, err := nn.ParseExpr("0.2*A + 0.8*B")
	if err != nil {
		t.Fatal(err)
	}
	got, err := nn.Mix(nets, factors)
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

func TestMixRefuses(t *testing.T) {
	a, b := constantNet(t, "2x1", math.MaxFloat32), constantNet(t, "2x1-mish", 1)
	if _, err := nn.Mix(map[string]*nn.Net{"A": a}, map[string]float64{"A": 2}); !errors.Is(err, nn.ErrNotFinite) {
		t.Errorf("an overflow: %v", err)
	}
	if _, err := nn.Mix(map[string]*nn.Net{"B": b}, map[string]float64{"B": -1}); !errors.Is(err, nn.ErrParams) {
		t.Errorf("a negative variance: %v", err)
	}
	if _, err := nn.Mix(map[string]*nn.Net{"A": a, "B": b}, map[string]float64{"A": 1, "B": 1}); !errors.Is(err, nn.ErrMix) {
		t.Errorf("two architectures: %v", err)
	}
}
