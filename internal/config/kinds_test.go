package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/nn"
)

// resolved is the configuration of a file's text, "" = none, and a --net, "" = none.
func resolved(t *testing.T, file, net string) *Effective {
	t.Helper()
	in := Input{}
	if file != "" {
		in.File = mustParse(t, file)
	}
	if net != "" {
		in.Flags = set(t, "--net", net)
	}
	return mustResolve(t, in)
}

func TestNet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.safetensors")
	filetest.Write(t, file, "x")
	kinds := filepath.Join(t.TempDir(), "kinds.textproto")
	filetest.Write(t, kinds, `kind { name: "tiny" conv_tower { filters: 16 blocks: 1 se_ratio: 0 } }`)
	for _, c := range []struct {
		args                []string
		filters, blocks, se int32
		net                 string
	}{
		{nil, 32, 4, 4, ""},
		{[]string{"--net", "64x6"}, 64, 6, 4, ""},
		{[]string{"--net", "b10c128"}, 128, 10, 4, ""},
		{[]string{"--net", "tiny", "--net-kinds", kinds}, 16, 1, 0, ""},
		{[]string{"--net", file}, 32, 4, 4, file},
	} {
		e, err := Resolve(Input{Flags: set(t, c.args...)})
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		m := e.Config.GetModel()
		if tower := m.GetArch().GetConvTower(); tower.GetFilters() != c.filters || tower.GetBlocks() != c.blocks || tower.GetSeRatio() != c.se || m.GetNet() != c.net {
			t.Errorf("%v: %v net %q", c.args, tower, m.GetNet())
		}
	}
	// The rest of the architecture in the file stays.
	e := mustResolve(t, Input{File: mustParse(t, "model { net: '64x6' arch { activation: MISH conv_tower { se_ratio: 8 } } }")})
	if a := e.Config.GetModel().GetArch(); a.GetActivation() != Arch_MISH || a.GetConvTower().GetSeRatio() != 8 || a.GetConvTower().GetFilters() != 64 {
		t.Errorf("%v", a)
	}
}

// What --override-config says of a net's body wins over the name, and is refused of another body.
func TestOverriddenNet(t *testing.T) {
	for _, c := range []struct{ net, override, want string }{
		{"64x4x4h", "model.arch.attention.encoders=3", "encoders:3"},
		{"64x4x4h", "model.arch.attention.positions=8,model.arch.attention.width=32", "width:32"},
		{"64x6", "model.arch.conv_tower.filters=48", "filters:48"},
		{"sparse128", "model.arch.sparse.accumulators=64", "accumulators:64"},
		{"sparse128", "model.arch.conv_tower.filters=48", `model.arch.conv_tower.filters=48: model.arch.conv_tower.filters: the net that is named has another body, sparse; leave one of the two away`},
		{"", "model.arch.conv_tower.filters=48", "filters:48"},
	} {
		e, err := Resolve(Input{Flags: set(t, "--net", c.net), Overrides: []string{c.override}})
		got := fmt.Sprint(err)
		if err == nil {
			got = strings.ReplaceAll(e.Config.GetModel().GetArch().String(), ": ", ":")
		}
		if !strings.Contains(strings.ReplaceAll(got, "  ", " "), c.want) {
			t.Errorf("--net %s with %s: %s, want %s", c.net, c.override, got, c.want)
		}
	}
}

// A sparse net by its size, and what a file says of its other sizes; and the other way,
// a tower in place of a file's sparse net.
func TestSparseNet(t *testing.T) {
	for _, c := range []struct {
		file, net           string
		accumulators, units int32
	}{
		{"", "sparse256", 256, 64},
		{"model { arch { sparse { policy_units: 128 } } }", "sparse256", 256, 128},
		{"model { arch { sparse { accumulators: 64 } } }", "", 64, 64},
	} {
		e := resolved(t, c.file, c.net)
		a := e.Config.GetModel().GetArch()
		if s := a.GetSparse(); s.GetAccumulators() != c.accumulators || s.GetPolicyUnits() != c.units || a.GetConvTower() != nil || e.Config.GetModel().GetNet() != "" {
			t.Errorf("%q with --net %q: %v", c.file, c.net, a)
		}
	}
	e := resolved(t, "model { arch { sparse { } } }", "64x6")
	if tower := e.Config.GetModel().GetArch().GetConvTower(); tower.GetFilters() != 64 || tower.GetSeRatio() != 4 {
		t.Errorf("%v", e.Config.GetModel())
	}
	if _, err := Resolve(Input{Flags: set(t, "--net", "sparse99999")}); err == nil || !strings.Contains(err.Error(), "accumulators") {
		t.Errorf("99999 accumulators: %v", err)
	}
}

// A run that began before sparse nets had a choice of features keeps its own.
func TestSparseFeatures(t *testing.T) {
	for _, c := range []struct {
		run, file string
		want      int32 // -1: it says nothing
	}{
		{"model { arch { sparse { accumulators: 64 } } }", "", -1},
		{"model { arch { sparse { accumulators: 64 } } }", "model { arch { sparse { accumulators: 64 } } }", -1},
		{"model { arch { sparse { accumulators: 64 } } }", "model { arch { sparse { features: 2 } } }", 2},
		{"model { arch { sparse { accumulators: 64 features: 2 } } }", "", 2},
		{"model { arch { conv_tower { } } }", "model { net: 'sparse64' }", 2},
		{"", "model { arch { sparse { features: 0 } } }", 0},
	} {
		in := Input{}
		if c.run != "" {
			in.OfRun = func(*Effective) (*File, error) { return mustParse(t, c.run), nil }
		}
		if c.file != "" {
			in.File = mustParse(t, c.file)
		}
		e := mustResolve(t, in)
		got := int32(-1)
		if s := e.Config.GetModel().GetArch().GetSparse(); s.Features != nil {
			got = s.GetFeatures()
		}
		if got != c.want {
			t.Errorf("run %q, file %q: features %d, want %d", c.run, c.file, got, c.want)
		}
	}
}

// An attention net by its name, and what a file says of its other sizes.
func TestAttentionNet(t *testing.T) {
	usual := &AttentionBody{}
	fill(usual.ProtoReflect())
	with := func(change func(b *AttentionBody)) *AttentionBody {
		b := proto.CloneOf(usual)
		change(b)
		return b
	}
	dense := func(b *AttentionBody) { b.Positions, b.Smolgen = proto.Int32(512), proto.Bool(true) }
	for _, c := range []struct {
		file, net  string
		want       *AttentionBody
		activation Arch_Activation
		policy     Arch_PolicyHead
		origin     string // of the policy head
	}{
		{"", "64x4x4h", usual, Arch_RELU, Arch_ATTENTION, "--net"},
		{"", "64x4x4h-smolgen-dense-mish", with(dense), Arch_MISH, Arch_ATTENTION, "--net"},
		{"model { arch { attention { } } }", "", usual, Arch_RELU, Arch_ATTENTION, "default"},
		{"model { arch { attention { width: 32 hidden: 7 gated: false positions: 9 } } }", "48x2x3h-dense", with(func(b *AttentionBody) {
			b.Width, b.Encoders, b.Heads = proto.Int32(48), proto.Int32(2), proto.Int32(3)
			b.Hidden, b.Gated, b.Positions = proto.Int32(7), proto.Bool(false), proto.Int32(9)
		}), Arch_RELU, Arch_ATTENTION, "--net"},
		{"model { arch { policy_head: CONVOLUTIONAL attention { width: 64 } } }", "", usual, Arch_RELU, Arch_CONVOLUTIONAL, "run.textproto:1:16"},
		{"model { arch { sparse { } activation: MISH } }", "64x4x4h", usual, Arch_MISH, Arch_ATTENTION, "--net"},
	} {
		e := resolved(t, c.file, c.net)
		a := e.Config.GetModel().GetArch()
		if !proto.Equal(a.GetAttention(), c.want) || a.GetActivation() != c.activation || a.GetPolicyHead() != c.policy || e.Origin("model.arch.policy_head") != c.origin {
			t.Errorf("%q with --net %q: %v, policy head from %s", c.file, c.net, a, e.Origin("model.arch.policy_head"))
		}
		again, err := Resolve(Input{File: mustParse(t, string(Format(e.Config)))})
		if err != nil || !proto.Equal(again.Config, e.Config) {
			t.Errorf("%q with --net %q reads back as another: %v", c.file, c.net, err)
		}
	}
	for run, want := range map[string]Arch_PolicyHead{ // what a run keeps of another body's head is no choice
		"policy_head: CONVOLUTIONAL conv_tower { }": Arch_ATTENTION, "policy_head: CONVOLUTIONAL attention { }": Arch_CONVOLUTIONAL,
	} {
		of := func(*Effective) (*File, error) { return mustParse(t, "model { arch { "+run+" } }"), nil }
		e, err := Resolve(Input{OfRun: of, Flags: set(t, "--net", "64x4x4h")})
		if err != nil || e.Config.GetModel().GetArch().GetPolicyHead() != want {
			t.Errorf("%s: %v, %v", run, e.Config.GetModel().GetArch(), err)
		}
	}
	e := resolved(t, "model { arch { attention { } } }", "64x6")
	if a := e.Config.GetModel().GetArch(); a.GetConvTower().GetFilters() != 64 || a.GetPolicyHead() != Arch_CONVOLUTIONAL {
		t.Errorf("%v", a)
	}
}

func TestModelKinds(t *testing.T) {
	kinds, err := Kinds("")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int32{"b4c32": {4, 32}, "b6c64": {6, 64}, "b6c96": {6, 96}, "b10c128": {10, 128}, "b15c192": {15, 192}, "b20c256": {20, 256}}
	for _, k := range kinds.GetKind() {
		if w := want[k.GetName()]; w != [2]int32{k.GetConvTower().GetBlocks(), k.GetConvTower().GetFilters()} {
			t.Errorf("%s: %v", k.GetName(), k.GetConvTower())
		}
		delete(want, k.GetName())
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestNetPath(t *testing.T) {
	for name, want := range map[string][3]string{
		"a.pb.gz":                           {"a.pb.gz", "", ""},
		"a.pb.gz:policy=soft":               {"a.pb.gz", "soft", ""},
		"a.pb.gz:value=q:policy=optimistic": {"a.pb.gz", "optimistic", "q"},
		"d/a:b:policy=x_y:value=":           {"d/a:b", "x_y", ""},
		"a:policy=one:policy=two":           {"a", "one", ""},
		"a:polic=one":                       {"a:polic=one", "", ""},
		":policy=one":                       {":policy=one", "", ""},
		"random-weights:3:8x1":              {"random-weights:3:8x1", "", ""},
		"a:value=q/net.pb.gz":               {"a:value=q/net.pb.gz", "", ""},
	} {
		path, policy, value := NetPath(name)
		if got := [3]string{path, policy, value}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestHeadNames: the schema's further heads are those of nets.
func TestHeadNames(t *testing.T) {
	for head := range Loss_Head_name {
		if got, want := headNames[Loss_Head(head)], nn.HeadNames(strings.ToLower(Loss_Head(head).String())); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", Loss_Head(head), got, want)
		}
	}
}
