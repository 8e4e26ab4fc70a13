//go:build amd64 || arm64

package kernel

// vecFlat runs op over whole panels of y, a, b and returns how many elements it
// did; the caller does the rest. b may be nil where op does not read it.
func vecFlat(op flatOp, y, a, b []float32, alpha float32) int {
	n := len(a) / panel * panel
	if ActiveTier() == Generic || n == 0 {
		return 0
	}
	if b == nil {
		b = a
	}
	args := flatArgs{alpha: bits32(alpha)}
	for i := 0; i < n; i += maxCallFloats {
		args.y, args.a, args.b = at(y, i), at(a, i), at(b, i)
		args.n = uintptr(min(maxCallFloats, n-i) / panel)
		callFlat(op, &args)
	}
	return n
}

// sgdVec updates whole panels and returns the number of elements done.
func sgdVec(w, g, m []float32, lr, momentum, decay float32) int {
	n := len(w) / panel * panel
	a := optArgs{lr: bits32(lr), momentum: bits32(momentum), decay: bits32(decay)}
	for i := 0; i < n; i += maxCallFloats {
		a.w, a.g, a.m = at(w, i), at(g, i), at(m, i)
		a.n = uintptr(min(maxCallFloats, n-i) / panel)
		callSGD(&a)
	}
	return n
}

// adamVec updates whole panels and returns the number of elements done.
func adamVec(w, g, m, v []float32, lr, b1, b2, eps, decay, bc1, bc2 float32) int {
	n := len(w) / panel * panel
	a := optArgs{
		lr: bits32(lr), decay: bits32(lr * decay), eps: bits32(eps),
		b1: bits32(b1), c1: bits32(1 - b1), b2: bits32(b2), c2: bits32(1 - b2),
		bc1: bits32(bc1), bc2: bits32(bc2),
	}
	for i := 0; i < n; i += maxCallFloats {
		a.w, a.g, a.m, a.v = at(w, i), at(g, i), at(m, i), at(v, i)
		a.n = uintptr(min(maxCallFloats, n-i) / panel)
		callAdamW(&a)
	}
	return n
}
