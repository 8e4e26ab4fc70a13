package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// KernelSpeed is the speed of one kernel at the sizes that the net gives it.
// Boards per second are those of one call, not of the net.
type KernelSpeed struct {
	Kernel string `json:"kernel,omitempty"` // name and sizes, such as "conv3 64>64"; "" = a whole net
	Speed
}

// kernelCase is a kernel at one size.
type kernelCase struct {
	name      string
	precision kernel.Precision
	flops     int // nominal, a board
	make      maker
}

// maker returns a call over boards boards that shares no memory with another.
type maker func(f *floats, boards int) func()

// Kernels measures the kernels at the sizes of o.Arch: convolutions, their
// gradients, the first layer of the value head, and the two passes over
// activations that cost most; or those of an attention net's encoders. A sparse net is
// refused. o.Duration is for each. In PrecisionAuto kernels
// that have a bf16 form are measured in both, each against its own peak.
func Kernels(o Options) (speeds []KernelSpeed, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Arch.Sparse() {
		return nil, fmt.Errorf("%w: the kernels of %s, a sparse net, are not among these, which are those of towers and attention nets; infer and train measure the whole net", ErrOptions, o.Arch)
	}
	cases := kernelCases(&o)
	best, peaks := make([]time.Duration, len(cases)), map[kernel.Precision]float64{}
	measure := func() (err error) {
		for i, c := range cases {
			if best[i], err = bestTime(o.Duration, c.works(&o)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, p := range o.precisions() { // one around the other
		inner := measure
		measure = func() (err error) { peaks[p], err = withPeak(p, inner); return err }
	}
	if err := measure(); err != nil {
		return nil, err
	}
	for i, c := range cases {
		speeds = append(speeds, KernelSpeed{c.name, o.newSpeed(c.precision, best[i], o.Threads, float64(c.flops), peaks[c.precision])})
	}
	return speeds, nil
}

// works makes the calls of all threads.
func (c *kernelCase) works(o *Options) []work {
	works := make([]work, o.Threads)
	for i := range works {
		call := c.make(&floats{rand.New(rand.NewPCG(uint64(i), 2))}, o.Batch)
		works[i] = func() error { call(); return nil }
	}
	return works
}

// kernelCases lists the kernels in the order of a pass through the net.
func kernelCases(o *Options) []kernelCase {
	if o.Arch.Attention() {
		return attentionCases(o)
	}
	f, a, value := o.Arch.Width(), &o.Arch, o.Arch.Head(nn.Value)
	var cases []kernelCase
	conv := func(what string, form func(ci, co int, p kernel.Precision) maker, ci, co int) {
		for _, p := range o.precisions() { // a Winograd form needs about a quarter of the products
			name, flops := fmt.Sprintf("conv3%s %d>%d %s", what, ci, co, p), 2*squares*taps*ci*co
			cases = append(cases, kernelCase{name, p, flops, form(ci, co, p)})
		}
	}
	conv("", conv3, encoding.NumPlanes, f)
	conv("", conv3, f, f)
	conv(" data gradient", conv3DataGrad, f, f)
	conv(" weight gradient", conv3WeightGrad, f, f)
	conv("", conv3, f, encoding.NumConvPlanes)
	if !slices.Contains(o.precisions(), kernel.FP32) {
		return cases // the others have fp32 only
	}
	cases = append(cases,
		matCase(encoding.NumSquares*value.Channels, value.Hidden),
		matGradCase(encoding.NumSquares*value.Channels, value.Hidden),
		batchNormCase(f))
	if a.SEUnits() > 0 {
		cases = append(cases, seCase(f))
	}
	return cases
}

// floats makes random numbers.
type floats struct{ rng *rand.Rand }

func (f *floats) slice(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(f.rng.NormFloat64()) * 0.1
	}
	return s
}

const (
	squares = encoding.NumSquares
	taps    = 9 // of a 3x3 convolution
)

// conv3 is a 3x3 convolution with bias and ReLU.
func conv3(ci, co int, p kernel.Precision) maker {
	return func(f *floats, boards int) func() {
		x, y, bias := f.slice(boards*squares*ci), make([]float32, boards*squares*co), f.slice(co)
		packed := make([]float32, kernel.PackedConv3Len(ci, co, p))
		kernel.PackConv3(packed, f.slice(co*ci*taps), ci, co, p)
		scratch := make([]float32, kernel.Conv3ScratchLen(ci, co, p))
		return func() { kernel.Conv3(y, x, packed, bias, boards, ci, co, kernel.ReLU, p, scratch) }
	}
}

// conv3DataGrad is the gradient of a 3x3 convolution's input.
func conv3DataGrad(ci, co int, p kernel.Precision) maker {
	return func(f *floats, boards int) func() {
		dy, dx := f.slice(boards*squares*co), make([]float32, boards*squares*ci)
		packed := make([]float32, kernel.PackedConv3Len(co, ci, p))
		kernel.PackConv3Transposed(packed, f.slice(co*ci*taps), ci, co, p)
		scratch := make([]float32, kernel.Conv3ScratchLen(co, ci, p))
		return func() { kernel.Conv3(dx, dy, packed, nil, boards, co, ci, kernel.None, p, scratch) }
	}
}

// conv3WeightGrad is the weight gradient of a 3x3 convolution. The sum in dw
// is never cleared: it grows far too slowly to overflow.
func conv3WeightGrad(ci, co int, p kernel.Precision) maker {
	return func(f *floats, boards int) func() {
		x, dy, dw := f.slice(boards*squares*ci), f.slice(boards*squares*co), make([]float32, co*ci*taps)
		scratch := make([]float32, kernel.Conv3WeightGradScratchLen(ci, co, p))
		return func() { kernel.Conv3WeightGrad(dw, x, dy, boards, ci, co, p, scratch) }
	}
}

// matCase is a fully connected layer with bias and ReLU.
func matCase(in, out int) kernelCase {
	return kernelCase{fmt.Sprintf("matmul %d>%d", in, out), kernel.FP32, 2 * in * out, func(f *floats, boards int) func() {
		x, y, bias := f.slice(boards*in), make([]float32, boards*out), f.slice(out)
		packed := make([]float32, kernel.PackedMatLen(in, out))
		kernel.PackMat(packed, f.slice(in*out), in, out)
		return func() { kernel.MatMul(y, x, packed, bias, boards, in, out, kernel.ReLU) }
	}}
}

// matGradCase is the gradient of a fully connected layer's weights and bias.
func matGradCase(in, out int) kernelCase {
	return kernelCase{fmt.Sprintf("matmul weight gradient %d>%d", in, out), kernel.FP32, 2 * in * out, func(f *floats, boards int) func() {
		x, dy := f.slice(boards*in), f.slice(boards*out)
		dw, db := make([]float32, in*out), make([]float32, out)
		scratch := make([]float32, kernel.MatMulWeightGradScratchLen(in, out))
		return func() { kernel.MatMulWeightGrad(dw, db, x, dy, boards, in, out, scratch) }
	}}
}

// batchNormCase is one multiply-add and ReLU over a layer's activations: bound by
// memory, not by arithmetic.
func batchNormCase(c int) kernelCase {
	return kernelCase{fmt.Sprintf("batch norm apply %d", c), kernel.FP32, 2 * squares * c, func(f *floats, boards int) func() {
		x, y := f.slice(boards*squares*c), make([]float32, boards*squares*c)
		scale, shift := f.slice(c), f.slice(c)
		return func() {
			kernel.BatchNormApply(y, kernel.Stored{F32: x}, scale, shift, nil, boards*squares, c, kernel.ReLU)
		}
	}}
}

// seCase is gate, shift, residual and ReLU over a block's activations: bound by
// memory.
func seCase(c int) kernelCase {
	return kernelCase{fmt.Sprintf("SE apply %d", c), kernel.FP32, 3 * squares * c, func(f *floats, boards int) func() {
		x, res := f.slice(boards*squares*c), f.slice(boards*squares*c)
		out := make([]float32, len(x))
		gate, beta := f.slice(boards*c), f.slice(boards*c)
		return func() { kernel.SEApply(out, kernel.Stored{F32: x}, gate, beta, res, boards, c, kernel.ReLU) }
	}}
}
