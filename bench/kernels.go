package bench

import (
	"math/rand/v2"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
)

// KernelSpeed is the speed of one kernel at the sizes that the net gives it.
// Boards per second are those of one call, not of the net.
type KernelSpeed struct {
	Kernel string `json:"kernel"` // name and sizes, such as "conv3 64>64"
	Speed
}

// kernelCase is a kernel at one size; make returns a call over boards boards
// that shares no memory with another.
type kernelCase struct {
	name  string
	flops int // nominal, a board
	make  func(f *floats, boards int) func()
}

// Kernels measures the kernels at the sizes of o.Arch: convolutions, their
// gradients, the first layer of the value head, and the two passes over
// activations that cost most. o.Duration is for each.
func Kernels(o Options) (speeds []KernelSpeed, err error) {
	err = o.inTier(func() error {
		cases := kernelCases(&o)
		best := make([]time.Duration, len(cases))
		peak, err := withPeak(func() (err error) {
			for i, c := range cases {
				if best[i], err = bestTime(o.Duration, c.works(&o)); err != nil {
					return err
				}
			}
			return nil
		})
		for i, c := range cases {
			speeds = append(speeds, KernelSpeed{c.name, o.newSpeed(max(best[i], 1), o.Threads, float64(c.flops), peak)})
		}
		return err
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
	cases := []kernelCase{
		conv3Case(encoding.NumPlanes, f),
		conv3Case(f, f),
		conv3GradCase(f, f),
		conv3Case(f, encoding.NumConvPlanes),
		matCase(encoding.NumSquares*a.ValueChannels, a.ValueHidden),
		matGradCase(encoding.NumSquares*a.ValueChannels, a.ValueHidden),
		batchNormCase(f),
	}
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
