package cpu

import (
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Net is a net packed for inference. It is immutable and safe for use by many
// goroutines.
type Net struct {
	arch        nn.Arch
	id          string
	act         kernel.Act
	precision   kernel.Precision // of products
	input       conv3
	tower       []block
	policyConv1 conv3                       // convolutional policy head
	policyConv2 conv3                       // the same
	policyProj  kernelMat                   // classical policy head: 1x1 convolution
	policyFC    kernelMat                   // the same
	moves       *[encoding.NumPolicy]uint16 // convolutional head: policy index -> plane*64 + from square
	value       scalarHead
	movesLeft   *scalarHead // nil without
}

// conv3 is a packed 3x3 convolution.
type conv3 struct {
	ci, co       int
	packed, bias []float32
}

// kernelMat is a packed matrix: a 1x1 convolution or a fully connected layer.
type kernelMat struct {
	k, n         int
	packed, bias []float32
}

// block is a residual block; se1.packed is nil without squeeze-and-excitation.
type block struct {
	conv1, conv2 conv3
	se1, se2     kernelMat
}

type scalarHead struct{ conv, fc1, fc2 kernelMat }

// New packs a net: batch norm is folded, and the columns of layers after a
// convolution go from channel*64 + square to square*channels + channel. n is not
// kept. Errors wrap nn.ErrArch, nn.ErrParams or nn.ErrNotFinite. All of nn.Arch
// is supported. p is the precision of the 3x3 convolutions; BF16 means FP32 where
// the active tier has none (kernel.HasBF16).
func New(n *nn.Net, p kernel.Precision) (*Net, error) {
	if err := n.Validate(); err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	if err := n.CheckFinite(); err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	f := nn.Fold(n)
	c := &Net{arch: n.Arch, id: n.ID(), act: kernel.ReLU, precision: p, input: packConv3(f.Input, p)}
	if n.Arch.Activation == nn.Mish {
		c.act = kernel.Mish
	}
	for i := range f.Tower {
		fb := &f.Tower[i]
		b := block{conv1: packConv3(fb.Conv1, p), conv2: packConv3(fb.Conv2, p)}
		if fb.SE1 != nil {
			b.se1, b.se2 = packDense(*fb.SE1), packDense(*fb.SE2)
		}
		c.tower = append(c.tower, b)
	}
	if f.PolicyFC != nil {
		c.policyProj = packConv1(f.PolicyConv1)
		c.policyFC = packSquares(*f.PolicyFC)
	} else {
		c.policyConv1 = packConv3(f.PolicyConv1, p)
		c.policyConv2 = packConv3(*f.PolicyConv2, p)
		c.moves = encoding.ConvPolicyIndex()
	}
	c.value = packHead(&f.Value)
	if f.MovesLeft != nil {
		h := packHead(f.MovesLeft)
		c.movesLeft = &h
	}
	return c, nil
}

// ID returns the identity of the weights, nn.Net.ID.
func (n *Net) ID() string { return n.id }

func packConv3(c nn.Conv, p kernel.Precision) conv3 {
	packed := make([]float32, kernel.PackedConv3Len(c.Ci, c.Co, p))
	kernel.PackConv3(packed, c.Weight, c.Ci, c.Co, p)
	return conv3{ci: c.Ci, co: c.Co, packed: packed, bias: append([]float32(nil), c.Bias...)}
}

func packMat(w, bias []float32, k, n int) kernelMat {
	p := make([]float32, kernel.PackedMatLen(k, n))
	kernel.PackMat(p, w, k, n)
	return kernelMat{k: k, n: n, packed: p, bias: append([]float32(nil), bias...)}
}

func packConv1(c nn.Conv) kernelMat { return packMat(c.Weight, c.Bias, c.Ci, c.Co) }

func packDense(d nn.Dense) kernelMat { return packMat(d.Weight, d.Bias, d.In, d.Out) }

// packSquares packs a layer after a convolution for channels-last activations.
func packSquares(d nn.Dense) kernelMat {
	const squares = encoding.NumSquares
	channels := d.In / squares
	w := make([]float32, len(d.Weight))
	for o := range d.Out {
		from, to := d.Weight[o*d.In:][:d.In], w[o*d.In:][:d.In]
		for c := range channels {
			for sq := range squares {
				to[sq*channels+c] = from[c*squares+sq]
			}
		}
	}
	return packMat(w, d.Bias, d.In, d.Out)
}

func packHead(h *nn.ScalarHead) scalarHead {
	return scalarHead{conv: packConv1(h.Conv), fc1: packSquares(h.FC1), fc2: packDense(h.FC2)}
}
