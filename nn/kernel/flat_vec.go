package kernel

import "math"

// vecFlat runs op over all of y, a, b (b may be nil where op does not read it),
// or returns false where the tier has no kernel for it. An element's result does not
// depend on its place: what does not fill a panel is computed in one of its own.
func vecFlat(op flatOp, y, a, b []float32, alpha float32) bool {
	f := vectors().flat[op]
	if f == nil {
		return false
	}
	most := maxCallFloats
	if op >= mathMish {
		most = maxCallMath
	}
	n := len(a) / panel * panel
	if b == nil {
		b = a
	}
	args := flatArgs{alpha: bits32(alpha)}
	for i := 0; i < n; i += most {
		args.y, args.a, args.b = at(y, i), at(a, i), at(b, i)
		args.n = uintptr(min(most, n-i) / panel)
		run(f, &args)
	}
	if n < len(a) {
		var ty, ta, tb [panel]float32
		copy(ta[:], a[n:])
		copy(tb[:], b[n:])
		args.y, args.a, args.b, args.n = &ty[0], &ta[0], &tb[0], 1
		run(f, &args)
		copy(y[n:len(a)], ty[:])
	}
	return true
}

// maxCallMath is the number of floats of one call of transcendental functions: some
// 0.1 ms in AVX2.
const maxCallMath = 32 << 10

// vecUpdate runs an optimizer over all elements; v may be nil.
func vecUpdate(f asm, settings *optArgs, w, g, m, v []float32) {
	a := *settings // a copy, so that nothing flows into the caller's struct and escapes
	n := len(w) / panel * panel
	for i := 0; i < n; i += maxCallFloats {
		a.w, a.g, a.m, a.v = at(w, i), at(g, i), at(m, i), optional(v, i)
		a.n = uintptr(min(maxCallFloats, n-i) / panel)
		run(f, &a)
	}
	if n == len(w) {
		return
	}
	var tw, tg, tm, tv [panel]float32
	last := v[min(n, len(v)):]
	copy(tw[:], w[n:])
	copy(tg[:], g[n:])
	copy(tm[:], m[n:])
	copy(tv[:], last)
	a.w, a.g, a.m, a.v, a.n = &tw[0], &tg[0], &tm[0], &tv[0], 1
	run(f, &a)
	copy(w[n:], tw[:])
	copy(m[n:], tm[:])
	copy(last, tv[:])
}

// softmaxVec replaces p, not empty, by its softmax, or returns false where the
// vector kernel does not apply: too long for one call, or a tier without one.
func softmaxVec(p []float32) bool {
	f := vectors().softmax
	if f == nil || len(p) > maxCallMath {
		return false
	}
	n := len(p) / panel * panel
	rest := lowest
	copy(rest[:], p[n:])
	args := flatArgs{y: &p[0], b: &rest[0], n: uintptr(n / panel)}
	run(f, &args)
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
// sums are added in a fixed order. ok is false where the tier has no kernel for it.
func sumSquaresVec(x []float32) (sum float64, ok bool) {
	f := vectors().sumSquares
	if f == nil {
		return 0, false
	}
	const lanes = 32
	var sums [lanes]float64
	args := squaresArgs{sums: &sums[0]}
	n := len(x) / lanes * lanes
	for i := 0; i < n; i += maxCallFloats {
		args.x, args.n = at(x, i), uintptr(min(maxCallFloats, n-i)/lanes)
		run(f, &args)
	}
	if n < len(x) {
		var tail [lanes]float32
		copy(tail[:], x[n:])
		args.x, args.n = &tail[0], 1
		run(f, &args)
	}
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			sums[i] += sums[i+half]
		}
	}
	return sums[0], true
}
