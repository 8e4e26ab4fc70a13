package bench

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// KernelSpeed is the speed of one kernel at the sizes that the net gives it.
// Boards per second are those of one call, not of the net.
type KernelSpeed struct {
	Kernel string `json:"kernel,omitempty"` // name and sizes, such as "conv3 64>64"; "" = a whole net
	Speed
}

// kernelCase is a kernel at one size; make returns a call over boards boards
// that shares no memory with another.
type kernelCase struct {
	name      string
	precision kernel.Precision
	flops     int // nominal, a board
	make      func(f *floats, boards int) func()
}

// Kernels measures the kernels at the sizes of o.Arch: convolutions, their
// gradients, the first layer of the value head, and the two passes over
// activations that cost most. o.Duration is for each. In PrecisionAuto kernels
// that have a bf16 form are measured in both, each against its own peak.
func Kernels(o Options) (speeds []KernelSpeed, err error) {
	err = o.inTier(func() error {
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
			return err
		}
		for i, c := range cases {
			speeds = append(speeds, KernelSpeed{c.name, o.newSpeed(c.precision, best[i], o.Threads, float64(c.flops), peaks[c.precision])})
		}
		return nil
	})
	return speeds, err
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
	f, a := o.Arch.Filters, &o.Arch
	var cases []kernelCase
	conv := func(form func(ci, co int, p kernel.Precision) kernelCase, ci, co int) {
		for _, p := range o.precisions() {
			cases = append(cases, form(ci, co, p))
		}
	}
	conv(conv3Case, encoding.NumPlanes, f)
	conv(conv3Case, f, f)
	conv(conv3DataGradCase, f, f)
	conv(conv3WeightGradCase, f, f)
	conv(conv3Case, f, encoding.NumConvPlanes)
	if !slices.Contains(o.precisions(), kernel.FP32) {
		return cases // the others have fp32 only
	}
	cases = append(cases,
		matCase(encoding.NumSquares*a.ValueChannels, a.ValueHidden),
		matGradCase(encoding.NumSquares*a.ValueChannels, a.ValueHidden),
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
