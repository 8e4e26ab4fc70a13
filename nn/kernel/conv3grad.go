package kernel

// gradBoards is how many boards a weight gradient gathers before it is summed.
const gradBoards = 64

// Conv3WeightGradScratchLen returns the scratch length of Conv3WeightGrad.
func Conv3WeightGradScratchLen(ci, co int, p Precision) int {
	switch {
	case direct(ci, co, p):
		return directGradScratchLen(ci, co)
	case winograd(ci, co):
		return winogradGradScratchLen(ci, co, p.here())
	}
	cp := roundUp(ci, panel)
	return 100*cp + 9*co*cp // a padded board, and the gradient as [tap][co][cp]
}

// Conv3WeightGrad adds the weight gradient of a 3x3 convolution ci -> co to
// dw [co][ci][3][3]: dw[o][i][t] += sum over boards and squares of
// dy[b][s][o] * x[b][s+t][i]. x [boards][64][ci], dy [boards][64][co]; scratch
// has Conv3WeightGradScratchLen(ci, co, p) floats with any contents. Sums of up
// to 64 boards are formed apart and then added to dw.
func Conv3WeightGrad(dw, x, dy []float32, boards, ci, co int, p Precision, scratch []float32) {
	for b := 0; b < boards; b += gradBoards {
		n := min(gradBoards, boards-b)
		Conv3WeightGradAdd(scratch, x[b*64*ci:], dy[b*64*co:], 0, n, ci, co, p)
		AddConv3Taps(dw, conv3Taps(nil, scratch, n, ci, co, p), ci, co)
	}
}

// Conv3WeightGradAdd takes boards of up to 64 into scratch, the first of which
// has the number first; 0 begins anew. Conv3WeightGradSum ends it. With it the
// caller can gather boards while their activations are in the cache; the result
// does not depend on how the boards were divided.
func Conv3WeightGradAdd(scratch, x, dy []float32, first, boards, ci, co int, p Precision) {
	x, dy = x[:boards*64*ci], dy[:boards*64*co]
	scratch = scratch[:Conv3WeightGradScratchLen(ci, co, p)]
	if first+boards > gradBoards {
		panic("kernel: a weight gradient of more than 64 boards")
	}
	if len(x) == 0 || len(dy) == 0 {
		return
	}
	if direct(ci, co, p) {
		g := newDirectGrad(scratch, ci, co)
		g.add(x, dy, first, boards)
		return
	}
	if winograd(ci, co) {
		winogradGradAdd(scratch, x, dy, first, boards, ci, co, p.here())
		return
	}
	cp := roundUp(ci, panel)
	pad, grad := scratch[:100*cp], scratch[100*cp:]
	if first == 0 {
		clear(grad)
	}
	if ActiveTier() == Generic {
		conv3WeightGradGeneric(grad, x, dy, boards, ci, co)
	} else {
		conv3WeightGradVec(grad, x, dy, boards, ci, co, pad)
	}
}

// Conv3WeightGradSum sets taps [9][co][ci] to the gradient of the boards in
// scratch. Sums over several scratches are fast in this order; AddConv3Taps goes
// to that of the weights.
func Conv3WeightGradSum(taps, scratch []float32, boards, ci, co int, p Precision) {
	conv3Taps(taps[:9*co*ci], scratch, boards, ci, co, p)
}

// conv3Taps sets taps, or memory in scratch where taps is nil, to the gradient
// [9][co][ci] of the boards in scratch and returns it.
func conv3Taps(taps, scratch []float32, boards, ci, co int, p Precision) []float32 {
	scratch = scratch[:Conv3WeightGradScratchLen(ci, co, p)]
	if direct(ci, co, p) {
		g := newDirectGrad(scratch, ci, co)
		return g.sum(taps, boards)
	}
	if winograd(ci, co) {
		return winogradGradSum(taps, scratch, boards, ci, co, p.here())
	}
	cp := roundUp(ci, panel)
	grad := scratch[100*cp:]
	if taps == nil {
		taps = grad[:9*co*ci] // rows move to the front
	}
	for r := range 9 * co {
		copy(taps[r*ci:][:ci], grad[r*cp:])
	}
	return taps
}

func conv3WeightGradGeneric(grad, x, dy []float32, boards, ci, co int) {
	cp := roundUp(ci, panel)
	for b := range boards {
		xb, db := x[b*64*ci:][:64*ci], dy[b*64*co:][:64*co]
		for t := range 9 {
			for sq := range 64 {
				r, f := sq>>3+t/3-1, sq&7+t%3-1
				if r < 0 || r > 7 || f < 0 || f > 7 {
					continue
				}
				xr := xb[(r*8+f)*ci:][:ci]
				for o, d := range db[sq*co:][:co] {
					g := grad[(t*co+o)*cp:][:len(xr)]
					for i, v := range xr {
						g[i] += d * v
					}
				}
			}
		}
	}
}

// AddConv3Taps adds taps [9][co][ci] to dw [co][ci][3][3].
func AddConv3Taps(dw, taps []float32, ci, co int) {
	dw, taps = dw[:co*ci*9], taps[:9*co*ci]
	plane := co * ci
	for o := range co {
		g0, g1, g2 := taps[o*ci:][:ci], taps[plane+o*ci:][:ci], taps[2*plane+o*ci:][:ci]
		g3, g4, g5 := taps[3*plane+o*ci:][:ci], taps[4*plane+o*ci:][:ci], taps[5*plane+o*ci:][:ci]
		g6, g7, g8 := taps[6*plane+o*ci:][:ci], taps[7*plane+o*ci:][:ci], taps[8*plane+o*ci:][:ci]
		d := dw[o*ci*9:][:ci*9]
		for i := range ci {
			v := (*[9]float32)(d[i*9:])
			v[0] += g0[i]
			v[1] += g1[i]
			v[2] += g2[i]
			v[3] += g3[i]
			v[4] += g4[i]
			v[5] += g5[i]
			v[6] += g6[i]
			v[7] += g7[i]
			v[8] += g8[i]
		}
	}
}
