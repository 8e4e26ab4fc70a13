package host

import (
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// TestDescribed holds what describe says of each type of setting.
func TestDescribed(t *testing.T) {
	d := Found{&stage.Definition{Kind: stage.KindSampler, Name: "a", Version: "1.2.3", Doc: "does it", Concurrency: 2,
		Capabilities: []stage.Capability{stage.Deterministic},
		Settings: []stage.Setting{
			{Name: "x", Doc: "how much", Default: "0.5", Min: 0, Max: 1},
			{Name: "n", Doc: "how many", Default: "3", Min: 1, Max: 9, Whole: true},
			{Name: "by", Doc: "what", Default: "kld", Text: true, Choices: []string{"kld", "q_diff"}},
			{Name: "path", Doc: "where", Text: true},
		}}, nil}.Describe()
	var sb strings.Builder
	if err := d.Write(&sb); err != nil {
		t.Fatal(err)
	}
	want := `sampler a 1.2.3: does it
program       built in
capabilities  deterministic
calls         2 at a time
  x: how much
      a number from 0 to 1; default 0.5
  n: how many
      a whole number from 1 to 9; default 3
  by: what
      one of kld, q_diff; default kld
  path: where
      a text; default none
`
	if sb.String() != want {
		t.Errorf("%s\nwant\n%s", &sb, want)
	}
	var types []string
	for _, s := range d.Settings {
		types = append(types, s.Type)
		if bounds := s.Min != nil && s.Max != nil; bounds != (s.Type != "text") {
			t.Errorf("setting %s of type %s: bounds %v", s.Name, s.Type, bounds)
		}
	}
	if got := strings.Join(types, " "); got != "number integer text text" {
		t.Errorf("types %s", got)
	}
}
