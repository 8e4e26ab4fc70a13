package kernel

import "math"

// Half is a bf16 number: the upper half of a float32's bits.
type Half uint16

// Float returns the number as float32.
func (h Half) Float() float32 { return math.Float32frombits(uint32(h) << 16) }

// HalfOf rounds to the nearest bf16, ties to even.
func HalfOf(v float32) Half { return Half(halfBits(v)) }

// Stored are numbers that wait in memory for a later pass, in float32 or, in half
// the memory, in bf16: one of the slices, the other is nil. Arithmetic on them is
// float32's.
type Stored struct {
	F32  []float32
	BF16 []Half
}

// StoresBF16 says whether convolutions ci -> co store bf16 in the active tier:
// those that multiply it.
func StoresBF16(ci, co int) bool { return hasBF16() && winograd(ci, co) }

// NewStored returns n numbers, in bf16 if half.
func NewStored(n int, half bool) Stored {
	if half {
		return Stored{BF16: make([]Half, n)}
	}
	return Stored{F32: make([]float32, n)}
}

// Slice returns the n numbers from i on.
func (s Stored) Slice(i, n int) Stored {
	if s.half() {
		return Stored{BF16: s.BF16[i:][:n]}
	}
	return Stored{F32: s.F32[i:][:n]}
}

// half says whether the numbers are bf16.
func (s Stored) half() bool { return s.BF16 != nil }

// float returns number i.
func (s Stored) float(i int) float32 {
	if s.half() {
		return s.BF16[i].Float()
	}
	return s.F32[i]
}

// vectors says whether the active tier has vector kernels for rows of c numbers
// with a source like s.
func (s Stored) vectors(c int) bool {
	return ActiveTier() != Generic && c%panel == 0 && (!s.half() || hasBF16())
}

// The functions below are those of the same name without Stored, over a stored x
// or, Conv3SumsStored, y. bf16 is fast where StoresBF16 says so.

// Conv3SumsStored is Conv3Sums without bias and activation. The sums are those of
// y before it is rounded. y in bf16 needs StoresBF16(ci, co) and the precision BF16.
func Conv3SumsStored(y Stored, sum, squares, x, packed []float32, boards, ci, co int, p Precision, scratch []float32) {
	if y.half() && (p != BF16 || !StoresBF16(ci, co)) {
		panic("kernel: Conv3SumsStored: bf16 needs StoresBF16 and BF16")
	}
	conv3(y, sum[:boards*co], squares[:boards*co], x, packed, nil, boards, ci, co, None, p, scratch)
}

// BatchNormApplyStored is BatchNormApply; y may be x where that is float32.
func BatchNormApplyStored(y []float32, x Stored, scale, shift []float32, rows, c int, act Act) {
	affineAct(y, x, scale, shift, nil, rows, c, act)
}

// BatchNormApplyResidualStored is BatchNormApplyResidual.
func BatchNormApplyResidualStored(y []float32, x Stored, scale, shift, res []float32, rows, c int, act Act) {
	affineAct(y, x, scale, shift, res[:rows*c], rows, c, act)
}

// SEApplyStored is SEApply.
func SEApplyStored(out []float32, x Stored, gate, beta, res []float32, boards, c int, act Act) {
	out, x = out[:boards*64*c], x.Slice(0, boards*64*c)
	gate, beta = gate[:boards*c], beta[:boards*c]
	act, mish := act.split()
	for b := range boards {
		affine(cut(out, b*64, 64, c), x.Slice(b*64*c, 64*c), gate[b*c:][:c], beta[b*c:][:c],
			cut(res, b*64, 64, c), 64, c, act)
	}
	if mish {
		MishForward(out, out)
	}
}

// BatchNormBackwardStatsStored is BatchNormBackwardStats.
func BatchNormBackwardStatsStored(dsum, dxhat []float64, dy []float32, x Stored, mean, invstd []float32, rows, c int) {
	backwardStats(dsum, dxhat, &sumOp{u: dy, v: x, mean: mean}, invstd, rows, c)
}

// BatchNormReLUBackwardStatsStored is BatchNormReLUBackwardStats.
func BatchNormReLUBackwardStatsStored(dsum, dxhat []float64, gated, dy, y []float32, x Stored, mean, invstd []float32, rows, c int) {
	backwardStats(dsum, dxhat, &sumOp{u: dy, v: x, mask: y, store: gated[:rows*c], mean: mean}, invstd, rows, c)
}

// BatchNormBackwardStored is BatchNormBackward.
func BatchNormBackwardStored(dx, dy []float32, x Stored, mean, invstd, gamma []float32, dsum, dxhat []float64, count, rows, c int) {
	dx, dy, x = dx[:rows*c], dy[:rows*c], x.Slice(0, rows*c)
	// dx = a*dy + b*x + d, the channels in groups that fit a stack buffer.
	const group = 128
	var a, b, d [group]float32
	for c0 := 0; c0 < c; c0 += group {
		n := min(group, c-c0)
		for i := range n {
			j := c0 + i
			s := float64(gamma[j]) * float64(invstd[j])
			bj := -s * float64(invstd[j]) * dxhat[j] / float64(count)
			a[i], b[i] = float32(s), float32(bj)
			d[i] = float32(-s*dsum[j]/float64(count) - bj*float64(mean[j]))
		}
		affine2(dx, dy, x, a[:n], b[:n], d[:n], rows, c, c0)
	}
}

// SEBackwardStored is SEBackward.
func SEBackwardStored(dz, dgate, dbeta, dout, out []float32, x Stored, boards, c int, act Act) {
	dz, dout = dz[:boards*64*c], dout[:boards*64*c]
	op := sumOp{u: dout, v: x.Slice(0, boards*64*c)}
	switch act {
	case ReLU:
		op.mask, op.store = out[:boards*64*c], dz
	case None:
		copy(dz, dout)
	default:
		panic("kernel: SEBackward: activation must be None or ReLU")
	}
	boardSums(dbeta[:boards*c], dgate[:boards*c], &op, boards, c)
}
