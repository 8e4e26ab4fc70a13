package reference

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
)

// zeroNet returns a net of one filter and one block whose weights are 0 and
// whose batch norm changes nothing.
func zeroNet(t *testing.T, name string) *nn.Net {
	t.Helper()
	a := nntest.Named(name)
	for i := range a.Heads[1:] {
		a.Heads[1+i].Channels, a.Heads[1+i].Hidden = 1, 1
	}
	n := nn.Init(a, 1)
	for i, s := range nn.Specs(a) {
		for j := range n.Params[i].Data {
			switch s.Kind {
			case nn.Gamma:
				n.Params[i].Data[j] = 1
			case nn.Var:
				n.Params[i].Data[j] = 1 - 1e-5
			default:
				n.Params[i].Data[j] = 0
			}
		}
	}
	return n
}

// tap is the place of (dy, dx) in a 3x3 kernel.
func tap(dy, dx int) int { return (dy+1)*3 + dx + 1 }

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	// Weights are float32: 1 - 1e-5 and the like are good to 6e-8.
	if math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// One man on b2 goes by hand through every kind of layer.
func TestForwardByHand(t *testing.T) {
	n := zeroNet(t, "1x1")
	n.Get("input.conv.weight")[3*9+tap(-1, 0)] = 2 // plane 3, one rank below: b2 shows at b3
	n.Get("input.conv.weight")[109*9+tap(0, 0)] = 99
	n.Get("input.bn.mean")[0] = 10 // rule50 = 10 elsewhere: act(0)
	n.Get("tower.0.conv1.weight")[tap(0, -1)] = 3
	n.Get("tower.0.bn1.gamma")[0] = .5 // h = 3 on c3
	n.Get("tower.0.conv2.weight")[tap(0, 1)] = 1
	n.Get("tower.0.bn2.beta")[0] = -1 // y = 2 on b3, -1 elsewhere
	n.Get("tower.0.se.fc1.weight")[0] = -64
	n.Get("tower.0.se.fc1.bias")[0] = -60 // pool = (2-63)/64: 61 - 60 = 1
	n.Get("tower.0.se.fc2.weight")[0] = 2 // gate = sigmoid(2)
	n.Get("tower.0.se.fc2.bias")[1] = .25 // beta
	gate := 1 / (1 + math.Exp(-2))
	x := 2*gate + .25 + 2 // on b3; elsewhere act(.25 - gate) = 0

	n.Get("policy.conv1.weight")[tap(0, 0)] = 1
	n.Get("policy.conv2.weight")[0*9+tap(0, 0)] = 1 // plane 0: one square north
	n.Get("policy.conv2.bias")[7] = .5              // plane 7: one square north-east
	n.Get("value.conv.weight")[0] = 1
	n.Get("value.fc1.weight")[17] = 1 // square b3
	copy(n.Get("value.fc2.weight"), []float32{1, 0, -1})
	n.Get("moves_left.conv.weight")[0] = 2
	n.Get("moves_left.fc1.weight")[17] = 3
	n.Get("moves_left.fc2.weight")[0] = 10
	n.Get("moves_left.fc2.bias")[0] = -1

	var masks [encoding.NumMasks]uint64
	masks[3] = 1 << 9
	out := Forward(n, &masks, &encoding.Scalars{Rule50: 10})
	index := func(plane, from int) int { return slices.Index(encoding.ConvPolicyIndex()[:], uint16(plane*64+from)) }
	near(t, "b3b4", out.Policy[index(0, 17)], x)
	near(t, "b2b3", out.Policy[index(0, 9)], 0)
	near(t, "a1b2", out.Policy[index(7, 0)], .5)
	near(t, "loss logit", out.Value[2], -x)
	near(t, "win", out.WDL[0], math.Exp(x)/(math.Exp(x)+1+math.Exp(-x)))
	near(t, "moves left", out.MovesLeft, 60*x-1)
}

func TestForwardOtherHeads(t *testing.T) {
	n := zeroNet(t, "1x1-plain-mish-classical-scalar-noml")
	n.Get("input.conv.weight")[111*9+tap(0, 0)] = -1 // the plane of ones
	mish := func(x float64) float64 { return x * math.Tanh(math.Log(1+math.Exp(x))) }
	x := mish(mish(-1)) // the block adds nothing
	n.Get("policy.conv1.weight")[31] = 4
	n.Get("policy.fc.weight")[1857*2048+31*64+63] = 2
	n.Get("value.conv.weight")[0] = 1
	n.Get("value.fc1.weight")[5] = 1
	n.Get("value.fc2.weight")[0] = 1
	n.Get("value.fc2.bias")[0] = 1
	var masks [encoding.NumMasks]uint64
	out := Forward(n, &masks, &encoding.Scalars{})
	near(t, "last policy index", out.Policy[1857], 2*mish(4*x))
	v := math.Tanh(1 + mish(mish(x)))
	near(t, "win", out.WDL[0], (1+v)/2)
	near(t, "draw", out.WDL[1], 0)
	near(t, "moves left", out.MovesLeft, 0)
}

// A pooled head reads the mean of a channel: one man shows with a 64th.
func TestForwardPooled(t *testing.T) {
	n := zeroNet(t, "1x1-plain-pooled-noml")
	n.Get("input.conv.weight")[3*9+tap(0, 0)] = 32
	n.Get("value.conv.weight")[0] = 1
	n.Get("value.fc1.weight")[0] = 3
	n.Get("value.fc1.bias")[0] = -1
	n.Get("value.fc2.weight")[2] = 2
	var masks [encoding.NumMasks]uint64
	masks[3] = 1<<9 | 1<<60
	out := Forward(n, &masks, &encoding.Scalars{})
	near(t, "loss logit", out.Value[2], 2*(3*(2*32./64)-1))
	near(t, "win logit", out.Value[0], 0)
}

func TestEvaluator(t *testing.T) {
	n := zeroNet(t, "1x1")
	copy(n.Get("policy.conv2.bias"), []float32{float32(math.Log(3))}) // north
	b, conv := encoding.NewBatch(1), encoding.ConvPolicyIndex()[:]
	b.Grow(2)
	b.LegalOf(0)[0], b.LegalOf(0)[1] = uint16(slices.Index(conv, 0)), uint16(slices.Index(conv, 14*64))
	e := &Evaluator{n}
	if err := e.Evaluate(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	near(t, "a1a2", float64(b.Prior[0]), .75)
	near(t, "a1b1", float64(b.Prior[1]), .25)
	near(t, "draw", float64(b.WDL[0][1]), 1./3)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Evaluate(ctx, b); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
