package kernel

// Kernels are chosen by switches and not through function variables: an indirect
// call would move its argument struct to the heap.

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
		if wide() {
			flatAVX512(op, &args)
		} else {
			flatAVX2(op, &args)
		}
	}
	return n
}

func flatAVX512(op flatOp, args *flatArgs) {
	p := bytesOf(args)
	switch op {
	case flatReLU:
		flatReLUAVX512(p)
	case flatReLUBackward:
		flatReLUBackwardAVX512(p)
	case flatAdd:
		flatAddAVX512(p)
	case flatAxpy:
		flatAxpyAVX512(p)
	case flatScale:
		flatScaleAVX512(p)
	}
}

func flatAVX2(op flatOp, args *flatArgs) {
	p := bytesOf(args)
	switch op {
	case flatReLU:
		flatReLUAVX2(p)
	case flatReLUBackward:
		flatReLUBackwardAVX2(p)
	case flatAdd:
		flatAddAVX2(p)
	case flatAxpy:
		flatAxpyAVX2(p)
	case flatScale:
		flatScaleAVX2(p)
	}
}

// sgdVec updates whole panels and returns the number of elements done.
func sgdVec(w, g, m []float32, lr, momentum, decay float32) int {
	n := len(w) / panel * panel
	a := optArgs{lr: bits32(lr), momentum: bits32(momentum), decay: bits32(decay)}
	for i := 0; i < n; i += maxCallFloats {
		a.w, a.g, a.m = at(w, i), at(g, i), at(m, i)
		a.n = uintptr(min(maxCallFloats, n-i) / panel)
		if wide() {
			sgdAVX512(bytesOf(&a))
		} else {
			sgdAVX2(bytesOf(&a))
		}
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
		if wide() {
			adamwAVX512(bytesOf(&a))
		} else {
			adamwAVX2(bytesOf(&a))
		}
	}
	return n
}
