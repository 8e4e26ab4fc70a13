package kernel

import (
	"math"
	"testing"
	"unsafe"
)

// needTiles skips a test where there are no tiles; scripts/amx_emulated.sh runs
// it in an emulator.
func needTiles(t *testing.T) {
	t.Helper()
	if BestTier() != AMX {
		t.Skip("SKIPPED: this machine has no AMX; see scripts/amx_emulated.sh")
	}
}

// tileCase is a product with its strides in words.
type tileCase struct {
	pointArgs
	xs, ws, ys   []float32
	panels       int
	xRow, yRow   int
	xPoint, yPnt int
}

// bf16Bits returns the bits of v, which must be a bf16 number.
func bf16Bits(v float32) uint32 { return math.Float32bits(v) >> 16 }

func word(lo, hi float32) float32 { return math.Float32frombits(bf16Bits(lo) | bf16Bits(hi)<<16) }

// halves returns the two numbers of a word.
func halves(w float32) (lo, hi float64) {
	b := math.Float32bits(w)
	return float64(math.Float32frombits(b << 16)), float64(math.Float32frombits(b &^ 0xffff))
}

// newTileCase returns a product with strides up to 20 words too long, over words
// whose numbers come from draw; alloc gives memory.
func newTileCase(rng testRand, points, rows, k, panels int, draw func() float32, alloc func(n int) []float32) *tileCase {
	c := &tileCase{panels: panels, xRow: k + rng.IntN(20), yRow: panels*panel + rng.IntN(20)}
	c.xPoint, c.yPnt = rows*c.xRow+rng.IntN(20), rows*c.yRow+rng.IntN(20)
	wPoint := k*panel + rng.IntN(20)
	wPanel := points*wPoint + rng.IntN(20)
	fill := func(n int) []float32 {
		s := alloc(n)
		for i := range s {
			s[i] = word(draw(), draw())
		}
		return s
	}
	c.xs = fill((points-1)*c.xPoint + (rows-1)*c.xRow + k)
	c.ws = fill((panels-1)*wPanel + (points-1)*wPoint + k*panel)
	c.ys = alloc((points-1)*c.yPnt + (rows-1)*c.yRow + panels*panel)
	for i := range c.ys {
		c.ys[i] = float32(math.NaN())
	}
	c.pointArgs = pointArgs{
		y: &c.ys[0], x: &c.xs[0], w: &c.ws[0], xRow: uintptr(c.xRow * f32), yRow: uintptr(c.yRow * f32),
		xPoint: uintptr(c.xPoint * f32), yPoint: uintptr(c.yPnt * f32), wPoint: uintptr(wPoint * f32),
		wPanel: uintptr(wPanel * f32), k: uintptr(k), rows: uintptr(rows), points: uintptr(points),
	}
	return c
}

// want returns a result and the sum of the magnitudes of its products.
func (c *tileCase) want(p, r, col int) (sum, mag float64) {
	w := p*int(c.wPoint)/f32 + col/panel*int(c.wPanel)/f32 + col%panel
	for k := range int(c.k) {
		xl, xh := halves(c.xs[p*c.xPoint+r*c.xRow+k])
		wl, wh := halves(c.ws[w+k*panel])
		sum += xl*wl + xh*wh
		mag += math.Abs(xl*wl) + math.Abs(xh*wh)
	}
	return sum, mag
}

// check compares all results with the reference, within tol times the magnitude,
// and finds what was written between rows.
func (c *tileCase) check(t *testing.T, tol float64) {
	t.Helper()
	written := make([]bool, len(c.ys))
	for p := range int(c.points) {
		for r := range int(c.rows) {
			for col := range c.panels * panel {
				i := p*c.yPnt + r*c.yRow + col
				written[i] = true
				want, mag := c.want(p, r, col)
				if d := math.Abs(float64(c.ys[i]) - want); !(d <= tol*mag) {
					t.Fatalf("k %d, %d rows, %d panels, point %d row %d column %d: %g, want %g, off by %g of %g",
						c.k, c.rows, c.panels, p, r, col, c.ys[i], want, d, mag)
				}
			}
		}
	}
	for i, w := range written {
		if !w && c.ys[i] == c.ys[i] {
			t.Fatalf("k %d, %d rows, %d panels: wrote float %d, between rows", c.k, c.rows, c.panels, i)
		}
	}
}

func plain(n int) []float32 { return make([]float32, n+1)[1:] }

// integers draws numbers whose sums are exact in any order.
func (r testRand) integers() float32 { return float32(r.IntN(17) - 8) }

// bf16 draws a normal number of bf16.
func (r testRand) bf16() float32 {
	return math.Float32frombits(math.Float32bits(float32(r.NormFloat64())) &^ 0xffff)
}

// The configuration is laid out as LDTILECFG reads it (Intel, Software
// Developer's Manual, volume 2, LDTILECFG).
func TestTileConfig(t *testing.T) {
	got := newTileConfig(20, 12)
	want := [64]byte{
		0: 1, // palette; then 16 bytes of header
		// Bytes of a row, 2 bytes each: accumulators of 16 columns, x of 12 words, w of 16 columns.
		16: 64, 18: 64, 20: 64, 22: 64, 24: 48, 26: 48, 28: 64, 30: 64,
		// Rows: 16 and 4 of the block, 12 words.
		48: 16, 49: 16, 50: 4, 51: 4, 52: 16, 53: 4, 54: 12, 55: 12,
	}
	if *(*[64]byte)(unsafe.Pointer(&got)) != want || unsafe.Sizeof(got) != 64 {
		t.Errorf("20 rows, 12 words: % x", *(*[64]byte)(unsafe.Pointer(&got)))
	}
	// A tile without rows may not have bytes either.
	if low := newTileConfig(12, 16); low.rows != [16]byte{12, 12, 0, 0, 12, 0, 16, 16} ||
		low.rowBytes != [16]uint16{64, 64, 0, 0, 64, 0, 64, 64} {
		t.Errorf("12 rows, 16 words: %+v", low)
	}
}

func TestStepWords(t *testing.T) {
	for k, want := range map[int]int{2: 2, 6: 6, 74: 2, 8: 8, 16: 16, 24: 12, 32: 16, 40: 10, 56: 14, 88: 11, 136: 8, 512: 16} {
		if got := stepWords(k); got != want {
			t.Errorf("stepWords(%d) = %d, want %d", k, got, want)
		}
	}
}
