package nn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/reference"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// arch is the net of a name: a tower has small heads.
func arch(name string) nn.Arch {
	if a := nntest.Named(name); a.Sparse() || a.Attention() {
		return a
	}
	return nntest.Arch(name)
}

// larger is a tower with larger heads than arch gives.
func larger(name string) nn.Arch { return nntest.Resized(arch(name), 6, 20, 3, 12) }

var growths = []struct {
	name     string
	from, to nn.Arch
}{
	{"deeper", arch("16x1"), arch("16x3")},
	{"wider", arch("16x2"), arch("24x2")},
	{"both, and larger heads", arch("16x1"), larger("24x3")},
	{"larger heads alone", arch("16x1"), larger("16x1")},
	{"more units of squeeze-and-excitation", arch("32x1"), arch("48x2")},
	{"another ratio", arch("32x1"), arch("32x1-se2")},
	{"no multiple of a vector", arch("5x1"), larger("7x2")},
	{"plain scalar", arch("16x1-plain-scalar-noml"), larger("24x2-plain-scalar-noml")},
	{"wider with mish", arch("16x1-mish"), larger("24x1-mish")},
	{"classical", arch("16x1-classical"), larger("24x2-classical")},
	{"pooled", arch("16x1-pooled"), larger("24x2-pooled")},
	{"auxiliary", arch("16x1-aux"), larger("24x2-aux")},
	{"further heads", arch("16x1-soft-q-aux").WithForecasts("q", 1, 0).WithForecasts("", 0, 5), larger("24x2-soft-q-aux").WithForecasts("q", 1, 0).WithForecasts("", 0, 5)},
	{"sparse", arch("sparse64"), arch("sparse128")},
	{"sparse, units", arch("sparse64-v16-noml-aux"), arch("sparse192-v40-p128-noml-aux")},
}

// TestGrow: a grown net has the answers of the smaller one. In float64 only the order of
// sums differs; in fp32 it is an ulp or two of each layer.
func TestGrow(t *testing.T) {
	for _, c := range growths {
		t.Run(c.name, func(t *testing.T) {
			n := decided(c.from)
			id := n.ID()
			g := grow(t, n, c.to, 5)
			if err := errors.Join(g.Validate(), g.CheckFinite()); err != nil || !g.Arch.Equal(c.to) {
				t.Fatalf("%s: %v", g.Arch, err)
			}
			p := nntest.Positions(3, 6, 5)
			for i := range p.N {
				was, is := reference.Forward(n, &p.Masks[i], &p.Scalars[i], p.LegalOf(i)...), reference.Forward(g, &p.Masks[i], &p.Scalars[i], p.LegalOf(i)...)
				for what, pair := range map[string][2][]float64{
					"policy": {was.Policy, is.Policy}, "value": {was.Value, is.Value}, "auxiliary": {was.Auxiliary, is.Auxiliary},
					"moves left": {{was.MovesLeft}, {is.MovesLeft}},
				} {
					if d := farthest(pair[0], pair[1]); d > 1e-9 {
						t.Errorf("position %d: %s moves by %g", i, what, d)
					}
				}
			}
			if v, p, spread := fp32(t, n, g, p); v > 1e-5 || p > 1e-5 || spread < .05 {
				t.Errorf("in fp32 V moves by %g and P by %g; P is from 0 to %g", v, p, spread)
			} else {
				t.Logf("in fp32 V moves by %.1g and P by %.1g", v, p)
			}
			if n.ID() != id {
				t.Error("the smaller net has changed")
			}
		})
	}
}

// TestGrowAgain: a grown net grows.
func TestGrowAgain(t *testing.T) {
	n := decided(arch("12x1"))
	g := grow(t, grow(t, n, arch("16x2"), 1), larger("24x4"), 1)
	if v, p, _ := fp32(t, n, g, nntest.Positions(3, 6, 5)); v > 1e-5 || p > 1e-5 {
		t.Errorf("in fp32 V moves by %g and P by %g", v, p)
	}
}

// decided is a net with numbers everywhere and answers that are far from even.
func decided(a nn.Arch) *nn.Net {
	n := nntest.DecidedNet(a, 7)
	for _, name := range []string{"policy.moves.weight", "policy.kinds.weight"} {
		for i := range n.Get(name) {
			n.Get(name)[i] *= 10
		}
	}
	return n
}

func grow(t *testing.T, n *nn.Net, to nn.Arch, seed uint64) *nn.Net {
	t.Helper()
	g, err := nn.Grow(n, to, seed)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func farthest(a, b []float64) (d float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i := range a {
		d = math.Max(d, math.Abs(a[i]-b[i]))
	}
	return d
}

// fp32 returns how far V and P of two nets are apart in inference, and the largest P.
func fp32(t *testing.T, a, b *nn.Net, p *encoding.Batch) (v, prior, spread float64) {
	t.Helper()
	var values, priors [2][]float64
	for k, n := range []*nn.Net{a, b} {
		net, err := cpu.New(n, kernel.FP32)
		if err != nil {
			t.Fatal(err)
		}
		if err := net.NewEvaluator(p.N).Evaluate(context.Background(), p); err != nil {
			t.Fatal(err)
		}
		for i := range p.N {
			values[k] = append(values[k], float64(p.WDL[i][0]-p.WDL[i][2]))
			for _, x := range p.PriorOf(i) {
				priors[k] = append(priors[k], float64(x))
			}
		}
	}
	return farthest(values[0], values[1]), farthest(priors[0], priors[1]), slices.Max(priors[0])
}

// TestGrowFresh: what is new is of nn.Init by the seed, but for the zeros that keep the
// function.
func TestGrowFresh(t *testing.T) {
	n, to := decided(arch("16x1")), larger("24x2")
	g, again, other, fresh := grow(t, n, to, 5), grow(t, n, to, 5), grow(t, n, to, 6), nn.Init(to, 5)
	if g.ID() != again.ID() {
		t.Error("one seed makes two nets")
	}
	if g.ID() == other.ID() {
		t.Error("two seeds make one net")
	}
	for _, name := range []string{"tower.1.conv1.weight", "tower.1.conv2.weight", "tower.1.bn1.gamma", "tower.1.se.fc1.weight"} {
		if !slices.Equal(g.Get(name), fresh.Get(name)) {
			t.Errorf("%s is not nn.Init's", name)
		}
	}
	for name, c := range map[string]struct{ rows, columns, was, inputs int }{ // of rows of columns numbers, was*inputs of each belong to the old net
		"input.conv.weight": {16, 112 * 9, 112, 9}, "tower.0.conv2.weight": {16, 24 * 9, 16, 9}, "policy.conv1.weight": {16, 24 * 9, 16, 9},
		"policy.conv2.weight": {80, 24 * 9, 16, 9}, "value.fc1.weight": {16, 6 * 64, 4, 64}, "moves_left.fc2.weight": {1, 12, 8, 1},
	} {
		got, old, drawn := g.Get(name), n.Get(name), fresh.Get(name)
		kept := c.was * c.inputs
		for r := range c.rows {
			row := got[r*c.columns:][:c.columns]
			if !slices.Equal(row[:kept], old[r*kept:][:kept]) || slices.ContainsFunc(row[kept:], func(x float32) bool { return x != 0 }) {
				t.Errorf("row %d of %s is neither the old one nor 0", r, name)
			}
		}
		if at := c.rows * c.columns; !slices.Equal(got[at:], drawn[at:]) {
			t.Errorf("the new rows of %s are not nn.Init's", name)
		}
	}
	gamma, shifts := g.Get("tower.1.bn2.gamma"), g.Get("tower.1.se.fc2.weight")
	if slices.Max(gamma) != 0 || slices.Max(shifts[24*8:]) != 0 || slices.Max(shifts[:24*8]) == 0 {
		t.Errorf("the new block's last factors are %v, its shifts' weights %v", gamma, shifts)
	}
	sparse := grow(t, decided(arch("sparse64")), arch("sparse128"), 5)
	table, bias := sparse.Get("input.weight"), sparse.Get("input.bias")
	if drawn := nn.Init(arch("sparse128"), 5).Get("input.weight"); !slices.Equal(table[64:128], drawn[64:128]) || slices.Max(bias[64:]) != 0 {
		t.Error("new accumulators are not nn.Init's")
	}
	g.Arch.Blocks[0].Width, g.Get("input.conv.weight")[0] = 1, 99
	if to.Blocks[0].Width == 1 || n.Get("input.conv.weight")[0] == 99 {
		t.Error("a grown net shares memory with what it was made of")
	}
}

// TestGrowRefuses: what is no growth is refused, with all that differs and what is possible.
func TestGrowRefuses(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"64x6", "32x6", "filters is 32, fewer than 64"},
		{"64x6", "64x5", "blocks is 5, fewer than 6; a net keeps its kinds and grows in filters, blocks, accumulators and the sizes of its heads"},
		{"64x6", "128x4", "blocks is 4, fewer than 6; a net keeps its kinds and grows in filters, blocks, accumulators and the sizes of its heads: possible is 128x6-se"},
		{"64x6-pooled", "128x10", "its value head is flattened wdl, not pooled wdl; a net keeps its kinds and grows in filters, blocks, accumulators and the sizes of its heads: possible is 128x10-se-pooled"},
		{"64x6", "128x10-scalar-classical", "its policy head is classical, not convolutional, its value head is flattened scalar, not flattened wdl; "},
		{"64x6", "128x6-plain", "it has no squeeze-and-excitation"},
		{"64x6-plain", "128x6", "its squeeze-and-excitation is new"},
		{"64x6", "128x6-se16", "its squeeze-and-excitation has 8 units, fewer than 16"},
		{"64x6", "128x6-mish", "its activation is mish, not relu"},
		{"64x6-mish", "128x6", "its activation is relu, not mish"},
		{"64x6-mish", "128x8-mish", "blocks is 8, more than 6: no new block gives what it gets where the activation is mish, so such a net grows in width alone; " +
			"a net keeps its kinds and grows in filters, blocks, accumulators and the sizes of its heads: possible is 128x6-se-mish"},
		{"64x6", "128x6-noml", "it has no moves_left head"},
		{"64x6-noml", "128x6", "its moves_left head is new"},
		{"64x6", "128x6-aux", "its auxiliary head is new"},
		{"64x6", "128x6-soft", "its policy.soft head is new"},
		{"64x6-q", "128x6-st", "it has no value.q head, its value.st head is new"},
		{"64x6", "64x6", "the net is 64x6-se already"},
		{"64x6", "sparse128", `its body is of kind "sparse", not "input_convolution"`},
		{"sparse128", "64x6", `its body is of kind "input_convolution", not "sparse"`},
		{"sparse128", "sparse64-v64", "accumulators is 64, fewer than 128; a net keeps its kinds and grows in filters, blocks, accumulators and the sizes of its heads: possible is sparse128-v64"},
		{"sparse64-features0", "sparse128", "its features are 2, not 0"},
		{"sparse128", "sparse128-features0", "features is 0, fewer than 2"},
		{"sparse64-p128", "sparse128", "policy_units is 64, fewer than 128"},
		{"sparse64-v48", "sparse128", "value_hidden is 32, fewer than 48"},
		{"64x2x4h", "64x4x4h", "64x2x4h is an attention net, which does not grow: a layer norm behind each sum reads all channels"},
		{"64x2", "64x4x4h", "64x4x4h is an attention net"},
		{"64x2-attention", "128x2-attention", `64x2-se-attention has a policy head of kind "attention", which does not grow`},
	} {
		from, to := nntest.Named(c.from), nntest.Named(c.to)
		if _, err := nn.Grow(nn.Init(from, 1), to, 1); !errors.Is(err, nn.ErrArch) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %s: %v, want %q", c.from, c.to, err, c.want)
		}
	}
	n := nn.Init(arch("8x1"), 1)
	if err := arch("8x1").WithForecasts("", 0, 4).GrowsTo(arch("16x1").WithForecasts("", 0, 5)); err == nil || !strings.Contains(err.Error(), "value_categories are 5, not 4") {
		t.Errorf("to other categories: %v", err)
	}
	if _, err := nn.Grow(n, nn.Arch{}, 1); !errors.Is(err, nn.ErrArch) {
		t.Errorf("to no net: %v", err)
	}
	n.Params = n.Params[1:]
	if _, err := nn.Grow(n, arch("16x1"), 1); !errors.Is(err, nn.ErrParams) {
		t.Errorf("a net that lacks a parameter: %v", err)
	}
	_, err := nn.Grow(nn.Init(larger("8x1"), 1), nntest.Named("16x1-mish"), 1)
	if err == nil || !strings.Contains(err.Error(), "possible is 16x1-se") {
		t.Errorf("heads with more than usual: %v", err)
	}
}

// TestGrowPossible: what a refusal calls possible is.
func TestGrowPossible(t *testing.T) {
	var archs []nn.Arch
	for _, name := range []string{"8x1", "16x2", "32x1-se2", "8x3-mish", "16x2-mish", "12x2-plain", "8x2-noml", "16x1-pooled-aux", "16x1-scalar",
		"sparse64", "sparse128-v16", "sparse128-p128-noml"} {
		a := nntest.Named(name)
		archs = append(archs, a)
		if !a.Sparse() {
			archs = append(archs, nntest.Resized(a.Clone(), 40, 100, 4, 200))
		}
	}
	found := 0
	for _, from := range archs {
		n := nn.Init(from, 1)
		for _, to := range archs {
			_, err := nn.Grow(n, to, 1)
			if err == nil {
				continue
			}
			_, spelled, ok := strings.Cut(err.Error(), ": possible is ")
			if !ok {
				continue
			}
			found++
			possible, err := nn.ParseArch(spelled)
			if strings.HasPrefix(spelled, "{") {
				err = json.Unmarshal([]byte(spelled), &possible)
			}
			if err == nil {
				_, err = nn.Grow(n, possible, 1)
			}
			if err != nil {
				t.Errorf("%s to %s: %s: %v", describe(from), describe(to), spelled, err)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d refusals say what is possible", found)
	}
}

func describe(a nn.Arch) string {
	text, err := json.Marshal(a)
	return fmt.Sprint(string(text), err)
}

// TestGrowMoments: old numbers are where Grow puts old weights; the others are 0, or the
// mean of the tensor, or that of the last old block's.
func TestGrowMoments(t *testing.T) {
	for _, pair := range [][2]nn.Arch{{arch("16x2"), larger("24x3")}, {arch("sparse64"), arch("sparse128-p128")}} {
		n := nn.Zero(pair[0])
		for i := range n.Params {
			for j := range n.Params[i].Data {
				n.Params[i].Data[j] = float32(i+1) + float32(j%2)/4 // never 0, and other numbers in each tensor
			}
		}
		marked, err := nn.GrowMoments(n, pair[1], false)
		if err != nil {
			t.Fatal(err)
		}
		filled, err := nn.GrowMoments(n, pair[1], true)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range marked.Params {
			var kept, fresh []float32
			for j, v := range p.Data {
				if v != 0 {
					kept = append(kept, v)
				} else {
					fresh = append(fresh, filled.Params[i].Data[j])
				}
			}
			sum := func(x []float32) (s float64) {
				for _, v := range x {
					s += float64(v)
				}
				return s
			}
			like := n.Get(strings.Replace(p.Name, "tower.2.", "tower.1.", 1))
			if old := n.Get(p.Name); len(kept) != len(old) || math.Abs(sum(kept)-sum(old)) > 1e-3 {
				t.Errorf("%s keeps %d numbers of %d", p.Name, len(kept), len(old))
			}
			mean := sum(like) / float64(len(like))
			for _, v := range fresh {
				if math.Abs(float64(v)-mean) > 1e-5*mean {
					t.Fatalf("%s is filled with %g, the mean is %g", p.Name, v, mean)
				}
			}
		}
	}
	if _, err := nn.GrowMoments(nn.Zero(arch("16x2")), arch("8x2"), true); !errors.Is(err, nn.ErrArch) {
		t.Errorf("to a smaller net: %v", err)
	}
}
