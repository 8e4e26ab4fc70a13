package reference

import (
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// Output is what a net says of one position, from the side to move's view.
type Output struct {
	Policy    []float64  // [1858] logits by policy index
	Value     []float64  // outputs of the value head: 3 logits, or 1 number before tanh
	WDL       [3]float64 // probabilities; scalar value v: ((1+v)/2, 0, (1-v)/2)
	MovesLeft float64    // plies, >= 0; 0 without the head
	Auxiliary []float64  // outputs of the auxiliary head; nil without
}

// planes are the activations of one board, [channel][64].
type planes [][]float64

// forward holds a net while one position goes through it: the numbers of a parameter, nil
// where there is none of that name.
type forward struct {
	arch nn.Arch
	get  func(name string) []float64
}

func forwardOf(n *nn.Net) forward {
	return forward{n.Arch, func(name string) []float64 {
		data := n.Get(name)
		if data == nil {
			return nil
		}
		x := make([]float64, len(data))
		for i, v := range data {
			x[i] = float64(v)
		}
		return x
	}}
}

// Forward returns the output of a valid net for one position. A sparse net reads its legal
// moves, too, and says of them alone something in Output.Policy. It panics at a kind of
// block or head that it does not know.
func Forward(n *nn.Net, masks *[encoding.NumMasks]uint64, s *encoding.Scalars, legal ...uint16) Output {
	f := forwardOf(n)
	if n.Arch.Sparse() {
		return f.sparse(n, masks, s, legal)
	}
	x := f.body(masks, s)
	var out Output
	for _, h := range n.Arch.Heads {
		if h.Name != "" {
			continue
		}
		y := f.head(x, h)
		switch h.Output {
		case nn.Policy:
			out.Policy = y
		case nn.Value:
			out.Value, out.WDL = y, wdl(y, h.Form)
		case nn.MovesLeft:
			out.MovesLeft = math.Max(0, y[0])
		case nn.Auxiliary:
			out.Auxiliary = y
		}
	}
	return out
}

// body takes a position through the blocks.
func (f forward) body(masks *[encoding.NumMasks]uint64, s *encoding.Scalars) (x planes) {
	for i, b := range f.arch.Blocks {
		switch b.Kind {
		case nn.BlockInput:
			x = f.unit(inputPlanes(masks, s), "input.conv", "input.bn", true)
		case nn.BlockResidual:
			x = f.block(x, nn.BlockName(i), b.SERatio > 0)
		case nn.BlockEmbedding, nn.BlockDenseEmbedding:
			x = f.embedding(inputPlanes(masks, s), b)
		case nn.BlockEncoder, nn.BlockSmolgen:
			x = f.encoder(x, nn.BlockName(i), b, f.arch.BodyResidual())
		default:
			panic("reference: no block of kind " + b.Kind)
		}
	}
	return x
}

// wdl returns probabilities of the outputs of a value head.
func wdl(y []float64, form string) [3]float64 {
	if form == nn.ValueScalar {
		v := math.Tanh(y[0])
		return [3]float64{(1 + v) / 2, 0, (1 - v) / 2}
	}
	return [3]float64(Softmax(y))
}

func inputPlanes(masks *[encoding.NumMasks]uint64, s *encoding.Scalars) planes {
	flat := make([]float32, encoding.NumPlanes*64)
	encoding.ExpandPlanes(flat, masks, s)
	x := newPlanes(encoding.NumPlanes)
	for c := range x {
		for sq := range 64 {
			x[c][sq] = float64(flat[c*64+sq])
		}
	}
	return x
}

func newPlanes(channels int) planes {
	x := make(planes, channels)
	for c := range x {
		x[c] = make([]float64, 64)
	}
	return x
}

func (f forward) act(x float64) float64 { return activate(f.arch.Activation, x) }

func activate(name string, x float64) float64 {
	switch name {
	case nn.ReLU:
		return math.Max(0, x)
	case nn.ReLU2:
		return math.Max(0, x) * math.Max(0, x)
	case nn.Swish:
		return x / (1 + math.Exp(-x))
	case nn.SELU:
		if x < 0 {
			x = 1.67326324 * math.Expm1(x)
		}
		return 1.05070098 * x
	case nn.Mish:
		if x > 30 {
			return x
		}
		return x * math.Tanh(math.Log1p(math.Exp(x)))
	}
	panic("reference: no activation " + name)
}

// unit is a convolution, batch norm, and the activation if act.
func (f forward) unit(x planes, conv, bn string, act bool) planes {
	y := f.conv(x, conv)
	gamma, beta := f.get(bn+".gamma"), f.get(bn+".beta")
	mean, variance := f.get(bn+".mean"), f.get(bn+".var")
	for c := range y {
		for sq, v := range y[c] {
			v = (v-mean[c])/math.Sqrt(variance[c]+1e-5)*gamma[c] + beta[c]
			if act {
				v = f.act(v)
			}
			y[c][sq] = v
		}
	}
	return y
}

// conv is a cross-correlation with zero padding.
func (f forward) conv(x planes, name string) planes {
	w, bias := f.get(name+".weight"), f.get(name+".bias")
	specs := nn.Specs(f.arch)
	i := slices.IndexFunc(specs, func(s nn.ParamSpec) bool { return s.Name == name+".weight" })
	size := specs[i].Shape[2]
	pad := size / 2
	y := newPlanes(len(w) / (len(x) * size * size))
	for o := range y {
		for sq := range 64 {
			sum := 0.0
			if bias != nil {
				sum = bias[o]
			}
			for ky := range size {
				for kx := range size {
					rank, file := sq/8+ky-pad, sq%8+kx-pad
					if rank < 0 || rank > 7 || file < 0 || file > 7 {
						continue
					}
					for i := range x {
						sum += w[((o*len(x)+i)*size+ky)*size+kx] * x[i][rank*8+file]
					}
				}
			}
			y[o][sq] = sum
		}
	}
	return y
}

// dense returns W x + b.
func (f forward) dense(x []float64, name string) []float64 {
	w, y := f.get(name+".weight"), slices.Clone(f.get(name+".bias"))
	for o := range y {
		for i, v := range x {
			y[o] += w[o*len(x)+i] * v
		}
	}
	return y
}

func (f forward) denseAct(x []float64, name string) []float64 {
	y := f.dense(x, name)
	for i, v := range y {
		y[i] = f.act(v)
	}
	return y
}

// block is a residual block: act(SE(y) + x), y = bn2(conv2(act(bn1(conv1(x))))).
func (f forward) block(x planes, name string, se bool) planes {
	y := f.unit(f.unit(x, name+".conv1", name+".bn1", true), name+".conv2", name+".bn2", false)
	if se {
		film := f.dense(f.denseAct(means(y), name+".se.fc1"), name+".se.fc2")
		for c := range y {
			gate := 1 / (1 + math.Exp(-film[c]))
			for sq := range y[c] {
				y[c][sq] = gate*y[c][sq] + film[len(y)+c]
			}
		}
	}
	for c := range y {
		for sq := range y[c] {
			y[c][sq] = f.act(y[c][sq] + x[c][sq])
		}
	}
	return y
}

// means are those of each channel over the squares.
func means(x planes) []float64 {
	pool := make([]float64, len(x))
	for c := range x {
		for _, v := range x[c] {
			pool[c] += v / 64
		}
	}
	return pool
}

// flatten orders activations as fully connected layers want: channel*64 + square.
func flatten(x planes) []float64 {
	var flat []float64
	for _, c := range x {
		flat = append(flat, c...)
	}
	return flat
}

// head returns the outputs of a head, before the last activation.
func (f forward) head(x planes, h nn.Head) []float64 {
	name := h.Prefix()
	switch h.Kind {
	case nn.PolicyConvolutional:
		y := f.conv(f.unit(x, name+".conv1", name+".bn", true), name+".conv2")
		logits := make([]float64, encoding.NumPolicy)
		for idx, at := range encoding.ConvPolicyIndex() {
			logits[idx] = y[at/64][at%64]
		}
		return logits
	case nn.PolicyAttention, nn.PolicyEncoded:
		return f.attentionPolicy(x, h)
	case nn.PolicyClassical:
		return f.dense(flatten(f.unit(x, name+".conv1", name+".bn", true)), name+".fc")
	case nn.HeadFlattened:
		y := flatten(f.unit(x, name+".conv", name+".bn", true))
		return f.dense(f.denseAct(y, name+".fc1"), name+".fc2")
	case nn.HeadPooled:
		y := means(f.unit(x, name+".conv", name+".bn", true))
		return f.dense(f.denseAct(y, name+".fc1"), name+".fc2")
	}
	panic("reference: no head of kind " + h.Kind)
}

// Softmax returns exp(z)/sum exp(z).
func Softmax(z []float64) []float64 {
	top := math.Inf(-1)
	for _, v := range z {
		top = math.Max(top, v)
	}
	p := make([]float64, len(z))
	sum := 0.0
	for i, v := range z {
		p[i] = math.Exp(v - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}
