package kernel

import "math"

// The bf16 form of MatMul, for the layers that convolutions leave over. A word
// holds the factors of two inputs, the even one in its low half; packed weights
// are [n/16][k/2][16] words, or [n/16][k/4][16][2] where runOf is 2.

// matHalfRows is how many rows are rounded at a time: enough to use weights from
// the cache again and again.
const matHalfRows = 64

// MatMulHasBF16 says whether MatMulBF16 does a product of k inputs and n outputs
// in the active tier.
func MatMulHasBF16(k, n int) bool { return HasBF16() && k%panel == 0 && n%panel == 0 && k > 0 }

// PackedMatBF16Len returns the length of a packed matrix of MatMulBF16.
func PackedMatBF16Len(k, n int) int { return k / 2 * n }

// PackMatBF16 packs w [n][k] for MatMulBF16 in the active tier, for sizes that
// MatMulHasBF16 names. It rounds a part of the inputs of a panel, and transposes the words.
func PackMatBF16(dst, w []float32, k, n int) {
	dst, w = dst[:PackedMatBF16Len(k, n)], w[:n*k]
	if together := runOf(BF16); together > 1 {
		packRuns(dst, w, k, 1, k, n, together)
		return
	}
	const part = 16 * panel
	var words [panel * part / 2]float32
	for o := 0; o < n; o += panel {
		for i := 0; i < k; i += part {
			m := min(part, k-i)
			for r := range panel {
				toHalf(words[r*part/2:], w[(o+r)*k+i:][:m])
			}
			for c := 0; c < m/2; c += panel {
				transposeWords(dst[o*k/2+(i/2+c)*panel:], words[c:], part/2, min(panel, m/2-c))
			}
		}
	}
}

// packRuns packs weights of k inputs and n outputs where so many words stand together;
// that of an output and an input is w[output*outStride+input*inStride].
func packRuns(dst, w []float32, outStride, inStride, k, n, together int) {
	for o := range n {
		base := o/panel*(k/2)*panel + o%panel*together
		for i := range k / 2 {
			even := o*outStride + 2*i*inStride
			dst[base+i/together*together*panel+i%together] = halfWord(w[even], w[even+inStride])
		}
	}
}

// transposeWords transposes 16 rows of n words, which lie stride apart, to n rows of 16.
func transposeWords(dst, src []float32, stride, n int) {
	if n == panel {
		transposeBlocks(dst, src, panel, stride, 0, 0, 1)
		return
	}
	for c := range n {
		for r := range panel {
			dst[c*panel+r] = src[r*stride+c]
		}
	}
}

// PackMatTransposedBF16 packs w [n][k] for dX = dY*W: MatMulBF16(dx, dy, packed, nil, rows,
// n, k, None, scratch), for sizes that MatMulHasBF16 names. dst has PackedMatBF16Len(n, k)
// floats.
func PackMatTransposedBF16(dst, w []float32, k, n int) {
	dst, w = dst[:PackedMatBF16Len(n, k)], w[:n*k]
	if together := runOf(BF16); together > 1 {
		packRuns(dst, w, 1, k, n, k, together)
		return
	}
	step := max(1, maxCallFloats/(2*k)) // pairs of a call
	for i := 0; i < n/2; i += step {
		run(vectors().rowWords, &wordArgs{
			x: at(w, 2*i*k), y: at(dst, i*panel), xOdd: uintptr(k * f32), pairs: 1, panels: uintptr(k / panel), yPanel: uintptr(n / 2 * panelBytes),
			squares: uintptr(min(step, n/2-i)), xSquare: uintptr(2 * k * f32), ySquare: panelBytes,
		})
	}
}

// halfWord returns the word of two numbers, the first in its low half.
func halfWord(even, odd float32) float32 {
	return math.Float32frombits(uint32(halfBits(even)) | uint32(halfBits(odd))<<16)
}

// halfBits rounds to the nearest bfloat16, ties to even.
func halfBits(v float32) uint16 {
	u := math.Float32bits(v)
	if v != v {
		return uint16(u>>16) | 0x40 // stays NaN whatever the low half holds
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// MatMulBF16ScratchLen returns the scratch length of MatMulBF16.
func MatMulBF16ScratchLen(k, n int) int { return (matHalfRows+3)*k/2 + 4*n + n }

// MatMulBF16 is MatMul with factors rounded to bf16, for sizes that
// MatMulHasBF16 names. scratch has MatMulBF16ScratchLen(k, n) floats with any
// contents.
func MatMulBF16(y, x, packed, bias []float32, rows, k, n int, act Act, scratch []float32) {
	y, x = y[:rows*n], x[:rows*k]
	packed, scratch = packed[:PackedMatBF16Len(k, n)], scratch[:MatMulBF16ScratchLen(k, n)]
	act, after := act.split()
	words, rest := scratch[:(matHalfRows+3)*k/2], scratch[(matHalfRows+3)*k/2:]
	last, ones := rest[:4*n], rest[4*n:][:n]
	for i := range ones {
		ones[i] = 1
	}
	for r := 0; r < rows; r += matHalfRows {
		m := min(matHalfRows, rows-r)
		whole := m &^ 3 // the product's rows come in fours
		clear(words[m*k/2:][:(m+3)&^3*k/2-m*k/2])
		toHalf(words, x[r*k:][:m*k])
		if whole > 0 {
			halfProduct(y[r*n:], words, packed, whole, k, n)
		}
		if whole < m {
			halfProduct(last, words[whole*k/2:], packed, 4, k, n)
			copy(y[(r+whole)*n:][:(m-whole)*n], last)
		}
		if bias != nil {
			affine(y[r*n:][:m*n], Stored{F32: y[r*n:][:m*n]}, ones, bias[:n], nil, m, n, act)
		} else if act == ReLU {
			ReLUForward(y[r*n:][:m*n], y[r*n:][:m*n])
		}
	}
	after.second(y)
}

// toHalf rounds x to words; len(x) is a multiple of 16.
func toHalf(words, x []float32) {
	for i := 0; i < len(x); i += maxCallFloats {
		a := flatArgs{y: at(words, i/2), a: at(x, i), n: uintptr(min(maxCallFloats, len(x)-i) / panel)}
		run(vectors().toHalf, &a)
	}
}

// halfProduct sets y [rows][n] to words [rows][k/2] times packed, rows a
// multiple of 4.
func halfProduct(y, words, packed []float32, rows, k, n int) {
	a := pointArgs{
		x: at(words, 0), xRow: uintptr(k / 2 * f32), yRow: uintptr(n * f32),
		wPanel: uintptr(k / 2 * panel * f32), k: uintptr(k / 2), points: 1, aheadRow: uintptr(n * f32),
	}
	for o := 0; o < n; {
		np := min(vectors().pointPanels, (n-o)/panel)
		step := max(4, maxCallMACs/(k/2*np*panel)&^3) // rows a call
		for r := 0; r < rows; r += step {
			a.x, a.y, a.w = at(words, r*k/2), at(y, r*n+o), at(packed, o*k/2)
			a.rows, a.ahead = uintptr(min(step, rows-r)), a.y
			multiplyPoints(&a, np, BF16)
		}
		o += np * panel
	}
}
