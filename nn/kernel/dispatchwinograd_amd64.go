package kernel

// lanes is the number of channels of a transform's slice.
func lanes() int {
	if wide() {
		return 16
	}
	return 8
}

// pointPanels returns how many panels the wider products of points take.
func pointPanels() int {
	if wide() {
		return 2
	}
	return 1
}

// callWinogradWeights transforms weights.
func callWinogradWeights(a *winogradArgs, p Precision) {
	switch {
	case p == BF16:
		winogradWeightsHalfAVX512(bytesOf(a))
	case wide():
		winogradWeightsAVX512(bytesOf(a))
	default:
		winogradWeightsAVX2(bytesOf(a))
	}
}

// callWinogradInput transforms boards.
func callWinogradInput(a *winogradArgs, p Precision) {
	switch {
	case p == BF16:
		winogradInputHalfAVX512(bytesOf(a))
	case wide():
		winogradInputAVX512(bytesOf(a))
	default:
		winogradInputAVX2(bytesOf(a))
	}
}

// inTiles says whether products are made in tiles (AMX).
func inTiles(p Precision) bool { return p == BF16 && ActiveTier() == AMX }

// callPoints computes the products of points, np panels wide.
func callPoints(a *pointArgs, np int, p Precision) {
	switch {
	case !wide():
		point4x16AVX2(bytesOf(a))
	case inTiles(p):
		pointAMX(a, np)
	case p == BF16 && np == 2:
		point8x32BF16AVX512(bytesOf(a))
	case p == BF16:
		point8x16BF16AVX512(bytesOf(a))
	case np == 2:
		point8x32AVX512(bytesOf(a))
	default:
		point8x16AVX512(bytesOf(a))
	}
}

// callWinogradOutput transforms the points of boards to their squares, with sums
// where a asks for them; in bf16 if half.
func callWinogradOutput(a *winogradArgs, half bool) {
	switch {
	case half: // there is no other with bf16
		winogradOutputSumsHalfAVX512(bytesOf(a))
	case wide() && a.sum != nil:
		winogradOutputSumsAVX512(bytesOf(a))
	case wide():
		winogradOutputAVX512(bytesOf(a))
	case a.sum != nil:
		winogradOutputSumsAVX2(bytesOf(a))
	default:
		winogradOutputAVX2(bytesOf(a))
	}
}

// callGradInput transforms boards for a weight gradient.
func callGradInput(a *winogradArgs, p Precision) {
	switch {
	case p == BF16:
		winogradInputHalfPairsAVX512(bytesOf(a))
	case wide():
		winogradInputAVX512(bytesOf(a))
	default:
		winogradInputAVX2(bytesOf(a))
	}
}

// callGradOutput transforms the gradient of boards' outputs.
func callGradOutput(a *winogradArgs, p Precision) {
	switch {
	case p == BF16:
		winogradOutputGradHalfPairsAVX512(bytesOf(a))
	case wide():
		winogradOutputGradAVX512(bytesOf(a))
	default:
		winogradOutputGradAVX2(bytesOf(a))
	}
}

// productsInTiles makes a weight gradient's products in tiles, or returns false.
func productsInTiles(g *winogradGrad, rows int) bool {
	if !inTiles(g.precision) {
		return false
	}
	g.gradTiles(rows)
	return true
}

// callPointGrad computes sums of outer products of points, np panels wide.
func callPointGrad(a *pointGradArgs, np int, p Precision) {
	switch {
	case !wide():
		pointGrad4x16AVX2(bytesOf(a))
	case p == BF16 && np == 2:
		pointGrad8x32BF16AVX512(bytesOf(a))
	case p == BF16:
		pointGrad8x16BF16AVX512(bytesOf(a))
	case np == 2:
		pointGrad8x32AVX512(bytesOf(a))
	default:
		pointGrad8x16AVX512(bytesOf(a))
	}
}

// callWinogradWeightGrad transforms the gradient of weights.
func callWinogradWeightGrad(a *winogradArgs) {
	if wide() {
		winogradWeightGradAVX512(bytesOf(a))
	} else {
		winogradWeightGradAVX2(bytesOf(a))
	}
}
