//go:build amd64 || arm64

package kernel

// vecFlat runs op over all of y, a, b (b may be nil where op does not read it),
// or returns false in the generic tier. An element's result does not depend on
// its place: what does not fill a panel is computed in one of its own.
func vecFlat(op flatOp, y, a, b []float32, alpha float32) bool {
	if ActiveTier() == Generic {
		return false
	}
	n := len(a) / panel * panel
	if b == nil {
		b = a
	}
	args := flatArgs{alpha: bits32(alpha)}
	for i := 0; i < n; i += maxCallFloats {
		args.y, args.a, args.b = at(y, i), at(a, i), at(b, i)
		args.n = uintptr(min(maxCallFloats, n-i) / panel)
		callFlat(op, &args)
	}
	if n < len(a) {
		var ty, ta, tb [panel]float32
		copy(ta[:], a[n:])
		copy(tb[:], b[n:])
		args.y, args.a, args.b, args.n = &ty[0], &ta[0], &tb[0], 1
		callFlat(op, &args)
		copy(y[n:len(a)], ty[:])
	}
	return true
}

// sgdVec updates all elements.
func sgdVec(w, g, m []float32, lr, momentum, decay float32) {
	n := len(w) / panel * panel
	a := optArgs{lr: bits32(lr), momentum: bits32(momentum), decay: bits32(decay)}
	for i := 0; i < n; i += maxCallFloats {
		a.w, a.g, a.m = at(w, i), at(g, i), at(m, i)
		a.n = uintptr(min(maxCallFloats, n-i) / panel)
		callSGD(&a)
	}
	if n < len(w) {
		var tw, tg, tm [panel]float32
		copy(tw[:], w[n:])
		copy(tg[:], g[n:])
		copy(tm[:], m[n:])
		a.w, a.g, a.m, a.n = &tw[0], &tg[0], &tm[0], 1
		callSGD(&a)
		copy(w[n:], tw[:])
		copy(m[n:], tm[:])
	}
}

// adamVec updates all elements.
func adamVec(w, g, m, v []float32, lr, b1, b2, eps, decay, bc1, bc2 float32) {
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
	if n < len(w) {
		var tw, tg, tm, tv [panel]float32
		copy(tw[:], w[n:])
		copy(tg[:], g[n:])
		copy(tm[:], m[n:])
		copy(tv[:], v[n:])
		a.w, a.g, a.m, a.v, a.n = &tw[0], &tg[0], &tm[0], &tv[0], 1
		callAdamW(&a)
		copy(w[n:], tw[:])
		copy(m[n:], tm[:])
		copy(v[n:], tv[:])
	}
}
