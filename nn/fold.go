package nn

import (
	"fmt"
	"math"
)

// BatchNormEpsilon is added to the variance under the square root.
const BatchNormEpsilon = 1e-5

// Conv is a convolution with a bias: Weight [Co][Ci][K][K], Bias [Co].
type Conv struct {
	Ci, Co, K    int
	Weight, Bias []float32
}

// Dense is a fully connected layer: Weight [Out][In], Bias [Out]. After a
// convolution the inputs are numbered channel*64 + square.
type Dense struct {
	In, Out      int
	Weight, Bias []float32
}

// FoldedBlock is a residual block; SE1 and SE2 are nil without
// squeeze-and-excitation.
type FoldedBlock struct {
	Conv1, Conv2 Conv
	SE1, SE2     *Dense
}

// ScalarHead is the value or the moves-left head.
type ScalarHead struct {
	Conv     Conv // 1x1, then the activation
	FC1, FC2 Dense
}

// Folded is a net for inference: batch norm is part of the convolutions. Data of
// layers without batch norm is shared with the net that it was made from.
type Folded struct {
	Arch        Arch
	Input       Conv
	Tower       []FoldedBlock
	PolicyConv1 Conv
	PolicyConv2 *Conv  // convolutional head
	PolicyFC    *Dense // classical head
	Value       ScalarHead
	MovesLeft   *ScalarHead // nil without
}

// Fold folds batch norm into the convolutions before it: with s =
// gamma/sqrt(var+1e-5), weights*s and beta - mean*s, in float64. n must be valid
// (Net.Validate).
func Fold(n *Net) *Folded {
	a := n.Arch
	f := &Folded{Arch: a, Input: n.foldConv("input.conv", "input.bn", 3)}
	for i := range a.Blocks {
		name := fmt.Sprintf("tower.%d", i)
		b := FoldedBlock{
			Conv1: n.foldConv(name+".conv1", name+".bn1", 3),
			Conv2: n.foldConv(name+".conv2", name+".bn2", 3),
		}
		if a.SEUnits() > 0 {
			b.SE1, b.SE2 = n.dense(name+".se.fc1"), n.dense(name+".se.fc2")
		}
		f.Tower = append(f.Tower, b)
	}
	if a.PolicyHead == PolicyClassical {
		f.PolicyConv1, f.PolicyFC = n.foldConv("policy.conv1", "policy.bn", 1), n.dense("policy.fc")
	} else {
		f.PolicyConv1 = n.foldConv("policy.conv1", "policy.bn", 3)
		f.PolicyConv2 = &Conv{Ci: a.Filters, Co: PolicyPlanes, K: 3, Weight: n.Get("policy.conv2.weight"), Bias: n.Get("policy.conv2.bias")}
	}
	f.Value = *n.scalarHead("value")
	if a.MovesLeft {
		f.MovesLeft = n.scalarHead("moves_left")
	}
	return f
}

func (n *Net) scalarHead(name string) *ScalarHead {
	return &ScalarHead{Conv: n.foldConv(name+".conv", name+".bn", 1), FC1: *n.dense(name + ".fc1"), FC2: *n.dense(name + ".fc2")}
}

func (n *Net) dense(name string) *Dense {
	w, bias := n.Get(name+".weight"), n.Get(name+".bias")
	return &Dense{In: len(w) / len(bias), Out: len(bias), Weight: w, Bias: bias}
}

func (n *Net) foldConv(conv, bn string, k int) Conv {
	w := n.Get(conv + ".weight")
	gamma, beta, mean, variance := n.Get(bn+".gamma"), n.Get(bn+".beta"), n.Get(bn+".mean"), n.Get(bn+".var")
	co := len(gamma)
	size := len(w) / co
	c := Conv{Ci: size / (k * k), Co: co, K: k, Weight: make([]float32, len(w)), Bias: make([]float32, co)}
	for o := range co {
		s := float64(gamma[o]) / math.Sqrt(float64(variance[o])+BatchNormEpsilon)
		c.Bias[o] = float32(float64(beta[o]) - float64(mean[o])*s)
		for i, v := range w[o*size:][:size] {
			c.Weight[o*size+i] = float32(float64(v) * s)
		}
	}
	return c
}
