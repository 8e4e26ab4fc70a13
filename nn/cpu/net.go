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
	act         kernel.Act
	precision   kernel.Precision // of products
	input       conv3
	tower       []block
	policyConv1 conv3                       // convolutional policy head
	policyConv2 conv3                       // the same, packed for the logits of legal moves alone
	policyProj  kernelMat                   // classical policy head: 1x1 convolution
	policyFC    kernelMat                   // the same
	moves       *[encoding.NumPolicy]uint16 // convolutional head: policy index -> plane*64 + from square
	attentive   *attentionPolicy            // attention policy head
	value       scalarHead
	movesLeft   *scalarHead    // nil without
	attention   *attentionBody // an attention net, which has no convolution
	sparse      *sparseNet     // a sparse net, which has nothing of a tower
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

// kinds are the blocks and heads that this package computes.
var kinds = []string{nn.BlockInput, nn.BlockResidual, nn.PolicyConvolutional, nn.PolicyClassical, nn.HeadFlattened, nn.HeadPooled,
	nn.BlockEmbedding, nn.BlockDenseEmbedding, nn.BlockEncoder, nn.BlockSmolgen, nn.PolicyAttention, nn.PolicyEncoded, nn.BlockSparse, nn.PolicyMoves, nn.HeadDense, nn.HeadShared, nn.AnyInput}

// New packs a net: batch norm is folded, and the columns of layers after a
// convolution go from channel*64 + square to square*channels + channel. n is not
// kept. Errors wrap nn.ErrArch, nn.ErrParams or nn.ErrNotFinite. p is the precision
// of products, and of the tables of a sparse net; BF16 means FP32 where the active tier
// has none (kernel.HasBF16, kernel.RowsInBF16), and for layers of few outputs.
func New(n *nn.Net, p kernel.Precision) (*Net, error) {
	if err := cmp.Or(n.Validate(), n.CheckFinite(), n.Arch.Only("inference on a CPU", kinds...)); err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	c := &Net{arch: n.Arch.Clone(), precision: p}
	if n.Arch.Sparse() {
		c.sparse = packSparse(n, p)
		return c, nil
	}
	c.act = kernel.ActOf(n.Arch.Activation)
	if n.Arch.Attention() {
		c.attention = packAttention(n, p)
	}
	f := nn.Fold(n)
	for i, b := range f.Arch.Blocks {
		switch l := f.Blocks[i]; b.Kind {
		case nn.BlockInput:
			c.input = packConv3(l.Convs[0], p)
		case nn.BlockResidual:
			k := block{conv1: packConv3(l.Convs[0], p), conv2: packConv3(l.Convs[1], p)}
			if l.Dense != nil {
				k.se1, k.se2 = packDense(l.Dense[0], p), packDense(l.Dense[1], p)
			}
			c.tower = append(c.tower, k)
		}
	}
	for i, h := range f.Arch.Heads {
		switch l := f.Heads[i]; h.Kind {
		case nn.PolicyConvolutional:
			c.policyConv1, c.policyConv2 = packConv3(l.Convs[0], p), packPolicyConv(l.Convs[1], p)
			c.moves = encoding.ConvPolicyIndex()
		case nn.PolicyClassical:
			c.policyProj, c.policyFC = packConv1(l.Convs[0], p), packSquares(l.Dense[0], p)
		case nn.PolicyAttention, nn.PolicyEncoded:
			c.attentive = packAttentionPolicy(n, l, p)
		case nn.HeadFlattened:
			packed := scalarHead{conv: packConv1(l.Convs[0], p), fc1: packSquares(l.Dense[0], p), fc2: packDense(l.Dense[1], p)}
			if h.Output == nn.Value {
				c.value = packed
			} else {
				c.movesLeft = &packed
			}
		}
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
	if n.attention != nil {
		list = append(list, n.attention.mats()...)
	}
	if n.attentive != nil {
		list = append(list, n.attentive.embedding, n.attentive.qk)
		if s := n.attentive.stack; s != nil {
			list = append(list, s.mats()...)
		}
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
