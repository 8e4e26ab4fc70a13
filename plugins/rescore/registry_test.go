package rescore

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

func TestNew(t *testing.T) {
	var d stage.Rescorer = Deblunder{Threshold: 0.1, Width: 0.06}
	for _, c := range []struct {
		name     string
		settings map[string]string
		want     stage.Rescorer
	}{
		{"identity", nil, Identity{}},
		{"deblunder", nil, d},
		{"deblunder", map[string]string{"threshold": "0.25", "width": " 0.5 "}, Deblunder{Threshold: 0.25, Width: 0.5}},
		{"plies-left", map[string]string{}, PliesLeft{}},
		{"policy-temperature", map[string]string{"temperature": "1.5", "offset": "-0.01"}, PolicyTemperature{Temperature: 1.5, Offset: -0.01}},
	} {
		r, err := New(c.name, c.settings)
		if err != nil || r != c.want || r.Name() != c.name {
			t.Errorf("%s %v: %+v, %v", c.name, c.settings, r, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct {
		name, key, value string
		want             []string
	}{
		{"identity", "x", "1", []string{"identity", `"x"`, "none"}},
		{"deblunder", "treshold", "1", []string{"deblunder", `"treshold"`, "threshold, width"}},
		{"deblunder", "threshold", "much", []string{"setting threshold", `"much"`, "0 to 2"}},
		{"deblunder", "threshold", "NaN", []string{"setting threshold", "0 to 2"}},
		{"deblunder", "width", "2.5", []string{"setting width", "0 to 2"}},
		{"deblunder", "width", "0.5", []string{"setting width", "at most 0.2"}},
		{"policy-temperature", "temperature", "0", []string{"setting temperature", "0.01 to 100"}},
		{"policy-temperature", "dtz_boost", "0.5", []string{"setting paths", "none given"}},
		{"policy-temperature", "paths", empty, []string{"setting paths", "dtz_boost"}},
		{"syzygy", "", "", []string{"syzygy", "setting paths", "none given"}},
		{"syzygy", "paths", empty, []string{"syzygy", "setting paths", empty}},
		{"nothing", "", "", []string{`"nothing"`, "deblunder", "plies-left"}},
	} {
		settings := map[string]string{}
		if c.key != "" {
			settings[c.key] = c.value
		}
		_, err := New(c.name, settings)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %v: %v, want %q", c.name, settings, err, want)
			}
		}
	}
}

// Every description stands, its defaults are accepted, names are in order.
func TestDescribe(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) || len(names) != 5 {
		t.Errorf("names %v", names)
	}
	for i, d := range Definitions() {
		if d.Name != names[i] || d.Doc == "" || d.Version == "" {
			t.Errorf("%d: %+v", i, d)
		}
		if err := d.Validate(); err != nil {
			t.Error(err)
		}
		for _, s := range d.Settings {
			if s.Doc == "" || s.Allowed() == "" {
				t.Errorf("%s: %+v", d.Name, s)
			}
		}
	}
}

// exact are the functions and constants of package math whose results are the same
// bits on every machine; the others have assembly, or products that some machines
// fuse with sums.
var exact = []string{"Abs", "Floor", "Ceil", "Trunc", "Sqrt", "Frexp", "Ldexp", "Inf", "IsInf", "NaN", "IsNaN", "Signbit",
	"Float32bits", "Float32frombits", "Float64bits", "Float64frombits",
	"Ln2", "Sqrt2", "MaxInt32", "MaxInt64", "MaxInt", "MaxUint8", "MaxUint16", "MaxUint32", "MaxUint64", "MaxFloat32", "MaxFloat64"}

// TestDeterministic: all built-in rescorers promise equal output on every machine,
// so neither they nor the arithmetic that they share use another function.
func TestDeterministic(t *testing.T) {
	for _, d := range Definitions() {
		if !d.Has(stage.Deterministic) {
			t.Errorf("%s does not promise it", d.Name)
		}
	}
	files, seen := token.NewFileSet(), 0
	for _, dir := range []string{".", "../sample/chance"} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "math" && x.Obj == nil {
					seen++
					if !slices.Contains(exact, s.Sel.Name) {
						t.Errorf("%s: math.%s differs between machines; package sample/chance has an exact power", files.Position(s.Pos()), s.Sel.Name)
					}
				}
				return true
			})
		}
	}
	if seen == 0 {
		t.Error("no use of package math was found: the test looks at nothing")
	}
}
