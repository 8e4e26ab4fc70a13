package nn

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func mustParse(t testing.TB, name string) Arch {
	t.Helper()
	a, err := ParseArch(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestParseArch(t *testing.T) {
	for _, c := range []struct {
		text, name      string
		filters, blocks int
	}{
		{"64x6", "64x6-se", 64, 6},
		{"32x4-se", "32x4-se", 32, 4},
		{"b4c32", "32x4-se", 32, 4},
		{"b6c64", "64x6-se", 64, 6},
		{"b6c96", "96x6-se", 96, 6},
		{"b10c128", "128x10-se", 128, 10},
		{"b15c192", "192x15-se", 192, 15},
		{"b20c256", "256x20-se", 256, 20},
		{"64x6-plain", "64x6-plain", 64, 6},
		{"b6c64-se8-mish-classical-scalar-noml", "64x6-se8-mish-classical-scalar-noml", 64, 6},
	} {
		a, err := ParseArch(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if a.String() != c.name || a.Filters != c.filters || a.Blocks != c.blocks {
			t.Errorf("%s is %s, %d filters, %d blocks", c.text, a, a.Filters, a.Blocks)
		}
		if again := mustParse(t, a.String()); again != a {
			t.Errorf("%s reads back as %+v, want %+v", a, again, a)
		}
	}
	if a := mustParse(t, "32x4"); a != DefaultArch() {
		t.Errorf("32x4 is %+v", a)
	}
}

func TestParseArchRefuses(t *testing.T) {
	for _, text := range []string{"", "x", "64", "64x", "x6", "64x6x", "6464", "b6", "bc", "b6c", "b6x64", "c64b6", "+64x6", "064x6", "64x6-", "64x6-foo", "64x6-se0",
		"64x6-sex", "64x6-8", "0x6", "64x0", "64x9999", "99999999999999999999x2", "64 x 6"} {
		if a, err := ParseArch(text); !errors.Is(err, ErrArch) {
			t.Errorf("%q: %v, %v, want ErrArch", text, a, err)
		}
	}
}

func TestSparseArch(t *testing.T) {
	for _, name := range []string{"sparse64", "sparse256-p128", "sparse128-v16-p64-noml"} {
		a := mustParse(t, name)
		if a.String() != strings.Replace(name, "-p64", "", 1) || a.MovesLeft == strings.HasSuffix(name, "noml") {
			t.Errorf("%s is %s, %+v", name, a, a)
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseArchJSON(string(text)); err != nil || again != a {
			t.Errorf("%s reads back as %+v, %v", text, again, err)
		}
		if strings.Contains(string(text), "filters") {
			t.Errorf("%s has fields of a tower", text)
		}
		if err := a.MustBeTower("a Leela network file"); !errors.Is(err, ErrArch) || !strings.Contains(err.Error(), a.String()) || !strings.Contains(err.Error(), "a Leela network file") {
			t.Errorf("as a tower: %v", err)
		}
	}
	if err := DefaultArch().MustBeTower("a GPU"); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"sparse", "sparse0", "sparse63", "sparse96", "sparse4096", "sparse64-", "sparse64-p32", "sparse64-v", "sparse64-se", "sparse-64", "sparse64-v9999"} {
		if a, err := ParseArch(text); !errors.Is(err, ErrArch) {
			t.Errorf("%q: %v, %v, want ErrArch", text, a, err)
		}
	}
	for name, spoil := range map[string]func(a *Arch){
		"fields of a tower": func(a *Arch) { a.Blocks = 3 },
		"value_head":        func(a *Arch) { a.ValueHead = ValueScalar },
		"policy_units":      func(a *Arch) { a.PolicyUnits = 0 },
	} {
		a := mustParse(t, "sparse64")
		if spoil(&a); !errors.Is(a.Validate(), ErrArch) || !strings.Contains(a.Validate().Error(), name) {
			t.Errorf("%s: %v", name, a.Validate())
		}
	}
	a := DefaultArch()
	if a.Accumulators = 64; !errors.Is(a.Validate(), ErrArch) {
		t.Error("a tower has accumulators")
	}
	a.Accumulators, a.Body = 0, "transformer"
	if err := a.Validate(); !errors.Is(err, ErrArch) || !strings.Contains(err.Error(), "body") {
		t.Errorf("another body: %v", err)
	}
}

func FuzzParseArch(f *testing.F) {
	for _, s := range []string{"sparse128-v8", "64x6", "b6c64", "32x4-se8-mish", "1x1-plain-noml"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseArch(s)
		if err != nil {
			return
		}
		again, err := ParseArch(a.String())
		if err != nil || again != a {
			t.Fatalf("%q is %s, which reads back as %+v, %v", s, a, again, err)
		}
	})
}

func TestValidateNamesTheField(t *testing.T) {
	if err := DefaultArch().Validate(); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(a *Arch){
		"version":             func(a *Arch) { a.Version = 2 },
		"filters":             func(a *Arch) { a.Filters = 0 },
		"blocks":              func(a *Arch) { a.Blocks = -1 },
		"se_ratio":            func(a *Arch) { a.SERatio = -4 },
		"activation":          func(a *Arch) { a.Activation = "swish" },
		"input_format":        func(a *Arch) { a.InputFormat = 3 },
		"policy_head":         func(a *Arch) { a.PolicyHead = "attention" },
		"value_head":          func(a *Arch) { a.ValueHead = "" },
		"value_channels":      func(a *Arch) { a.ValueChannels = 0 },
		"value_hidden":        func(a *Arch) { a.ValueHidden = 1 << 20 },
		"moves_left_channels": func(a *Arch) { a.MLChannels = 0 },
		"moves_left_hidden":   func(a *Arch) { a.MLHidden = 0 },
	} {
		a := DefaultArch()
		spoil(&a)
		if err := a.Validate(); !errors.Is(err, ErrArch) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	a := DefaultArch()
	a.Filters, a.Blocks = 0, 0
	if err := a.Validate(); !strings.Contains(err.Error(), "filters") || !strings.Contains(err.Error(), "blocks") {
		t.Errorf("two wrong fields: %v", err)
	}
	a = DefaultArch()
	a.MovesLeft, a.MLChannels, a.MLHidden = false, 0, 0
	if err := a.Validate(); err != nil {
		t.Errorf("without moves left: %v", err)
	}
}

func TestArchJSON(t *testing.T) {
	const want = `{"version":1,"filters":32,"blocks":4,"se_ratio":4,"activation":"relu","input_format":1,"policy_head":"convolutional",` +
		`"value_head":"wdl","value_channels":32,"value_hidden":128,"moves_left":true,"moves_left_channels":8,"moves_left_hidden":128}`
	got, err := json.Marshal(DefaultArch())
	if err != nil || string(got) != want {
		t.Fatalf("%s, %v, want %s", got, err, want)
	}
	var back Arch
	if err := json.Unmarshal(got, &back); err != nil || back != DefaultArch() {
		t.Errorf("reads back as %+v, %v", back, err)
	}
	a := DefaultArch()
	a.MovesLeft = false // its sizes say nothing now
	b := a
	b.MLChannels, b.MLHidden = 0, 0
	ja, _ := json.Marshal(a)
	if jb, _ := json.Marshal(b); string(ja) != string(jb) {
		t.Errorf("one net, two texts: %s and %s", ja, jb)
	}
}

func TestSEUnits(t *testing.T) {
	for _, c := range []struct{ filters, ratio, want int }{{32, 4, 8}, {64, 4, 16}, {16, 4, 8}, {64, 0, 0}, {256, 8, 32}, {130, 4, 32}} {
		if got := (Arch{Filters: c.filters, SERatio: c.ratio}).SEUnits(); got != c.want {
			t.Errorf("%d filters, ratio %d: %d units, want %d", c.filters, c.ratio, got, c.want)
		}
	}
}

// Counted by hand: 64x6 without SE.
func TestSize(t *testing.T) {
	a := mustParse(t, "64x6-plain")
	const f = 64
	bn := func(c int) int { return 2 * c }
	tower := 112*f*9 + bn(f) + 6*2*(f*f*9+bn(f))
	policy := f*f*9 + bn(f) + f*80*9 + 80
	value := f*32 + bn(32) + 32*64*128 + 128 + 128*3 + 3
	moves := f*8 + bn(8) + 8*64*128 + 128 + 128 + 1
	if got, want := a.NumParams(), tower+policy+value+moves; got != want {
		t.Errorf("%d parameters, want %d", got, want)
	}
	conv := 112*f*9 + 12*f*f*9 + f*f*9 + f*80*9 + f*32 + f*8
	dense := 32*64*128 + 128*3 + 8*64*128 + 128
	if got, want := a.FLOPs(), int64(2*(64*conv+dense)); got != want {
		t.Errorf("%d operations, want %d", got, want)
	}
	const summary = "32x4-se: 0.47 million parameters, 19 MFLOP per board"
	if got := DefaultArch().Summary(); got != summary {
		t.Errorf("%q, want %q", got, summary)
	}
}

// Names and shapes of docs/FORMATS.md.
func TestSpecs(t *testing.T) {
	byName := map[string][]int{}
	for _, s := range Specs(mustParse(t, "40x2")) {
		if byName[s.Name] != nil {
			t.Errorf("%s appears twice", s.Name)
		}
		byName[s.Name] = s.Shape
	}
	for name, want := range map[string][]int{
		"input.conv.weight": {40, 112, 3, 3}, "input.bn.gamma": {40}, "input.bn.var": {40},
		"tower.0.conv1.weight": {40, 40, 3, 3}, "tower.1.bn2.mean": {40},
		"tower.1.se.fc1.weight": {10, 40}, "tower.1.se.fc1.bias": {10}, "tower.0.se.fc2.weight": {80, 10}, "tower.0.se.fc2.bias": {80},
		"policy.conv1.weight": {40, 40, 3, 3}, "policy.bn.beta": {40}, "policy.conv2.weight": {80, 40, 3, 3}, "policy.conv2.bias": {80},
		"value.conv.weight": {32, 40, 1, 1}, "value.bn.gamma": {32}, "value.fc1.weight": {128, 2048}, "value.fc2.weight": {3, 128}, "value.fc2.bias": {3},
		"moves_left.conv.weight": {8, 40, 1, 1}, "moves_left.fc1.weight": {128, 512}, "moves_left.fc2.bias": {1},
	} {
		if got := byName[name]; !equalInts(got, want) {
			t.Errorf("%s has shape %v, want %v", name, got, want)
		}
	}
	if n := len(byName); n != 5+2*(10+4)+7+9+9 {
		t.Errorf("%d parameters", n)
	}
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
