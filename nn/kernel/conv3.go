package kernel

// Conv3ScratchLen returns the scratch length of Conv3.
func Conv3ScratchLen(ci, co int, p Precision) int {
	switch {
	case direct(ci, co, p):
		return directScratchLen(ci)
	case winograd(ci, co):
		return winogradScratchLen(ci, co, p.here())
	}
	return 100 * ci // one board with a border of one square
}

// Conv3 computes y [boards][64][co] = act(conv(x [boards][64][ci]) + bias), a
// 3x3 cross-correlation with zero padding 1. packed comes from PackConv3 (or
// PackConv3Transposed, for a data gradient) in the same tier and precision; bias
// [co] may be nil; scratch has Conv3ScratchLen(ci, co, p) floats with any
// contents. y may not overlap x, but see Conv3InPlace.
//
// Vector tiers convolve multiples of 16 channels by Winograd's F(4x4,3x3), with
// relative errors of some 1e-6 in fp32; other sizes go the direct way, in fp32.
func Conv3(y, x, packed, bias []float32, boards, ci, co int, act Act, p Precision, scratch []float32) {
	conv3(Stored{F32: y}, nil, nil, x, packed, bias, boards, ci, co, act, p, scratch)
}

// Conv3Sums is Conv3 that also sets sum and squares [boards][co], the sums of y and of
// its squares over the squares of a board, before y is rounded. act is None or ReLU. y in
// bf16 needs StoresBF16(ci, co) and the precision BF16.
func Conv3Sums(y Stored, sum, squares, x, packed, bias []float32, boards, ci, co int, act Act, p Precision, scratch []float32) {
	if _, after := act.split(); after != None {
		panic("kernel: Conv3Sums: activation must be None or ReLU")
	}
	if y.half() && (p != BF16 || !StoresBF16(ci, co)) {
		panic("kernel: Conv3Sums: bf16 needs StoresBF16 and BF16")
	}
	conv3(y, sum[:boards*co], squares[:boards*co], x, packed, bias, boards, ci, co, act, p, scratch)
}

// Conv3InPlace says whether the y of a convolution of c channels to as many may be
// its x in the active tier.
func Conv3InPlace(c int) bool { return winograd(c, c) }

// Conv3Group is how many boards share a pass over the weights of Conv3: inference is
// fastest with as many, or a few more, going through a whole tower together. The points of 8
// (64 channels, fp32: 590 KB) stay in a second-level cache of 1 MiB.
const Conv3Group = 8

func conv3(y Stored, sum, squares, x, packed, bias []float32, boards, ci, co int, act Act, p Precision, scratch []float32) {
	y, x = y.Slice(0, boards*64*co), x[:boards*64*ci]
	packed, bias = packed[:PackedConv3Len(ci, co, p)], cut(bias, 0, 1, co)
	scratch = scratch[:Conv3ScratchLen(ci, co, p)]
	if boards*co == 0 {
		return
	}
	act, after := act.split()
	switch {
	case direct(ci, co, p):
		directConv(y, sum, squares, x, packed, bias, boards, ci, co, act, scratch)
	case winograd(ci, co):
		winogradConv(y, sum, squares, x, packed, bias, boards, ci, co, act, p.here(), scratch)
	default:
		if ActiveTier() == Generic || ci == 0 {
			conv3Generic(y.F32, x, packed, bias, boards, ci, co, act)
		} else {
			conv3Vec(y.F32, x, packed, bias, boards, ci, co, act, scratch)
		}
		if sum != nil {
			boardSums(sum, squares, &sumOp{u: y.F32, v: y}, boards, co)
		}
	}
	after.second(y.F32)
}

// conv3Generic is the oracle: per square and panel one sum over the taps on the
// board in (ky, kx, ci) order.
func conv3Generic(y, x, packed, bias []float32, boards, ci, co int, act Act) {
	for b := range boards {
		xb, yb := x[b*64*ci:][:64*ci], y[b*64*co:][:64*co]
		for sq := range 64 {
			for o := 0; o < co; o += panel {
				var acc [panel]float32
				w := packed[o*9*ci:][:9*ci*panel]
				for t := range 9 {
					r, f := sq>>3+t/3-1, sq&7+t%3-1
					if r < 0 || r > 7 || f < 0 || f > 7 {
						continue
					}
					addPanel(&acc, xb[(r*8+f)*ci:][:ci], w[t*ci*panel:])
				}
				storePanel(yb[sq*co:][:co], &acc, bias, o, act)
			}
		}
	}
}

// padBoard copies x [64][c] into the inner squares of pad [10][10][cp].
func padBoard(pad, x []float32, c, cp int) {
	for r := range 8 {
		src, dst := x[r*8*c:][:8*c], pad[((r+1)*10+1)*cp:][:8*cp]
		if c == cp {
			copy(dst, src)
			continue
		}
		for f := range 8 {
			copy(dst[f*cp:][:c], src[f*c:][:c])
		}
	}
}

// addPanel adds x * w to acc, w [len(x)][panel].
func addPanel(acc *[panel]float32, x, w []float32) {
	for k, v := range x {
		for j, u := range (*[panel]float32)(w[k*panel:]) {
			acc[j] += v * u
		}
	}
}

// storePanel writes act(acc + bias) to the columns of y from o on.
func storePanel(y []float32, acc *[panel]float32, bias []float32, o int, act Act) {
	n := min(panel, len(y)-o)
	for j := range n {
		v := acc[j]
		if bias != nil {
			v += bias[o+j]
		}
		if act == ReLU {
			v = relu(v)
		}
		y[o+j] = v
	}
}
