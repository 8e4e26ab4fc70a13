package nn

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
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
		{"48x5-pooled", "48x5-se-pooled", 48, 5},
		{"48x5-noml-pooled-scalar-plain", "48x5-plain-scalar-pooled-noml", 48, 5},
		{"b6c64-se8-mish-classical-scalar-noml", "64x6-se8-mish-classical-scalar-noml", 64, 6},
	} {
		a, err := ParseArch(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if a.String() != c.name || a.Width() != c.filters || len(a.Blocks) != c.blocks+1 {
			t.Errorf("%s is %s, %d filters, %d blocks", c.text, a, a.Width(), len(a.Blocks)-1)
		}
		if again := mustParse(t, a.String()); !again.Equal(a) {
			t.Errorf("%s reads back as %+v, want %+v", a, again, a)
		}
	}
	if a := mustParse(t, "32x4"); !a.Equal(DefaultArch()) {
		t.Errorf("32x4 is %+v", a)
	}
}

func TestParseArchRefuses(t *testing.T) {
	for _, text := range []string{"", "x", "64", "64x", "x6", "64x6x", "6464", "b6", "bc", "b6c", "b6x64", "c64b6", "+64x6", "064x6", "64x6-", "64x6-foo", "64x6-se0",
		"64x6-sex", "64x6-flattened", "64x6-pooled8", "sparse64-pooled", "64x6-8", "0x6", "64x0", "64x9999", "99999999999999999999x2", "64 x 6"} {
		if a, err := ParseArch(text); !errors.Is(err, ErrArch) {
			t.Errorf("%q: %v, %v, want ErrArch", text, a, err)
		}
	}
}

func TestSparseArch(t *testing.T) {
	for _, name := range []string{"sparse64", "sparse256-p128", "sparse128-v16-p64-noml", "sparse64-features0", "sparse64-features0-v16-aux"} {
		a := mustParse(t, name)
		if a.String() != strings.Replace(name, "-p64", "", 1) || (a.Head(MovesLeft) == nil) != strings.HasSuffix(name, "noml") {
			t.Errorf("%s is %s, %+v", name, a, a)
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseArchJSON(string(text)); err != nil || !again.Equal(a) {
			t.Errorf("%s reads back as %+v, %v", text, again, err)
		}
		if strings.Contains(string(text), "filters") {
			t.Errorf("%s has fields of a tower", text)
		}
		if err := a.Only("a Leela network file", BlockInput, BlockResidual); !errors.Is(err, ErrArch) || !strings.Contains(err.Error(), a.String()) || !strings.Contains(err.Error(), "a Leela network file") {
			t.Errorf("as a tower: %v", err)
		}
	}
	if err := DefaultArch().Only("a GPU", BlockInput, BlockResidual, PolicyConvolutional, HeadFlattened); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"sparse", "sparse0", "sparse63", "sparse96", "sparse4096", "sparse64-", "sparse64-p32", "sparse64-v", "sparse64-features1", "sparse64-features3", "sparse64-features", "64x6-features0", "sparse64-se", "sparse-64", "sparse64-v9999"} {
		if a, err := ParseArch(text); !errors.Is(err, ErrArch) {
			t.Errorf("%q: %v, %v, want ErrArch", text, a, err)
		}
	}
	for name, spoil := range map[string]func(a *Arch){
		"takes planes":               func(a *Arch) { a.Blocks = append(a.Blocks, Block{Kind: BlockResidual}) },
		"value_head":                 func(a *Arch) { a.Head(Value).Form = ValueScalar },
		"policy_units":               func(a *Arch) { a.Head(Policy).Hidden = 0 },
		"policy_head":                func(a *Arch) { a.Head(Policy).Kind = PolicyClassical },
		"activation":                 func(a *Arch) { a.Activation = Mish },
		"sizes that it does not use": func(a *Arch) { a.Head(Value).Channels = 3 },
	} {
		a := mustParse(t, "sparse64")
		if spoil(&a); !errors.Is(a.Validate(), ErrArch) || !strings.Contains(a.Validate().Error(), name) {
			t.Errorf("%s: %v", name, a.Validate())
		}
	}
}

func TestAttentionArch(t *testing.T) {
	for text, name := range map[string]string{
		"64x4x4h": "", "8x2x2h-dense-smolgen-mish-scalar-pooled-noml": "", "64x4x4h-mish-smolgen": "64x4x4h-smolgen-mish",
		"8x1x2h-classical": "", "8x1x2h-encoded": "", "16x1-encoded": "16x1-se-encoded", "8x1x2h-convolutional": "", "8x1x2h-attention": "8x1x2h", "8x1x2h-classical-attention": "8x1x2h",
		"8x1-attention": "8x1-se-attention", "8x1-attention-classical": "8x1-se-classical",
	} {
		a := mustParse(t, text)
		if a.String() != cmp.Or(name, text) {
			t.Errorf("%s is %s", text, a)
		}
		if again := mustParse(t, a.String()); !again.Equal(a) {
			t.Errorf("%s reads back as %+v, want %+v", a, again, a)
		}
		if h := a.Head(Policy); h.Kind == PolicyAttention && (h.Channels != a.Width() || h.Hidden != a.Width()) {
			t.Errorf("%s: %+v", text, h)
		}
		if err := a.Only("the abacus", BlockInput, BlockResidual, PolicyConvolutional, PolicyClassical, HeadFlattened); (err == nil) != (text == "8x1-attention-classical") ||
			err != nil && (!strings.Contains(err.Error(), "the abacus") || !strings.Contains(err.Error(), "attention")) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"64x4x0h", "64x4xh", "64x4x4", "x4x4h", "64x4x4h-flattened", "64x4x4h-se", "64x4x4h-p128", "64x4-smolgen", "64x4-dense"} {
		if a, err := ParseArch(text); !errors.Is(err, ErrArch) {
			t.Errorf("%q: %v, %v, want ErrArch", text, a, err)
		}
	}
}

// TestOnly: a backend that lacks a kind is named beside it.
func TestOnly(t *testing.T) {
	for kind, a := range map[string]Arch{
		"mamba":             {Blocks: []Block{{Kind: BlockInput, Width: 8}, {Kind: "mamba"}}},
		PolicyClassical:     mustParse(t, "8x1-classical"),
		PolicyConvolutional: mustParse(t, "8x1"),
	} {
		err := a.Only("the abacus", BlockInput, BlockResidual, HeadFlattened)
		if !errors.Is(err, ErrArch) || !strings.Contains(err.Error(), strconv.Quote(kind)) || !strings.Contains(err.Error(), "the abacus") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestInputFormats: a net's name has its input format, and a backend reads others than
// the classical one only where it says so.
func TestInputFormats(t *testing.T) {
	for _, f := range encoding.InputFormats() {
		for _, text := range []string{"8x1-se", "8x1x2h"} {
			if f != encoding.FormatClassical {
				text += fmt.Sprintf("-input%d", f)
			}
			a := mustParse(t, text)
			if a.InputFormat() != f || a.String() != text {
				t.Errorf("%q is %s, of input format %d", text, a, a.InputFormat())
			}
			kinds := []string{BlockInput, BlockResidual, BlockEmbedding, BlockEncoder, PolicyConvolutional, PolicyAttention, HeadFlattened}
			if err := a.Only("the abacus", kinds...); (err == nil) != (f == encoding.FormatClassical) || err != nil && !strings.Contains(err.Error(), "the abacus takes format 1 alone") {
				t.Errorf("%s: %v", a, err)
			}
			if err := a.Only("the abacus", append(kinds, AnyInput)...); err != nil {
				t.Errorf("%s: %v", a, err)
			}
		}
	}
	for _, text := range []string{"8x1-input6", "8x1-input", "8x1-input257", "sparse128-input3"} {
		if a, err := ParseArch(text); !errors.Is(err, ErrArch) {
			t.Errorf("%q: %v, %v, want ErrArch", text, a, err)
		}
	}
}

func FuzzParseArch(f *testing.F) {
	for _, s := range []string{"sparse128-v8", "8x1x2h-dense-classical", "64x6", "b6c64", "32x4-se8-mish", "1x1-plain-noml", "8x1-q-scalar-soft-aux"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseArch(s)
		if err != nil {
			return
		}
		again, err := ParseArch(a.String())
		if err != nil || !again.Equal(a) {
			t.Fatalf("%q is %s, which reads back as %+v, %v", s, a, again, err)
		}
	})
}

func TestValidateNamesTheField(t *testing.T) {
	if err := DefaultArch().Validate(); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(a *Arch){
		"filters":                    func(a *Arch) { a.Blocks[0].Width = 0 },
		"blocks is 0":                func(a *Arch) { a.Blocks = a.Blocks[:1] },
		"blocks is 257":              func(a *Arch) { *a = Tower(32, 9999) },
		"blocks is -1":               func(a *Arch) { a.Blocks = nil },
		"takes the position":         func(a *Arch) { a.Blocks[1] = a.Blocks[0] },
		"takes planes":               func(a *Arch) { a.Blocks = a.Blocks[1:] },
		"not like block 1":           func(a *Arch) { a.Blocks[3].SERatio = 8 },
		`kind "mamba"`:               func(a *Arch) { a.Blocks[1].Kind = "mamba" },
		"se_ratio":                   func(a *Arch) { a.Blocks[1].SERatio = -4 },
		"residual has sizes that it": func(a *Arch) { a.Blocks[1].Width = 32 },
		"activation":                 func(a *Arch) { a.Activation = "swish" },
		"input_format":               func(a *Arch) { a.Blocks[0].InputFormat = 6 },
		"policy_head":                func(a *Arch) { a.Head(Policy).Kind = "mamba" },
		"value_head":                 func(a *Arch) { a.Head(Value).Form = "" },
		"value_channels":             func(a *Arch) { a.Head(Value).Channels = 0 },
		"value_hidden":               func(a *Arch) { a.Head(Value).Hidden = 1 << 20 },
		"moves_left_channels":        func(a *Arch) { a.Head(MovesLeft).Channels = 0 },
		"moves_left_hidden":          func(a *Arch) { a.Head(MovesLeft).Hidden = 0 },
		"moves_left_head is":         func(a *Arch) { a.Head(MovesLeft).Kind = HeadPooled },
		"moves_left_head":            func(a *Arch) { a.Head(MovesLeft).Form = ValueWDL },
		"convolutional has sizes":    func(a *Arch) { a.Head(Policy).Hidden = 3 },
		"in this order":              func(a *Arch) { a.Heads[0], a.Heads[1] = a.Heads[1], a.Heads[0] },
		"head 0 is for":              func(a *Arch) { a.Heads = a.Heads[1:] },
		"may be absent":              func(a *Arch) { a.Heads = append(a.Heads, a.Heads[2]) },
		`head 2 is for "value"`:      func(a *Arch) { a.Heads[2].Output = Value },
		`head 2 is for "value.soft"`: func(a *Arch) { a.Heads[2].Output, a.Heads[2].Name = Value, "soft" },
		`for "moves_left.q"`:         func(a *Arch) { a.Heads[2].Name = "q" },
		`head 4 is for "policy.q"`: func(a *Arch) {
			*a = a.WithHead(Policy, "soft")
			a.Heads = append(a.Heads, a.Heads[3])
			a.Heads[4].Name = "q"
		},
		`head 4 is for "value.q"`:  func(a *Arch) { *a = a.WithHead(Value, "q"); a.Heads = append(a.Heads, a.Heads[3]) },
		`value.q_head is "scalar"`: func(a *Arch) { *a = a.WithHead(Value, "q"); a.Heads[3].Form = ValueScalar },
		"value_errors is 2":        func(a *Arch) { a.Head(Value).Errors = 2 },
		"value_categories is 1":    func(a *Arch) { a.Head(Value).Categories = 1 },
		"value_categories is 1025": func(a *Arch) { a.Head(Value).Categories = 1025 },
		"moves_left_categories is": func(a *Arch) { a.Head(MovesLeft).Categories = 2 },
		"moves_left_errors is 1":   func(a *Arch) { a.Head(MovesLeft).Errors = 1 },
		"policy.soft_hidden":       func(a *Arch) { *a = AttentionArch(16, 1, 2).WithHead(Policy, "soft"); a.Heads[3].Hidden = 0 },
		"a sparse net has no further": func(a *Arch) {
			*a = SparseArch(SparseBlock)
			a.Heads = append(a.Heads, Head{Output: Value, Name: "q", Kind: HeadDense, Form: ValueWDL, Hidden: 8})
		},
	} {
		a := DefaultArch()
		spoil(&a)
		if err := a.Validate(); !errors.Is(err, ErrArch) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := Tower(0, 0).Validate(); !strings.Contains(err.Error(), "filters") || !strings.Contains(err.Error(), "blocks") {
		t.Errorf("two wrong fields: %v", err)
	}
	a := DefaultArch()
	a.Heads = a.Heads[:2]
	if err := a.Validate(); err != nil {
		t.Errorf("without moves left: %v", err)
	}
}

// TestCopies: copies share their lists, clones do not.
func TestCopies(t *testing.T) {
	a := DefaultArch()
	b := a.Clone()
	if !a.Equal(b) || a.Head("rating") != nil {
		t.Errorf("%+v is cloned as %+v", a, b)
	}
	b.Head(Value).Hidden++
	b.Blocks[1].SERatio = 0
	if a.Equal(b) || !a.Equal(DefaultArch()) {
		t.Errorf("%+v and its clone %+v share", a, b)
	}
}

// frozen are nets of version 1: their JSON, the id of their fresh weights of seed 7 and
// the SHA-256 of their file. Files that people have depend on every bit.
var frozen = []struct{ name, json, id, file string }{
	{"32x4-se", `{"version":1,"filters":32,"blocks":4,"se_ratio":4,"activation":"relu","input_format":1,"policy_head":"convolutional","value_head":"wdl","value_channels":32,"value_hidden":128,"moves_left":true,"moves_left_channels":8,"moves_left_hidden":128}`,
		"c84e4f9b74a49d7836ef361d41cfc811c8603b5169b436a2cbf445167333329e", "9fad9f0a4f5303b3c453d63899f7bb77550303df8f376bbbbdf3f5e844b568cd"},
	{"16x2-plain", `{"version":1,"filters":16,"blocks":2,"se_ratio":0,"activation":"relu","input_format":1,"policy_head":"convolutional","value_head":"wdl","value_channels":32,"value_hidden":128,"moves_left":true,"moves_left_channels":8,"moves_left_hidden":128}`,
		"f6de17ea0a28c1d543a0f610377490f46095dfac6f974c2d10dd7dd13a087489", "341b59c8504c92006f86885e79e0d5040d090294c4e4e28a3270417e2dbc59ab"},
	{"16x2-se8", `{"version":1,"filters":16,"blocks":2,"se_ratio":8,"activation":"relu","input_format":1,"policy_head":"convolutional","value_head":"wdl","value_channels":32,"value_hidden":128,"moves_left":true,"moves_left_channels":8,"moves_left_hidden":128}`,
		"9a81e70226118a3c2535eca41f03aaf36ccd8837e2242eeeaa1129e77754d493", "0ea35bbe1d70b29255a633f80f82e27c4095777320da449a0b2ce347220fc31f"},
	{"16x1-se-mish", `{"version":1,"filters":16,"blocks":1,"se_ratio":4,"activation":"mish","input_format":1,"policy_head":"convolutional","value_head":"wdl","value_channels":32,"value_hidden":128,"moves_left":true,"moves_left_channels":8,"moves_left_hidden":128}`,
		"6c36da3c8ddd5f0e982bce6f86af6706a3325cec61aea3599d293180da72860b", "038e207906a0e27de0da3bb3d63bdf0e4be88fb78a7c7ffb8dddcb1f84608ecb"},
	{"16x1-se-classical", `{"version":1,"filters":16,"blocks":1,"se_ratio":4,"activation":"relu","input_format":1,"policy_head":"classical","value_head":"wdl","value_channels":32,"value_hidden":128,"moves_left":true,"moves_left_channels":8,"moves_left_hidden":128}`,
		"d2292995dadd95459c5a4487d95efdb4eb5419dd478e8af49cb8c01b1a8e4f6f", "9ad02c87c78aca3a99b6d31eb68b9e7f4fc5a1d1a90ca8daf3030aa8e832c87e"},
	{"16x1-se-scalar", `{"version":1,"filters":16,"blocks":1,"se_ratio":4,"activation":"relu","input_format":1,"policy_head":"convolutional","value_head":"scalar","value_channels":32,"value_hidden":128,"moves_left":true,"moves_left_channels":8,"moves_left_hidden":128}`,
		"9037a44ded7cb82b41d994695822997a80f9d9c12b6dd6ae51f2ec090c4f4432", "4f843c4bccbfe9c17026abece7249ab2e628f54461ab2db864305ac5fe64fbd0"},
	{"16x1-se-noml", `{"version":1,"filters":16,"blocks":1,"se_ratio":4,"activation":"relu","input_format":1,"policy_head":"convolutional","value_head":"wdl","value_channels":32,"value_hidden":128,"moves_left":false}`,
		"b8302848b55a5f1ede6079d575e931d6e1cdc293525524c2442622c8533b7b9f", "710e1df4b5579dc4125089920523f21880ef17f425cc8c642f5d3106c8914b34"},
	{"8x2-plain-mish-classical-scalar-noml", `{"version":1,"filters":8,"blocks":2,"se_ratio":0,"activation":"mish","input_format":1,"policy_head":"classical","value_head":"scalar","value_channels":32,"value_hidden":128,"moves_left":false}`,
		"c6197d730aa90efcc1de504f8e0d26c24a8250f4fc2d06ceef997cada4ee5299", "acd6d144aa1252f7644c91136f0ac03bae98642f22e293a4550e027067660b20"},
	{"sparse64-features0", `{"version":1,"body":"sparse","accumulators":64,"value_head":"wdl","value_hidden":32,"policy_units":64,"moves_left":true}`,
		"5ea0ccea508b2ebd48eec23701b0377165f2da5215eb805e438f90d5b8e09a1a", "978020be3fba126b6195b39d0c6f76a42cf52c53e8922d2cf569dc952e8fa80e"},
	{"sparse128-features0-v16-p128-noml", `{"version":1,"body":"sparse","accumulators":128,"value_head":"wdl","value_hidden":16,"policy_units":128,"moves_left":false}`,
		"1526bab1f730bdf1318f92afeafd57ca93803add692485cf3f8ba085ca34b15d", "44c7a114106d2ec301881740bbbc326c96200808dfecb9a0f7540907ec1f6c9f"},
	{"8x1-se", `{"version":1,"filters":8,"blocks":1,"se_ratio":4,"activation":"relu","input_format":1,"policy_head":"convolutional","value_head":"wdl","value_channels":4,"value_hidden":8,"moves_left":true,"moves_left_channels":2,"moves_left_hidden":6}`,
		"f6405057f2dfc7116f14dc0d9aeea478db18adfe004db8c46944532f101e2f05", "36bcfe1de867f0f89ccac4deee6039266cc8b0efe58f26e5ddf667db5c4c2ae6"},
}

func TestFrozen(t *testing.T) {
	for _, c := range frozen {
		a, err := parseArchJSON(c.json)
		if err != nil || a.String() != c.name {
			t.Errorf("%s is read as %s, %v", c.name, a, err)
			continue
		}
		if text, err := json.Marshal(a); err != nil || string(text) != c.json {
			t.Errorf("%s is written as %s, %v, want %s", c.name, text, err, c.json)
		}
		n := Init(a, 7)
		if n.ID() != c.id {
			t.Errorf("a fresh %s has id %s, want %s", c.name, n.ID(), c.id)
		}
		h := sha256.New()
		if err := WriteSafetensors(h, n, map[string]string{"name": "frozen"}); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != c.file {
			t.Errorf("the file of %s has SHA-256 %s, want %s", c.name, got, c.file)
		}
		list, err := json.Marshal(listArch{listVersion, plainArch(a)})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseArchJSON(string(list)); err != nil || !again.Equal(a) {
			t.Errorf("%s reads back as %+v, %v", list, again, err)
		}
	}
}

// TestListJSON: version 2 is written for what version 1 cannot say. The text is frozen too.
func TestListJSON(t *testing.T) {
	const want = `{"version":2,"activation":"relu","blocks":[{"kind":"input_convolution","input_format":1,"width":8},{"kind":"residual","se_ratio":4},` +
		`{"kind":"residual","se_ratio":4}],"heads":[{"output":"policy","kind":"convolutional"},` +
		`{"output":"value","kind":"pooled","form":"wdl","channels":32,"hidden":128},{"output":"moves_left","kind":"flattened","channels":8,"hidden":128}]}`
	a := mustParse(t, "8x2-pooled")
	text, err := json.Marshal(a)
	if err != nil || string(text) != want {
		t.Errorf("%s, %v\nwant %s", text, err, want)
	}
	if again, err := parseArchJSON(want); err != nil || !again.Equal(a) {
		t.Errorf("reads back as %+v, %v", again, err)
	}
	n := Init(a, 7)
	if p := n.param("value.fc1.weight"); !slices.Equal(p.Shape, []int{128, 32}) || n.Validate() != nil {
		t.Errorf("value.fc1.weight has shape %v, %v", p.Shape, n.Validate())
	}
	if plain := mustParse(t, "8x2"); a.NumParams() != plain.NumParams()-128*32*63 || a.FLOPs() != plain.FLOPs()-2*128*32*63 {
		t.Errorf("%d parameters, %d operations", a.NumParams(), a.FLOPs())
	}
}

func TestArchJSONRefuses(t *testing.T) {
	tower, sparse := frozen[0].json, frozen[8].json
	list := `{"version":2,"activation":"relu","blocks":[{"kind":"input_convolution","input_format":1,"width":8},{"kind":"residual"}],` +
		`"heads":[{"output":"policy","kind":"convolutional"},{"output":"value","kind":"flattened","form":"wdl","channels":4,"hidden":8}]}`
	if a, err := parseArchJSON(list); err != nil || a.String() != "8x1-plain-noml" {
		t.Fatalf("%s is %s, %v", list, a, err)
	}
	for _, c := range []struct{ text, old, new, want string }{
		{tower, `"version":1`, `"version":3`, "version is 3"},
		{tower, `"version":1,`, ``, "version is 0"},
		{tower, `"version":1`, `"version":2`, "unknown field"},
		{tower, `"filters"`, `"tokens":1,"filters"`, `unknown field "tokens"`},
		{tower, `}`, `} {}`, "after top-level value"},
		{tower, `"blocks":4`, `"blocks":1000000000`, "blocks is 1000000000"},
		{tower, `"blocks":4`, `"blocks":-1`, "blocks is -1"},
		{tower, `"version":1`, `"version":1,"body":"transformer"`, "body"},
		{tower, `"version":1`, `"version":1,"accumulators":64`, "fields of another body"},
		{tower, `"convolutional"`, `"mamba"`, "policy_head"},
		{sparse, `"body"`, `"blocks":3,"body"`, "no fields of a tower"},
		{sparse, `"body"`, `"se_ratio":4,"body"`, "no fields of a tower"},
		{sparse, `"body"`, `"value_channels":4,"body"`, "sizes that it does not use"},
		{sparse, `"wdl"`, `"scalar"`, "value_head"},
		{list, `{"kind":"residual"}`, `{"kind":"mamba"}`, `"mamba"`},
		{list, `"width":8`, `"width":8,"rungs":2`, `unknown field "rungs"`},
		{list, `"kind":"flattened"`, `"kind":"averaged"`, `"averaged"`},
		{list, `"residual"}`, `"residual"},{"kind":"residual","se_ratio":4}`, "not like block 1"},
	} {
		text := strings.Replace(c.text, c.old, c.new, 1)
		if text == c.text {
			t.Fatalf("%s is not in %s", c.old, text)
		}
		if a, err := parseArchJSON(text); !errors.Is(err, ErrArch) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s is %s, %v, want %q", text, a, err, c.want)
		}
	}
	if a, err := parseArchJSON(strings.Replace(tower, `,"se_ratio":4`, "", 1)); err != nil || a.SEUnits() != 0 {
		t.Errorf("without se_ratio: %s, %v", a, err)
	}
	without := strings.Replace(tower, `"moves_left":true`, `"moves_left":false`, 1) // its sizes say nothing now
	a, err := parseArchJSON(without)
	if text, _ := json.Marshal(a); err != nil || strings.Contains(string(text), "moves_left_") {
		t.Errorf("%s is written as %s, %v", without, text, err)
	}
}

func TestSEUnits(t *testing.T) {
	for _, c := range []struct{ filters, ratio, want int }{{32, 4, 8}, {64, 4, 16}, {16, 4, 8}, {64, 0, 0}, {256, 8, 32}, {130, 4, 32}} {
		a := Arch{Blocks: TowerBlocks(c.filters, 1, c.ratio)}
		if got := a.SEUnits(); got != c.want {
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
	if got := DefaultArch().WithHead(Value, "q").WithForecasts("q", 1, 8).Summary(); !strings.HasPrefix(got, "32x4-se-q, value.q.error, value.q.categories 8: ") {
		t.Error(got)
	}
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

// TestSmolgenSizes: a name means Leela's sizes for wide nets and smaller ones for others.
func TestSmolgenSizes(t *testing.T) {
	for name, want := range map[string][2]int{
		"8x1x2h": {8, 16}, "64x1x4h": {8, 16}, "96x1x4h": {16, 48}, "128x1x4h": {16, 64}, "256x1x8h": {32, 256}, "768x1x24h": {32, 256},
	} {
		b := mustParse(t, name+"-smolgen").Blocks[1]
		if b.Compressed != want[0] || b.SmolgenHidden != want[1] || b.SmolgenUnits != want[1] {
			t.Errorf("%s: %d, %d and %d, want %d", name, b.Compressed, b.SmolgenHidden, b.SmolgenUnits, want)
		}
	}
}
