package host

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Built-in stages and programs are made by the same calls; a program wins over a
// built-in of its kind and name, and one of another kind does not.
func TestBuiltinOrProgram(t *testing.T) {
	name := "picker"
	d := testDefinition(t.TempDir(), name)
	d.Version = "0.0.1"
	other := testDefinition(t.TempDir(), "other")
	other.Name = name // a rescorer of the same name
	b := newBench(t, []string{name}, func(o *Options) { o.Builtin = append(sample.Definitions(), d, other) })
	for _, c := range []struct {
		kind    stage.Kind
		name    string
		version string
		program bool
	}{
		{stage.KindSampler, "picker", "1.2.3", true},
		{stage.KindRescorer, "picker", "1.2.3", false},
		{stage.KindSampler, "uniform", sample.Definition("uniform").Version, false},
	} {
		for range 2 { // the second time nothing is started
			got, p, err := b.Definition(t.Context(), c.kind, c.name)
			if err != nil || got.Version != c.version || got.Kind != c.kind || (p != nil) != c.program || p != nil && len(p.SHA256) != 64 {
				t.Errorf("%s %s: %+v, %v, %v", c.kind, c.name, got, p, err)
			}
		}
	}
	s := b.sampler(nil)
	if _, here := s.(*picker); here {
		t.Error("the built-in sampler was taken")
	}
	program := filepath.Join(b.o.Dirs[0], name)
	if want := "level=WARN msg=\"sampler picker: the program " + program + " takes the place of the built-in one\""; !strings.Contains(b.log(), want) {
		t.Errorf("the log does not warn %q", want)
	}
	r, err := b.Rescorer(t.Context(), stage.Choice{Name: name})
	if _, here := r.(halver); err != nil || !here {
		t.Errorf("rescorer %T, %v", r, err)
	}
	if want := "level=WARN msg=\"rescorer picker: the built-in one is used; the program " + program + " of that name is a sampler\""; !strings.Contains(b.log(), want) {
		t.Errorf("the log does not warn %q", want)
	}
	if _, err := b.Sampler(t.Context(), stage.Choice{Name: "uniform", Settings: map[string]string{"x": "1"}}); !errors.Is(err, ErrSettings) {
		t.Errorf("settings of a built-in stage: %v", err)
	}
	if err := b.Release(r); err != nil || len(b.Stats()) != 1 {
		t.Errorf("release of a built-in stage: %v, %d stages", err, len(b.Stats()))
	}
	_, err = b.Sampler(t.Context(), stage.Choice{Name: "unifrom"})
	for _, want := range []string{`unknown sampler "unifrom"`, "uniform", "programs: picker", b.o.Dirs[0]} {
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	programs, err := b.Programs()
	if err != nil || len(programs) != 1 {
		t.Fatal(programs, err)
	}
	d, err := b.Describe(t.Context(), programs[0])
	want := testDefinition("", "halve")
	if err != nil || d.Kind != want.Kind || d.Name != want.Name || d.Version != want.Version || d.Doc != want.Doc ||
		!slices.EqualFunc(d.Settings, want.Settings, func(a, b stage.Setting) bool { return a.Name == b.Name && a.Max == b.Max && a.Whole }) {
		t.Errorf("%+v, %v", d, err)
	}
	eventually(t, "the process is gone", func() bool { return !alive(b.report("halve").PID) })
	if _, err := New(Options{Builtin: []*stage.Definition{{Name: "No Name"}}}); err == nil {
		t.Error("an invalid definition was accepted")
	}
}
