package kernel

// rowsPerCall returns how many rows of width floats one call may take.
func rowsPerCall(width int) int { return max(1, maxCallFloats/max(1, width)) }

func affineVec(y []float32, x Stored, scale, shift, res []float32, rows, c int, act Act) {
	if rows == 0 || c == 0 {
		return
	}
	a := affineArgs{
		scale: at(scale, 0), shift: at(shift, 0), width: uintptr(c * f32), floor: floorBits(act),
	}
	step, f := rowsPerCall(c), vectors().affine[index(x.half())][index(res != nil)]
	for r := 0; r < rows; r += step {
		a.y, a.x, a.res, a.rows = at(y, r*c), x.at(r*c), optional(res, r*c), uintptr(min(step, rows-r))
		run(f, &a)
	}
}

func affine2Vec(dx, dy []float32, x Stored, ca, cb, cd []float32, rows, c, c0 int) {
	if rows == 0 || len(ca) == 0 {
		return
	}
	a := affineArgs{
		uscale: at(ca, 0), scale: at(cb, 0), shift: at(cd, 0),
		width: uintptr(len(ca) * f32), skip: uintptr((c - len(ca)) * f32),
	}
	step, f := rowsPerCall(c), vectors().affine2[index(x.half())]
	for r := 0; r < rows; r += step {
		i := r*c + c0
		a.y, a.x, a.u = at(dx, i), x.at(i), at(dy, i)
		a.rows = uintptr(min(step, rows-r))
		run(f, &a)
	}
}

// layerNormVec is LayerNorm of at least one float, or returns false where the tier has no
// kernel for it or rows are not of whole panels.
func layerNormVec(y, x, skip []float32, alpha float32, gamma, beta []float32, rows, c int, eps float32) bool {
	f := vectors().layerNorm[0][index(skip != nil)]
	if f == nil || c%panel != 0 {
		return false
	}
	a := newNormArgs(alpha, gamma, c, eps)
	a.beta = at(beta, 0)
	step := rowsPerCall(c)
	for r := 0; r < rows; r += step {
		a.y, a.x, a.skip, a.rows = at(y, r*c), at(x, r*c), optional(skip, r*c), uintptr(min(step, rows-r))
		run(f, &a)
	}
	return true
}

// layerNormBackwardVec is LayerNormBackward of at least one float, or returns false as
// layerNormVec does.
func layerNormBackwardVec(dz, dgamma, dbeta, dy, x, skip []float32, alpha float32, gamma []float32, rows, c int, eps float32) bool {
	f := vectors().layerNorm[1][index(skip != nil)]
	if f == nil || c%panel != 0 {
		return false
	}
	a := newNormArgs(alpha, gamma, c, eps)
	a.dgamma, a.dbeta = at(dgamma, 0), at(dbeta, 0)
	step := rowsPerCall(c)
	for r := 0; r < rows; r += step {
		a.y, a.u, a.x, a.skip = at(dz, r*c), at(dy, r*c), at(x, r*c), optional(skip, r*c)
		a.rows = uintptr(min(step, rows-r))
		run(f, &a)
	}
	return true
}

// newNormArgs returns what both directions of a layer norm have.
func newNormArgs(alpha float32, gamma []float32, c int, eps float32) normArgs {
	return normArgs{
		gamma: at(gamma, 0), panels: uintptr(c / panel),
		alpha: bits32(alpha), eps: bits32(eps), inverse: bits32(1 / float32(c)), one: bits32(1),
	}
}

// softmaxRowsVec is SoftmaxRows, or returns false where the tier has no kernel for it, rows
// are not of whole panels or one is too long for a call.
func softmaxRowsVec(p []float32, rows, n int) bool {
	f := vectors().softmaxRows[0]
	if f == nil || n%panel != 0 || n == 0 || n > maxCallMath {
		return false
	}
	step := maxCallMath / n
	for r := 0; r < rows; r += step {
		a := normArgs{y: at(p, r*n), rows: uintptr(min(step, rows-r)), panels: uintptr(n / panel)}
		run(f, &a)
	}
	return true
}

// softmaxRowsBackwardVec is SoftmaxRowsBackward, or returns false where the tier has no
// kernel for it or rows are not of whole panels.
func softmaxRowsBackwardVec(dz, dp, p []float32, rows, n int) bool {
	f := vectors().softmaxRows[1]
	if f == nil || n%panel != 0 || n == 0 {
		return false
	}
	step := rowsPerCall(n)
	for r := 0; r < rows; r += step {
		a := normArgs{y: at(dz, r*n), u: at(dp, r*n), x: at(p, r*n), rows: uintptr(min(step, rows-r)), panels: uintptr(n / panel)}
		run(f, &a)
	}
	return true
}

// zeroMean stands for a mean of 0; it is never written.
var zeroMean [sumGroup]float32

func blockSumsVec(t1, t2 *[sumGroup]float32, op *sumOp, rows, c, c0, w int) {
	a := sumArgs{rows: uintptr(rows), stride: uintptr(c * f32)}
	k := vectors()
	group, kernels := k.sumPanels, &k.sums[index(op.v.half())][index(op.mask != nil)]
	for p := 0; p < w; {
		np := 1
		if w-p >= group*panel {
			np = group
		}
		i := c0 + p
		a.u, a.v, a.mask, a.store = at(op.u, i), op.v.at(i), optional(op.mask, i), optional(op.store, i)
		a.mean, a.s1, a.s2 = &zeroMean[0], &t1[p], &t2[p]
		if op.mean != nil {
			a.mean = at(op.mean, i)
		}
		run(kernels[index(np > 1)], &a)
		p += np * panel
	}
}
