package kernel

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
)

// vecMath runs op over all of y, a, b (b may be nil where op does not read it),
// or returns false in the generic tier. An element's result does not depend on
// its place: what does not fill a panel is computed in one of its own.
func vecMath(op mathOp, y, a, b []float32) bool {
	if ActiveTier() == Generic {
		return false
	}
	if b == nil {
		b = a
	}
	var args flatArgs
	n := len(a) / panel * panel
	for i := 0; i < n; i += maxCallMath {
		args.y, args.a, args.b = at(y, i), at(a, i), at(b, i)
		args.n = uintptr(min(maxCallMath, n-i) / panel)
		callMath(op, &args)
	}
	if n == len(a) {
		return true
	}
	var ty, ta, tb [panel]float32
	copy(ta[:], a[n:])
	copy(tb[:], b[n:])
	args = flatArgs{y: &ty[0], a: &ta[0], b: &tb[0], n: 1}
	callMath(op, &args)
	copy(y[n:len(a)], ty[:])
	return true
}

// maxCallMath is the number of floats of one call: some 0.1 ms in AVX2.
const maxCallMath = 32 << 10

func callMath(op mathOp, args *flatArgs) {
	p := bytesOf(args)
	if !wide() {
		callMathAVX2(op, p)
		return
	}
	switch op {
	case mathMish:
		mishAVX512(p)
	case mathMishBackward:
		mishBackwardAVX512(p)
	case mathSigmoid:
		sigmoidAVX512(p)
	case mathSigmoidBackward:
		sigmoidBackwardAVX512(p)
	case mathTanh:
		tanhAVX512(p)
	case mathTanhBackward:
		tanhBackwardAVX512(p)
	}
}

func callMathAVX2(op mathOp, p *byte) {
	switch op {
	case mathMish:
		mishAVX2(p)
	case mathMishBackward:
		mishBackwardAVX2(p)
	case mathSigmoid:
		sigmoidAVX2(p)
	case mathSigmoidBackward:
		sigmoidBackwardAVX2(p)
	case mathTanh:
		tanhAVX2(p)
	case mathTanhBackward:
		tanhBackwardAVX2(p)
	}
}

// softmaxVec replaces p, not empty, by its softmax, or returns false where the
// vector kernel does not apply: too long for one call, or the generic tier.
func softmaxVec(p []float32) bool {
	if ActiveTier() == Generic || len(p) > maxCallMath {
		return false
	}
	n := len(p) / panel * panel
	rest := lowest
	copy(rest[:], p[n:])
	args := flatArgs{y: &p[0], b: &rest[0], n: uintptr(n / panel)}
	if wide() {
		softmaxAVX512(bytesOf(&args))
	} else {
		softmaxAVX2(bytesOf(&args))
	}
	copy(p[n:], rest[:])
	return true
}

// lowest fills a panel up without changing its maximum or its sum of
// exponentials. It is never written.
var lowest = func() (p [panel]float32) {
	for i := range p {
		p[i] = float32(math.Inf(-1))
	}
	return p
}()

// sumSquaresVec returns the sum of x*x. Element i goes to sum i%32 of 32; the
// sums are added in a fixed order. ok is false in the generic tier.
func sumSquaresVec(x []float32) (sum float64, ok bool) {
	if ActiveTier() == Generic {
		return 0, false
	}
	const lanes = 32
	var sums [lanes]float64
	args := squaresArgs{sums: &sums[0]}
	n := len(x) / lanes * lanes
	for i := 0; i < n; i += maxCallFloats {
		args.x, args.n = at(x, i), uintptr(min(maxCallFloats, n-i)/lanes)
		callSumSquares(&args)
	}
	if n < len(x) {
		var tail [lanes]float32
		copy(tail[:], x[n:])
		args.x, args.n = &tail[0], 1
		callSumSquares(&args)
	}
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			sums[i] += sums[i+half]
		}
	}
	return sums[0], true
}

func callSumSquares(a *squaresArgs) {
	if wide() {
		sumSquaresAVX512(bytesOf(a))
	} else {
		sumSquaresAVX2(bytesOf(a))
	}
}

// expandVec writes one board's planes, or returns false in the generic tier.
func expandVec(x *[64 * encoding.NumPlanes]float32, masks *[encoding.NumMasks]uint64, s *encoding.Scalars) bool {
	if ActiveTier() == Generic {
		return false
	}
	const planes = encoding.NumPlanes - planeCastling
	var constants [planes]uint64
	var values [panel]float32
	row := constantPlanes(s)
	for i := range values {
		values[i] = 1
	}
	for i, v := range row {
		if v != 0 {
			constants[i], values[panel-planes+i] = math.MaxUint64, v
		}
	}
	args := expandArgs{y: &x[0], masks: &masks[0], constants: &constants[0], values: &values[0],
		one: bits32(1), firstBit: 1}
	if wide() {
		expandAVX512(bytesOf(&args))
	} else {
		expandAVX2(bytesOf(&args))
	}
	return true
}
