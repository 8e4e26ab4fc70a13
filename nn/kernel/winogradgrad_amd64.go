package kernel

func winogradGradScratchLen(ci, co int, p Precision) int {
	tiles := words(gradBoards*boardTiles, p)
	return tempFloats + points*(tiles*(ci+co)+2*planePad) + points*(co*ci+planePad) + 9*co*ci
}

// winogradWeightGrad is Conv3WeightGrad in the transformed domain: the points of
// x times those of dy, summed over all tiles, and the sums transformed back. In
// bf16 a word holds two tiles.
func winogradWeightGrad(dw, x, dy []float32, boards, ci, co int, p Precision, scratch []float32) {
	temp, rest := scratch[:tempFloats], scratch[tempFloats:]
	for b := 0; b < boards; b += gradBoards {
		n := min(gradBoards, boards-b)
		rows := words(n*boardTiles, p)
		xp, dp := rows*ci+planePad, rows*co+planePad
		v, d := rest[:points*xp], rest[points*xp:][:points*dp]
		sums := rest[points*(xp+dp):][:points*(co*ci+planePad)]
		grad := rest[points*(xp+dp+co*ci+planePad):][:9*co*ci]
		for i := range n {
			board := winogradArgs{
				src: at(x, (b+i)*64*ci), srcRow: uintptr(ci * f32),
				dst: at(v, words(i*boardTiles, p)*ci), dstRow: uintptr(ci * f32), dstPlane: uintptr(xp * f32),
				temp: at(temp, 0), n: uintptr(ci / lanes()),
			}
			gradInput(&board, p)
			board = winogradArgs{
				src: at(dy, (b+i)*64*co), srcRow: uintptr(co * f32),
				dst: at(d, words(i*boardTiles, p)*co), dstRow: uintptr(co * f32), dstPlane: uintptr(dp * f32),
				temp: at(temp, 0), n: uintptr(co / lanes()),
			}
			gradOutput(&board, p)
		}
		pointSums(sums, v, d, rows, ci, co, p)
		gradWeights(grad, sums, temp, ci, co)
		unpackConv3Grad(dw, grad, ci, co)
	}
}

func gradInput(a *winogradArgs, p Precision) {
	switch {
	case p == BF16:
		winogradInputHalfPairsAVX512(bytesOf(a))
	case wide():
		winogradInputAVX512(bytesOf(a))
	default:
		winogradInputAVX2(bytesOf(a))
	}
}

func gradOutput(a *winogradArgs, p Precision) {
	switch {
	case p == BF16:
		winogradOutputGradHalfPairsAVX512(bytesOf(a))
	case wide():
		winogradOutputGradAVX512(bytesOf(a))
	default:
		winogradOutputGradAVX2(bytesOf(a))
	}
}

// pointSums computes sums [36][co][ci]: for each point the sum over rows of d's
// row [co] times v's row [ci].
func pointSums(sums, v, d []float32, rows, ci, co int, p Precision) {
	height, width := 4, 1
	if wide() {
		height, width = 8, 2
	}
	sp, vp, dp := co*ci+planePad, rows*ci+planePad, rows*co+planePad
	for i := 0; i < ci; {
		np := min(width, (ci-i)/panel)
		a := pointGradArgs{
			dstRow: uintptr(ci * f32), aStep: uintptr(co * f32), bStep: uintptr(ci * f32),
			dstPoint: uintptr(sp * f32), aPoint: uintptr(dp * f32), bPoint: uintptr(vp * f32),
			length: uintptr(rows), blocks: uintptr(co / height),
		}
		step := max(1, maxCallMACs/(rows*co*np*panel))
		for q := 0; q < points; q += step {
			a.dst, a.a, a.b = at(sums, q*sp+i), at(d, q*dp), at(v, q*vp+i)
			a.points = uintptr(min(step, points-q))
			switch {
			case !wide():
				pointGrad4x16AVX2(bytesOf(&a))
			case p == BF16 && np == 2:
				pointGrad8x32BF16AVX512(bytesOf(&a))
			case p == BF16:
				pointGrad8x16BF16AVX512(bytesOf(&a))
			case np == 2:
				pointGrad8x32AVX512(bytesOf(&a))
			default:
				pointGrad8x16AVX512(bytesOf(&a))
			}
		}
		i += np * panel
	}
}

// gradWeights transforms sums [36][co][ci] to grad [9][co][ci].
func gradWeights(grad, sums, temp []float32, ci, co int) {
	const maxSlices = 2048 // of a call
	n := co * ci / lanes()
	for i := 0; i < n; i += maxSlices {
		a := winogradArgs{
			src: at(sums, i*lanes()), srcPlane: uintptr((co*ci + planePad) * f32),
			dst: at(grad, i*lanes()), dstPlane: uintptr(co * ci * f32),
			temp: at(temp, 0), n: uintptr(min(maxSlices, n-i)),
		}
		if wide() {
			winogradWeightGradAVX512(bytesOf(&a))
		} else {
			winogradWeightGradAVX2(bytesOf(&a))
		}
	}
}
