package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// sample returns a net with numbers everywhere.
func sample(t testing.TB, name string) *Net {
	n := Init(mustParse(t, name), 11)
	for i, p := range n.Params {
		for j := range p.Data {
			p.Data[j] += float32(math.Abs(math.Sin(float64(i+7*j)))) / 2
		}
	}
	return n
}

// The golden id fixes names, order, shapes, the initial numbers and the hash.
func TestInitGolden(t *testing.T) {
	const want = "c84e4f9b74a49d7836ef361d41cfc811c8603b5169b436a2cbf445167333329e"
	if got := Init(DefaultArch(), 7).ID(); got != want {
		t.Errorf("the default net of seed 7 has id %s, want %s", got, want)
	}
}

func TestInitStreams(t *testing.T) {
	a, b := Init(mustParse(t, "32x4"), 7), Init(mustParse(t, "32x6-scalar-noml"), 7)
	for _, p := range b.Params {
		if got := a.Get(p.Name); got != nil && len(got) == len(p.Data) && !slices.Equal(got, p.Data) {
			t.Errorf("%s depends on the rest of the net", p.Name)
		}
	}
	if slices.Equal(a.Get("tower.0.conv1.weight"), a.Get("tower.1.conv1.weight")) {
		t.Error("two layers have the same weights")
	}
	if Init(a.Arch, 8).ID() == a.ID() {
		t.Error("two seeds make the same net")
	}
}

// With n numbers the deviation is good to 1/sqrt(2n): 1 % leaves room.
func TestInitDeviation(t *testing.T) {
	n, attention := Init(mustParse(t, "64x2"), 1), Init(mustParse(t, "256x2x4h"), 1)
	for name, want := range map[string]float64{
		"tower.0.q.weight":     math.Sqrt(1. / 256),
		"tower.1.ffn2.weight":  encoderGain * math.Sqrt(1./512),
		"input.conv.weight":    math.Sqrt(2. / (112 * 9)),
		"tower.1.conv2.weight": math.Sqrt(2. / (64 * 9)),
		"value.fc1.weight":     math.Sqrt(2. / 2048),
		"policy.conv2.weight":  outputGain * math.Sqrt(2./(64*9)),
	} {
		sum, data := 0.0, slices.Concat(n.Get(name), attention.Get(name)) // heads that both have are alike
		for _, v := range data {
			sum += float64(v) * float64(v)
		}
		if got := math.Sqrt(sum / float64(len(data))); math.Abs(got/want-1) > .01 {
			t.Errorf("%s has deviation %g, want %g", name, got, want)
		}
	}
	for _, s := range []struct {
		name string
		want float32
	}{{"input.bn.gamma", 1}, {"input.bn.var", 1}, {"input.bn.mean", 0}, {"value.fc1.bias", 0}, {"moves_left.fc2.bias", initialMovesLeft}} {
		for _, v := range n.Get(s.name) {
			if v != s.want {
				t.Errorf("%s has %v, want %v", s.name, v, s.want)
			}
		}
	}
	if err := n.Validate(); err != nil {
		t.Error(err)
	}
}

func TestCloneAndID(t *testing.T) {
	n := sample(t, "8x1")
	c := n.Clone()
	if c.ID() != n.ID() || len(n.ID()) != 64 {
		t.Fatalf("ids %s and %s", n.ID(), c.ID())
	}
	last := c.Params[len(c.Params)-1].Data
	last[0] = math.Nextafter32(last[0], 9)
	if c.ID() == n.ID() {
		t.Error("a changed bit keeps the id")
	}
	c.Params[0].Shape[0] = 99
	if n.Params[0].Shape[0] == 99 {
		t.Error("the clone shares its shapes")
	}
	if n.Get("no.such") != nil {
		t.Error("Get of an unknown name")
	}
}

func TestNetValidate(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(n *Net)
		say   string
	}{
		"missing":      {func(n *Net) { n.Params = n.Params[:len(n.Params)-1] }, "moves_left.fc2.bias"},
		"extra":        {func(n *Net) { n.Params = append(n.Params, Param{Name: "more"}) }, "more"},
		"order":        {func(n *Net) { n.Params[1], n.Params[2] = n.Params[2], n.Params[1] }, "input.bn.beta"},
		"shape":        {func(n *Net) { n.Params[0].Shape = []int{8, 112, 9} }, "[8 112 9]"},
		"length":       {func(n *Net) { n.Params[3].Data = n.Params[3].Data[1:] }, "7 numbers"},
		"architecture": {func(n *Net) { n.Arch = Tower(n.Arch.Width(), 2) }, "tower.1"},
	} {
		n := sample(t, "8x1")
		c.spoil(n)
		if err := n.Validate(); !errors.Is(err, ErrParams) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want ErrParams with %q", name, err, c.say)
		}
	}
}

// Folding by hand, and the fold of trivial batch norm changes nothing much.
func TestFold(t *testing.T) {
	n := sample(t, "8x1")
	f := Fold(n)
	conv := f.Blocks[1].Convs[1]
	w, gamma, beta := n.Get("tower.0.conv2.weight"), n.Get("tower.0.bn2.gamma"), n.Get("tower.0.bn2.beta")
	mean, variance := n.Get("tower.0.bn2.mean"), n.Get("tower.0.bn2.var")
	for o := range 8 {
		s := float64(gamma[o]) / math.Sqrt(float64(variance[o])+1e-5)
		if got, want := float64(conv.Bias[o]), float64(beta[o])-float64(mean[o])*s; math.Abs(got-want) > 1e-6 {
			t.Errorf("bias %d is %v, want %v", o, got, want)
		}
		for i := range 72 {
			if got, want := float64(conv.Weight[o*72+i]), float64(w[o*72+i])*s; math.Abs(got-want) > 1e-6 {
				t.Fatalf("weight %d,%d is %v, want %v", o, i, got, want)
			}
		}
	}
	if got, moves := f.Heads[1].Dense[1].Out, f.Heads[2].Dense[0].In; got != 3 || moves != 512 || f.Heads[0].Convs[1].Co != 80 || f.Heads[0].Dense != nil {
		t.Errorf("heads: value %d, moves left %d", got, moves)
	}
	g := Fold(sample(t, "8x1-plain-classical-scalar-noml"))
	if g.Blocks[1].Dense != nil || len(g.Heads[0].Convs) != 1 || g.Heads[0].Dense[0].Out != 1858 || g.Heads[1].Dense[1].Out != 1 || len(g.Heads) != 2 {
		t.Errorf("plain net: %+v", g.Arch)
	}
	names := ""
	for _, l := range f.All() {
		for _, c := range l.Convs {
			names += c.Name + "/" + c.BN + " "
		}
		for _, d := range l.Dense {
			names += d.Name + " "
		}
	}
	if want := "input.conv/input.bn tower.0.conv1/tower.0.bn1 tower.0.conv2/tower.0.bn2 tower.0.se.fc1 tower.0.se.fc2 policy.conv1/policy.bn policy.conv2/ " +
		"value.conv/value.bn value.fc1 value.fc2 moves_left.conv/moves_left.bn moves_left.fc1 moves_left.fc2 "; names != want {
		t.Errorf("layers %s\nwant   %s", names, want)
	}
}

// TestFlatten: a pooled head's mean goes into its first fully connected layer.
func TestFlatten(t *testing.T) {
	plain := sample(t, "8x1")
	if Flatten(plain) != plain {
		t.Error("a net without pooled heads is made anew")
	}
	n := sample(t, "8x1-pooled")
	flat := Flatten(n)
	if err := flat.Validate(); err != nil || !flat.Arch.Equal(plain.Arch) || !Fold(n).Arch.Equal(plain.Arch) {
		t.Fatalf("%s becomes %+v, %v", n.Arch, flat.Arch, err)
	}
	w, wide := n.Get("value.fc1.weight"), flat.Get("value.fc1.weight")
	for i, v := range wide {
		if v != w[i/64]/64 {
			t.Fatalf("weight %d is %v, want %v", i, v, w[i/64]/64)
		}
	}
	if n.Arch.String() != "8x1-se-pooled" || len(w) != 32*128 || n.Validate() != nil {
		t.Errorf("the pooled net has changed: %s, %v", n.Arch, n.Validate())
	}
}

func TestCheckFinite(t *testing.T) {
	n := sample(t, "8x1")
	if err := n.CheckFinite(); err != nil {
		t.Fatal(err)
	}
	weights := &n.Params[0]
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, i := range []int{0, 1, 2, 3, 4, len(weights.Data) - 1} {
			was := weights.Data[i]
			weights.Data[i] = float32(bad)
			if err := n.CheckFinite(); !errors.Is(err, ErrNotFinite) || !strings.Contains(err.Error(), fmt.Sprintf("%s[%d]", weights.Name, i)) {
				t.Errorf("%v: %v", bad, err)
			}
			weights.Data[i] = was
		}
	}
	for i := range 7 { // whatever is left of it where four at a time are taken
		x := make([]float32, i+1)
		if !allFinite(x) {
			t.Errorf("%d zeros are not finite", i+1)
		}
		if x[i] = float32(math.NaN()); allFinite(x) {
			t.Errorf("NaN is the last of %d and not seen", i+1)
		}
	}
	n.Params[4].Data[1] = float32(math.Inf(1))
	if err := n.CheckFinite(); !errors.Is(err, ErrNotFinite) || !strings.Contains(err.Error(), "input.bn.var[1]") {
		t.Error(err)
	}
}

// TestSmolgenBegins: the first heads look where pieces go, three of them together where the
// fixed map of the squares says, and the fifth begins as the first.
func TestSmolgenBegins(t *testing.T) {
	a := mustParse(t, "40x1x5h-smolgen")
	units := a.Blocks[1].SmolgenUnits
	n := Init(a, 1)
	weight, beta := n.Get("smolgen.weight"), n.Get(BlockName(1)+".smolgen.ln2.beta")
	reaches := func(head, from, to int) bool {
		sum := float32(0)
		for u := range units {
			sum += beta[head*units+u] * weight[(from*64+to)*units+u]
		}
		if sum != 0 && sum != moveLogit {
			t.Fatalf("head %d begins with %v from %d to %d", head, sum, from, to)
		}
		return sum > 0
	}
	for from := range 64 {
		queenOrKnight := encoding.SquareMap(from)
		for to := range 64 {
			some := reaches(0, from, to) || reaches(1, from, to) || reaches(2, from, to)
			if some != (queenOrKnight[to] == 1) || reaches(3, from, to) && !some || reaches(4, from, to) != reaches(0, from, to) {
				t.Fatalf("from %d to %d", from, to)
			}
		}
	}
	for move, heads := range map[string]string{"a1a8": "0", "a1a2": "03", "a1h8": "1", "a1b2": "13", "a1b3": "2", "a1c4": ""} {
		square := func(s string) int { return int(s[0]-'a') + 8*int(s[1]-'1') }
		for head := range 4 {
			if got := reaches(head, square(move[:2]), square(move[2:])); got != strings.Contains(heads, fmt.Sprint(head)) {
				t.Errorf("head %d, %s: %v", head, move, got)
			}
		}
	}
}
