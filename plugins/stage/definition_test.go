package stage

import (
	"strings"
	"testing"
)

func definition() *Definition {
	return &Definition{
		Kind: KindSampler, Name: "some-1", Version: "1.0.0", Doc: "a test",
		Settings: []Setting{
			{Name: "share", Doc: "a number", Min: -1, Max: 2.5, Default: "0.5"},
			{Name: "every", Doc: "a whole number", Min: 1, Max: 100, Whole: true, Default: "2"},
			{Name: "which", Doc: "one of a few", Text: true, Choices: []string{"all", "final"}, Default: "all"},
			{Name: "path", Doc: "any text", Text: true},
		},
		Capabilities: []Capability{Deterministic},
	}
}

func TestValues(t *testing.T) {
	d := definition()
	v, err := d.Values(nil)
	if err != nil || v.Number("share") != 0.5 || v.Number("every") != 2 || v.Text("which") != "all" || v.Text("path") != "" {
		t.Errorf("defaults: %+v, %v", v, err)
	}
	v, err = d.Values(map[string]string{"share": " 2.5 ", "every": "1e2", "which": "final", "path": "a b"})
	if err != nil || v.Number("share") != 2.5 || v.Number("every") != 100 || v.Text("which") != "final" || v.Text("path") != "a b" {
		t.Errorf("%+v, %v", v, err)
	}
	for _, c := range []struct{ name, value, want string }{
		{"share", "2.6", `setting share: "2.6", want a number from -1 to 2.5`},
		{"share", "NaN", "want a number"},
		{"share", "", "want a number"},
		{"every", "1.5", `setting every: "1.5", want a whole number from 1 to 100`},
		{"every", "0", "want a whole number"},
		{"which", "All", `setting which: "All", want one of all, final`},
		{"wich", "all", `unknown setting "wich"; there are: share, every, which, path`},
	} {
		if _, err := d.Values(map[string]string{c.name: c.value}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %q: %v, want %q", c.name, c.value, err, c.want)
		}
	}
	if _, err := (&Definition{}).Values(map[string]string{"x": "1"}); err == nil || !strings.Contains(err.Error(), "it has none") {
		t.Errorf("no settings: %v", err)
	}
}

func TestValidateDefinition(t *testing.T) {
	if err := definition().Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Definition){
		"stage name":    func(d *Definition) { d.Name = "Some" },
		"stage name \"": func(d *Definition) { d.Name = "" },
		"unknown kind":  func(d *Definition) { d.Kind = "player" },
		"concurrency":   func(d *Definition) { d.Concurrency = -1 },
		"setting name":  func(d *Definition) { d.Settings[0].Name = "a b" },
		"there twice":   func(d *Definition) { d.Settings[1].Name = "share" },
		"no number":     func(d *Definition) { d.Settings[0].Min = 3 },
		"its defaults":  func(d *Definition) { d.Settings[1].Default = "" },
	} {
		d := definition()
		change(d)
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestMakeAndFind(t *testing.T) {
	d := definition()
	all := []*Definition{{Kind: KindExporter, Name: "some-1"}, d}
	if got, err := Find(all, KindSampler, "some-1"); err != nil || got != d || !got.Has(Deterministic) || got.Has(NeedsGames) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Find(all, KindSampler, "other"); err == nil || err.Error() != `unknown sampler "other"; there are: some-1` {
		t.Error(err)
	}
	if _, err := d.MakeSampler(nil); err == nil || !strings.Contains(err.Error(), "cannot be made in this process") {
		t.Error(err)
	}
	d.NewSampler = func(v Values) (Sampler, error) { return nil, nil }
	if _, err := d.MakeSampler(map[string]string{"every": "x"}); err == nil || !strings.HasPrefix(err.Error(), "sampler some-1: setting every") {
		t.Error(err)
	}
	if _, err := d.MakeSampler(nil); err != nil {
		t.Error(err)
	}
}
