package cpu

import (
	"cmp"
	"fmt"
	"slices"

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
	policyConv2 conv3                       // the same, packed for the logits of legal moves alone
	policyProj  kernelMat                   // classical policy head: 1x1 convolution
	policyFC    kernelMat                   // the same
	moves       *[encoding.NumPolicy]uint16 // convolutional head: policy index -> plane*64 + from square
	value       scalarHead
	movesLeft   *scalarHead // nil without
	sparse      *sparseNet  // a sparse net, which has nothing of a tower
}

// conv3 is a packed 3x3 convolution.
type conv3 struct {
	ci, co       int
	packed, bias []float32
}

// kernelMat is a packed matrix: a 1x1 convolution or a fully connected layer.
type kernelMat struct {
	k, n         int
	half         bool // packed for bf16 products
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
// is supported. p is the precision of products; BF16 means FP32 where the active
// tier has none (kernel.HasBF16), and for layers of few outputs.
func New(n *nn.Net, p kernel.Precision) (*Net, error) {
	if err := cmp.Or(n.Validate(), n.CheckFinite()); err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	if n.Arch.Sparse() {
		return &Net{arch: n.Arch, id: n.ID(), precision: p, sparse: packSparse(n, p)}, nil
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
			b.se1, b.se2 = packDense(*fb.SE1, p), packDense(*fb.SE2, p)
		}
		c.tower = append(c.tower, b)
	}
	if f.PolicyFC != nil {
		c.policyProj = packConv1(f.PolicyConv1, p)
		c.policyFC = packSquares(*f.PolicyFC, p)
	} else {
		c.policyConv1 = packConv3(f.PolicyConv1, p)
		c.policyConv2 = packPolicyConv(*f.PolicyConv2, p)
		c.moves = encoding.ConvPolicyIndex()
	}
	c.value = packHead(&f.Value, p)
	if f.MovesLeft != nil {
		h := packHead(f.MovesLeft, p)
		c.movesLeft = &h
	}
	return c, nil
}

// mats lists all matrices.
func (n *Net) mats() []kernelMat {
	if s := n.sparse; s != nil {
		return []kernelMat{s.policy, s.value, s.valueOut, s.movesLeftOut}
	}
	list := []kernelMat{n.policyProj, n.policyFC, n.value.conv, n.value.fc1, n.value.fc2}
	for _, b := range n.tower {
		list = append(list, b.se1, b.se2)
	}
	if h := n.movesLeft; h != nil {
		list = append(list, h.conv, h.fc1, h.fc2)
	}
	return list
}

// matScratchLen is what a product with any of the matrices needs.
func (n *Net) matScratchLen() (most int) {
	for _, m := range n.mats() {
		if m.half {
			most = max(most, kernel.MatMulBF16ScratchLen(m.k, m.n))
		}
	}
	return most
}

// ID returns the identity of the weights, nn.Net.ID.
func (n *Net) ID() string { return n.id }

func packConv3(c nn.Conv, p kernel.Precision) conv3 {
	packed := make([]float32, kernel.PackedConv3Len(c.Ci, c.Co, p))
	kernel.PackConv3(packed, c.Weight, c.Ci, c.Co, p)
	return conv3{ci: c.Ci, co: c.Co, packed: packed, bias: slices.Clone(c.Bias)}
}

func packPolicyConv(c nn.Conv, p kernel.Precision) conv3 {
	packed := make([]float32, kernel.PackedPolicyConvLen(c.Ci, c.Co, p))
	kernel.PackPolicyConv(packed, c.Weight, c.Ci, c.Co, p)
	return conv3{ci: c.Ci, co: c.Co, packed: packed, bias: slices.Clone(c.Bias)}
}

func packDense(d nn.Dense, p kernel.Precision) kernelMat {
	m := kernelMat{k: d.In, n: d.Out, half: p == kernel.BF16 && kernel.MatMulHasBF16(d.In, d.Out), bias: slices.Clone(d.Bias)}
	if m.half {
		m.packed = make([]float32, kernel.PackedMatBF16Len(m.k, m.n))
		kernel.PackMatBF16(m.packed, d.Weight, m.k, m.n)
	} else {
		m.packed = make([]float32, kernel.PackedMatLen(m.k, m.n))
		kernel.PackMat(m.packed, d.Weight, m.k, m.n)
	}
	return m
}

func packConv1(c nn.Conv, p kernel.Precision) kernelMat {
	return packDense(nn.Dense{In: c.Ci, Out: c.Co, Weight: c.Weight, Bias: c.Bias}, p)
}

// packSquares packs a layer after a convolution for channels-last activations.
func packSquares(d nn.Dense, p kernel.Precision) kernelMat {
	w := make([]float32, len(d.Weight))
	kernel.TransposeRows(w, d.Weight, d.Out, d.In/encoding.NumSquares, encoding.NumSquares)
	d.Weight = w
	return packDense(d, p)
}

func packHead(h *nn.ScalarHead, p kernel.Precision) scalarHead {
	return scalarHead{conv: packConv1(h.Conv, p), fc1: packSquares(h.FC1, p), fc2: packDense(h.FC2, p)}
}
