package kernel

// toHalf rounds x to words; len(x) is a multiple of 16.
func toHalf(words, x []float32) {
	for i := 0; i < len(x); i += maxCallFloats {
		a := flatArgs{y: at(words, i/2), a: at(x, i), n: uintptr(min(maxCallFloats, len(x)-i) / panel)}
		flatHalfAVX512(bytesOf(&a))
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
		np := min(pointPanels(), (n-o)/panel)
		step := max(4, maxCallMACs/(k/2*np*panel)&^3) // rows a call
		for r := 0; r < rows; r += step {
			a.x, a.y, a.w = at(words, r*k/2), at(y, r*n+o), at(packed, o*k/2)
			a.rows, a.ahead = uintptr(min(step, rows-r)), a.y
			callPoints(&a, np, BF16)
		}
		o += np * panel
	}
}
