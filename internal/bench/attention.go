package bench

import (
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// attentionCases lists the kernels of an encoder, in their order: the layers on each
// square in both precisions, and the passes between them.
func attentionCases(o *Options) (cases []kernelCase) {
	e, width := o.Arch.Blocks[1], o.Arch.Width()
	inner := e.Heads * e.HeadWidth
	for _, p := range o.precisions() {
		for _, size := range [][2]int{{width, 3 * inner}, {inner, width}, {width, e.Hidden}, {e.Hidden, width}} {
			cases = append(cases, squaresCase(size[0], size[1], p))
		}
	}
	if !slices.Contains(o.precisions(), kernel.FP32) {
		return cases // the others have fp32 only
	}
	return append(cases, layerNormCase(width), softmaxCase(e))
}

// squaresCase is a fully connected layer on each square with bias and ReLU.
func squaresCase(in, out int, p kernel.Precision) kernelCase {
	half := p == kernel.BF16 && kernel.MatMulHasBF16(in, out)
	return kernelCase{fmt.Sprintf("squares %d>%d %s", in, out, p), p, 2 * squares * in * out, func(f *floats, boards int) func() {
		rows := boards * squares
		x, y, bias, w := f.slice(rows*in), make([]float32, rows*out), f.slice(out), f.slice(in*out)
		if half {
			packed, scratch := make([]float32, kernel.PackedMatBF16Len(in, out)), make([]float32, kernel.MatMulBF16ScratchLen(in, out))
			kernel.PackMatBF16(packed, w, in, out)
			return func() { kernel.MatMulBF16(y, x, packed, bias, rows, in, out, kernel.ReLU, scratch) }
		}
		packed := make([]float32, kernel.PackedMatLen(in, out))
		kernel.PackMat(packed, w, in, out)
		return func() { kernel.MatMul(y, x, packed, bias, rows, in, out, kernel.ReLU) }
	}}
}

// layerNormCase is the norm of the sum of a layer and its input: bound by memory.
func layerNormCase(c int) kernelCase {
	return kernelCase{fmt.Sprintf("layer norm %d", c), kernel.FP32, 8 * squares * c, func(f *floats, boards int) func() {
		x, skip, gamma, beta := f.slice(boards*squares*c), f.slice(boards*squares*c), f.slice(c), f.slice(c)
		y := make([]float32, len(x))
		return func() { kernel.LayerNorm(y, x, skip, 0.5, gamma, beta, boards*squares, c, nn.InnerEpsilon) }
	}}
}

// softmaxCase is the softmax of all heads of an encoder, some five operations a number.
func softmaxCase(e nn.Block) kernelCase {
	rows := e.Heads * squares
	return kernelCase{fmt.Sprintf("softmax %dx%d", rows, squares), kernel.FP32, 5 * rows * squares, func(f *floats, boards int) func() {
		p := f.slice(boards * rows * squares)
		return func() { kernel.SoftmaxRows(p, boards*rows, squares) }
	}}
}
