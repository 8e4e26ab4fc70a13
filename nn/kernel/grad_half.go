package kernel

import "math"

// The bf16 form of MatMulWeightGrad. A word holds the factors of two rows, the even one in
// its low half. Words are [rows/2][columns + panel]: with the odd stride the lines of a
// column lie in all sets of the cache.
const (
	gradHalfRows = 256 // rows whose sum stays in registers
	gradHalfCols = 256 // columns that are rounded together
)

// MatMulWeightGradHasBF16 says whether MatMulWeightGradBF16 does a product of k inputs and n
// outputs in the active tier. AMX does none: its CPUs multiply bf16 outside of tiles at half
// the rate of fp32.
func MatMulWeightGradHasBF16(k, n int) bool {
	return MatMulHasBF16(k, n) && vectors().grad[BF16][1] != nil
}

// MatMulWeightGradBF16ScratchLen returns the scratch length of MatMulWeightGradBF16.
func MatMulWeightGradBF16ScratchLen(k, n int) int {
	return gradHalfRows / 2 * (min(k, gradHalfCols) + min(n, gradHalfCols) + 2*panel)
}

// MatMulWeightGradBF16 is MatMulWeightGrad with the factors of dw rounded to bf16, for sizes
// that MatMulWeightGradHasBF16 names; db is of the numbers as they are. scratch has
// MatMulWeightGradBF16ScratchLen(k, n) floats with any contents.
func MatMulWeightGradBF16(dw, db, x, dy []float32, rows, k, n int, scratch []float32) {
	dw, x, dy = dw[:n*k], x[:rows*k], dy[:rows*n]
	scratch = scratch[:MatMulWeightGradBF16ScratchLen(k, n)]
	a, b := scratch[:gradHalfRows/2*(min(n, gradHalfCols)+panel)], scratch[gradHalfRows/2*(min(n, gradHalfCols)+panel):]
	for r := 0; r < rows; r += gradHalfRows {
		m := min(gradHalfRows, rows-r)
		for o := 0; o < n; o += gradHalfCols {
			high := min(gradHalfCols, n-o)
			rowWords(a, dy[r*n+o:], m, high, n)
			for c := 0; c < k; c += gradHalfCols {
				width := min(gradHalfCols, k-c)
				rowWords(b, x[r*k+c:], m, width, k)
				gradHalfBlock(dw[o*k+c:], a, b, (m+1)/2, high, width, k)
			}
		}
	}
	addRows(db, dy, rows, n)
}

// rowWords rounds the first columns of rows, which lie stride floats apart, to words.
func rowWords(words, x []float32, rows, columns, stride int) {
	to := columns + panel
	if pairs := rows / 2; pairs > 0 {
		_, _ = x[(2*pairs-1)*stride+columns-1], words[(pairs-1)*to+columns-1]
		run(vectors().rowWords, &wordArgs{
			x: at(x, 0), y: at(words, 0), xOdd: uintptr(stride * f32), pairs: 1, panels: uintptr(columns / panel), yPanel: panelBytes,
			squares: uintptr(pairs), xSquare: uintptr(2 * stride * f32), ySquare: uintptr(to * f32),
		})
	}
	if rows%2 != 0 {
		for i, v := range x[(rows-1)*stride:][:columns] {
			words[rows/2*to+i] = math.Float32frombits(uint32(halfBits(v)))
		}
	}
}

// gradHalfBlock adds the products of words a and b, length long, to rows of dw, k apart.
func gradHalfBlock(dw, a, b []float32, length, rows, width, k int) {
	g := gradArgs{
		dstRow: uintptr(k * f32), aStep: uintptr((rows + panel) * f32), bStep: uintptr((width + panel) * f32),
		inner: uintptr(length), outer: 1,
	}
	for c := 0; c < width; {
		np := vectors().panelsNext((width - c) / panel)
		gradBlock(&g, dw[c:], a, b[c:], rows, np, length, BF16)
		c += np * panel
	}
}
