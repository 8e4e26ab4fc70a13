package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/nn/kernel"
)

var blockEnds = []struct{ boards, channels, units int }{{1, 16, 8}, {3, 24, 9}, {5, 144, 32}, {70, 24, 8}, {3, 24, 0}}

// TestBlockGradients compares the kernels' gradients with central differences of
// the float64 loss: along random directions, which all elements take part in, and
// of single elements. 1e-4 of the gradient's norm is 100 times what fp32 leaves.
func TestBlockGradients(t *testing.T) {
	r := fresh(t)
	for _, size := range blockEnds {
		for _, act := range []int32{actReLU, actMish} {
			t.Run(fmt.Sprintf("%d boards %d channels %d units act %d", size.boards, size.channels, size.units, act), func(t *testing.T) {
				d, k, s := open(t)
				p := newBlockEnd(r, size.boards, size.channels, size.units, act)
				device := launchBlock(t, d, k, s, p)
				for tensor := range blockTensors {
					if len(p.tensors[tensor]) > 0 && (tensor < ofW1 || p.units > 0) {
						checkSlopes(t, r, p, tensor, device.gradient(tensor))
					}
				}
			})
		}
	}
}

func checkSlopes(t *testing.T, r *rand.Rand, p *blockEnd, tensor int, gradient []float32) {
	t.Helper()
	var norm float64
	for _, g := range gradient {
		norm += float64(g) * float64(g)
	}
	norm = math.Sqrt(norm)
	rms := norm / math.Sqrt(float64(len(gradient)))
	tries := 5 // two directions, then elements
	if len(p.weight) > 1<<15 {
		tries = 3
	}
	for try := range tries {
		direction := make([]float64, len(gradient))
		what, tolerance := "a random direction", 1e-4*norm
		if try < 2 {
			for i := range direction {
				direction[i] = r.NormFloat64()
			}
		} else {
			i := r.IntN(len(direction))
			direction[i] = 1
			what, tolerance = fmt.Sprintf("element %d", i), 1e-4*(rms+math.Abs(float64(gradient[i])))
		}
		var got float64
		for i, g := range gradient {
			got += float64(g) * direction[i]
		}
		if want := p.slope(tensor, direction); !(math.Abs(got-want) <= tolerance+1e-6) {
			t.Errorf("%s along %s: %g, want %g, tolerance %g", blockNames[tensor], what, got, want, tolerance)
		}
	}
}

// TestBlockAsCPU compares with the CPU trainer's formulas (nn/kernel), fp32 both.
func TestBlockAsCPU(t *testing.T) {
	r := fresh(t)
	for _, act := range []int32{actReLU, actMish} {
		d, k, s := open(t)
		p := newBlockEnd(r, 5, 24, 9, act)
		device := launchBlock(t, d, k, s, p)
		c, rows := p.channels, p.boards*64
		z, x, d0 := device.rows(device.z, rows), device.rows(device.x, rows), make([]float32, rows*c)
		for i, v := range p.weight {
			d0[i] = float32(v)
		}
		kind := []kernel.Act{actReLU: kernel.ReLU, actMish: kernel.Mish}[act]
		gate, beta := device.rows(device.se.BoardScale, p.boards), device.rows(device.se.BoardShift, p.boards)
		y := make([]float32, rows*c)
		kernel.SEApply(y, kernel.Stored{F32: z}, gate, beta, x, p.boards, c, kind)
		near(t, "y", device.rows(device.y, rows), widened(y), 1e-5, 1e-5)

		if act == actMish {
			before := make([]float32, rows*c)
			kernel.SEApply(before, kernel.Stored{F32: z}, gate, beta, x, p.boards, c, kernel.None)
			kernel.MishBackward(d0, d0, before)
			kind = kernel.None
		}
		perBoard := make([]float32, p.boards*c)
		kernel.SEBackward(d0, perBoard, perBoard, d0, y, kernel.Stored{F32: z}, p.boards, c, kind)
		near(t, "d", device.gradient(ofX), widened(d0), 1e-5, 1e-5)
		dpool := device.rows(device.back.DynShift, p.boards)
		for i := range dpool {
			dpool[i] *= 64
		}
		kernel.SEBackwardInput(d0, d0, device.rows(device.se.Gate, p.boards), dpool, p.boards, c)
		mean, invStd := device.rows(device.mean, 1), device.rows(device.invStd, 1)
		sum, xhat, gamma := make([]float64, c), make([]float64, c), make([]float32, c)
		kernel.BatchNormBackwardStats(sum, xhat, d0, kernel.Stored{F32: z}, mean, invStd, rows, c)
		near(t, "dbeta", device.gradient(ofBeta), sum, 1e-4, 1e-5)
		near(t, "dgamma", device.gradient(ofGamma), xhat, 1e-4, 1e-5)
		for i, v := range p.tensors[ofGamma] {
			gamma[i] = float32(v)
		}
		dz := make([]float32, rows*c)
		kernel.BatchNormBackward(dz, d0, kernel.Stored{F32: z}, mean, invStd, gamma, sum, xhat, rows, rows, c)
		near(t, "dz", device.gradient(ofZ), widened(dz), 1e-5, 1e-4)
	}
}
