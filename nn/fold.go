package nn

import (
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
)

// BatchNormEpsilon is added to the variance under the square root.
const BatchNormEpsilon = 1e-5

// Conv is a convolution with a bias: Weight [Co][Ci][K][K], Bias [Co]. Name and, where
// batch norm is folded into it, BN are what the parameters' names begin with.
type Conv struct {
	Ci, Co, K    int
	Weight, Bias []float32
	Name, BN     string
}

// Dense is a fully connected layer: Weight [Out][In], Bias [Out]. After a
// convolution the inputs are numbered channel*64 + square.
type Dense struct {
	In, Out      int
	Weight, Bias []float32
	Name         string
}

// Layers are those of a block or a head, in the order of their use: convolutions, then
// fully connected layers. A residual block's fully connected layers are those of its
// squeeze-and-excitation.
type Layers struct {
	Convs []Conv
	Dense []Dense
}

// Folded is a tower for inference: batch norm is part of the convolutions. Blocks and
// Heads stand beside those of Arch. Data of layers without batch norm is shared with the
// net that it was made from.
type Folded struct {
	Arch          Arch
	Blocks, Heads []Layers
}

// All lists the layers of all blocks and heads.
func (f *Folded) All() []Layers { return slices.Concat(f.Blocks, f.Heads) }

// Fold folds batch norm into the convolutions before it: with s =
// gamma/sqrt(var+1e-5), weights*s and beta - mean*s, in float64. n must be valid
// (Net.Validate) and no sparse net, whose parameters are used as they are, as those of an
// attention net's blocks are; these have no layers here. Pooled heads
// become flattened ones (Flatten), and heads that play does not use go, also in the result's
// Arch.
func Fold(n *Net) *Folded { return FoldAll(n.Playing()) }

// FoldAll is Fold that keeps all heads.
func FoldAll(n *Net) *Folded {
	n = Flatten(n)
	f := &Folded{Arch: n.Arch}
	for i, b := range n.Arch.Blocks {
		var l Layers
		switch name := BlockName(i); b.Kind {
		case BlockInput:
			l.Convs = []Conv{n.foldConv(name+".conv", name+".bn")}
		case BlockResidual:
			l.Convs = []Conv{n.foldConv(name+".conv1", name+".bn1"), n.foldConv(name+".conv2", name+".bn2")}
			if b.SERatio > 0 {
				l.Dense = n.dense(name+".se.fc1", name+".se.fc2")
			}
		}
		f.Blocks = append(f.Blocks, l)
	}
	for _, h := range n.Arch.Heads {
		var l Layers
		switch name := h.Prefix(); h.Kind {
		case PolicyConvolutional:
			l.Convs = []Conv{n.foldConv(name+".conv1", name+".bn"), n.conv(name + ".conv2")}
			l.Convs[1].Bias = n.Get(name + ".conv2.bias")
		case PolicyClassical:
			l = Layers{[]Conv{n.foldConv(name+".conv1", name+".bn")}, n.dense(name + ".fc")}
		case PolicyAttention, PolicyEncoded:
			l.Dense = n.dense(name+".embedding", name+".q", name+".k", name+".promotion")
		case HeadFlattened:
			l = Layers{[]Conv{n.foldConv(name+".conv", name+".bn")}, n.dense(name+".fc1", name+".fc2")}
		}
		f.Heads = append(f.Heads, l)
	}
	return f
}

// Flatten returns a net that computes the same with flattened heads in the place of
// pooled ones, or n where it has none; all other data is shared. A mean is linear: it
// becomes part of the layer behind it, w[h, c*64+sq] = w[h, c]/64.
func Flatten(n *Net) *Net {
	out := &Net{Arch: n.Arch.Clone(), Params: slices.Clone(n.Params)}
	for i, h := range n.Arch.Heads {
		if h.Kind != HeadPooled {
			continue
		}
		out.Arch.Heads[i].Kind = HeadFlattened
		p := out.param(h.Prefix() + ".fc1.weight")
		wide := make([]float32, 0, len(p.Data)*encoding.NumSquares)
		for _, w := range p.Data {
			wide = append(wide, slices.Repeat([]float32{w / encoding.NumSquares}, encoding.NumSquares)...)
		}
		p.Shape, p.Data = []int{h.Hidden, h.Channels * encoding.NumSquares}, wide
	}
	if out.Arch.Equal(n.Arch) {
		return n
	}
	return out
}

// Scaled returns a copy of d with its outputs times factor.
func (d Dense) Scaled(factor float64) Dense {
	times := func(v []float32) []float32 {
		out := make([]float32, len(v))
		for i, x := range v {
			out[i] = float32(float64(x) * factor)
		}
		return out
	}
	d.Weight, d.Bias = times(d.Weight), times(d.Bias)
	return d
}

// dense returns fully connected layers, whose data is shared.
func (n *Net) dense(names ...string) (list []Dense) {
	for _, name := range names {
		list = append(list, n.Dense(name))
	}
	return list
}

// Dense returns the fully connected layer of a name, whose data is shared. n must have it.
func (n *Net) Dense(name string) Dense {
	p := n.param(name + ".weight")
	return Dense{In: p.Shape[1], Out: p.Shape[0], Weight: p.Data, Bias: n.Get(name + ".bias"), Name: name}
}

// conv returns a convolution without bias, whose weights are shared.
func (n *Net) conv(name string) Conv {
	p := n.param(name + ".weight")
	return Conv{Co: p.Shape[0], Ci: p.Shape[1], K: p.Shape[2], Weight: p.Data, Name: name}
}

func (n *Net) foldConv(conv, bn string) Conv {
	c := n.conv(conv)
	w := c.Weight
	gamma, beta, mean, variance := n.Get(bn+".gamma"), n.Get(bn+".beta"), n.Get(bn+".mean"), n.Get(bn+".var")
	size := c.Ci * c.K * c.K
	c.Weight, c.Bias, c.BN = make([]float32, len(w)), make([]float32, c.Co), bn
	for o := range c.Co {
		s := float64(gamma[o]) / math.Sqrt(float64(variance[o])+BatchNormEpsilon)
		c.Bias[o] = float32(float64(beta[o]) - float64(mean[o])*s)
		for i, v := range w[o*size:][:size] {
			c.Weight[o*size+i] = float32(float64(v) * s)
		}
	}
	return c
}
