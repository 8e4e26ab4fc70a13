package cpu

import (
	"testing"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// floats returns how many float32 the packed net holds.
func (n *Net) floats() int {
	sum := len(n.policyConv2.packed) + len(n.policyConv2.bias)
	conv := func(c *conv3) { sum += len(c.packed) + len(c.bias) }
	conv(&n.input)
	conv(&n.policyConv1)
	for i := range n.tower {
		conv(&n.tower[i].conv1)
		conv(&n.tower[i].conv2)
	}
	for _, m := range n.mats() {
		sum += len(m.packed) + len(m.bias)
	}
	return sum
}

// A net packed for bf16 takes at most twice the memory of its fp32 weights.
func TestPackedMemory(t *testing.T) {
	if !kernel.HasBF16() {
		t.Skip("SKIPPED: this CPU has no bf16 products, and the 36 points of 9 taps take 4 times the weights in fp32")
	}
	for _, name := range []string{"32x4", "64x6", "64x6-plain", "64x6-classical", "128x10", "192x10-plain"} {
		n := nn.Init(mustArch(t, name), 1)
		c, err := New(n, kernel.BF16)
		if err != nil {
			t.Fatal(err)
		}
		weights := 0
		for _, p := range n.Params {
			weights += len(p.Data)
		}
		for i := range c.tower {
			if v := &c.tower[i].conv1; len(v.packed) > 2*9*v.ci*v.co {
				t.Errorf("%s: a convolution %d to %d takes %d floats: more than twice its weights", name, v.ci, v.co, len(v.packed))
			}
		}
		ratio := float64(c.floats()) / float64(weights)
		t.Logf("%s: %.3f times the weights", name, ratio)
		if ratio > 2 {
			t.Errorf("%s: %d floats for %d weights: more than twice", name, c.floats(), weights)
		}
	}
}
