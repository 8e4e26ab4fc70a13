//go:build amd64

package kernel

import (
	"bytes"
	"math"
	"runtime"
	"sync"
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

// Every height, length of the sum and width is right: integers exactly, others
// within the error of summing in fp32.
func TestTileProducts(t *testing.T) {
	needTiles(t)
	rng := newRand(t)
	for _, k := range []int{8, 16, 24, 32, 40, 56, 72, 104, 136, 512} {
		for rows := 4; rows <= 72; rows += 4 {
			if k > 40 && rows != 4 && rows != 20 && rows != 36 {
				continue
			}
			for _, panels := range []int{1, 2} {
				points := 1 + rng.IntN(2)
				c := newTileCase(rng, points, rows, k, panels, rng.integers, plain)
				pointAMX(&c.pointArgs, panels)
				c.check(t, 0)
				if rows%16 != 8 {
					continue
				}
				c = newTileCase(rng, points, rows, k, panels, rng.bf16, plain)
				pointAMX(&c.pointArgs, panels)
				c.check(t, float64(2*k)*0x1p-24)
			}
		}
	}
}

// Rows do not depend on the rows around them, bit for bit.
func TestTileRowsIndependent(t *testing.T) {
	needTiles(t)
	rng := newRand(t)
	const rows = 60
	c := newTileCase(rng, 2, rows, 40, 2, rng.bf16, plain)
	pointAMX(&c.pointArgs, 2)
	for first := 0; first < rows; first += 4 {
		part := *c
		part.ys = poison(len(c.ys))
		part.x, part.y, part.rows = &c.xs[first*c.xRow], &part.ys[first*c.yRow], uintptr(min(rows-first, 4+4*rng.IntN(4)))
		pointAMX(&part.pointArgs, 2)
		for r := first; r < first+int(part.rows); r++ {
			sameBits(t, "row", part.ys[r*c.yRow:][:2*panel], c.ys[r*c.yRow:][:2*panel])
		}
	}
}

// Tiles and AVX-512 differ by rounding only.
func TestTilesAgreeWithVectors(t *testing.T) {
	needTiles(t)
	rng := newRand(t)
	c := newTileCase(rng, 3, 44, 40, 2, rng.bf16, plain)
	point8x32BF16AVX512(bytesOf(&c.pointArgs))
	c.check(t, 80*0x1p-24)
	pointAMX(&c.pointArgs, 2)
	c.check(t, 80*0x1p-24)
}

// The tiles round to nearest even, take denormals as 0, flush denormal results
// and pass infinities and NaN on, whatever MXCSR says; they leave its control
// bits (TestEntriesRestoreControl looks at the status bits too; here the Go code
// between two looks may set them).
func TestTileArithmetic(t *testing.T) {
	needTiles(t)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	cases := []struct {
		name   string
		factor [3][2]float32
		want   float32
	}{
		{"half is even", [3][2]float32{{1, 1}, {0x1p-12, 0x1p-12}}, 1},
		{"more than half", [3][2]float32{{1, 1}, {0x1p-12, 0x1.8p-12}}, 1 + 0x1p-23},
		{"more than half, negative", [3][2]float32{{-1, 1}, {-0x1p-12, 0x1.8p-12}}, -1 - 0x1p-23},
		{"less than half, negative", [3][2]float32{{-1, 1}, {-0x1p-12, 0x1.8p-13}}, -1},
		{"denormal factor", [3][2]float32{{0x1p-130, 0x1p100}}, 0},
		{"smallest normal result", [3][2]float32{{0x1p-63, 0x1p-63}}, 0x1p-126},
		{"denormal result", [3][2]float32{{0x1p-70, 0x1p-70}}, 0},
		{"overflow", [3][2]float32{{0x1p127, 2}}, inf},
		{"infinities", [3][2]float32{{inf, 1}, {inf, -1}}, nan},
		{"infinity times 0", [3][2]float32{{inf, 0}}, nan},
		{"NaN", [3][2]float32{{1, 1}, {nan, 1}}, nan},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const status = 0x3f
	initial := readMXCSR()
	for _, control := range []uint32{0x1f80, 0x3f80, 0x5f80, 0x7f80, 0x9fc0} {
		for _, c := range cases {
			for _, upper := range []bool{false, true} {
				var x, w, y [8 * panel]float32 // rows of 8 words, 16 floats
				for i, f := range c.factor {
					// The factor 1 in the other half of w meets 0 in x.
					if upper {
						x[i], w[i*panel] = word(0, f[0]), word(1, f[1])
					} else {
						x[i], w[i*panel] = word(f[0], 0), word(f[1], 1)
					}
				}
				a := pointArgs{y: &y[0], x: &x[0], w: &w[0], xRow: 8 * f32, yRow: panelBytes, k: 8, rows: 4, points: 1}
				writeMXCSR(control)
				pointAMX(&a, 1)
				after := readMXCSR()
				writeMXCSR(initial)
				if after&^status != control {
					t.Errorf("%s: MXCSR %#x, was %#x", c.name, after, control)
				}
				if got := y[0]; got != c.want && (got == got || c.want == c.want) {
					t.Errorf("%s, MXCSR %#x, upper half %v: %g, want %g", c.name, control, upper, got, c.want)
				}
			}
		}
	}
}

// Threads, preemption and the garbage collector do not mix up tiles.
func TestTilesUnderPreemption(t *testing.T) {
	needTiles(t)
	rng := newRand(t)
	const workers, rounds = 4, 200
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers + 1))
	var wait sync.WaitGroup
	for range workers {
		c := newTileCase(rng, 1, 32, 512, 2, rng.integers, plain)
		pointAMX(&c.pointArgs, 2)
		c.check(t, 0)
		first := bytes.Clone(unsafe.Slice(bytesOf(&c.ys[0]), len(c.ys)*f32))
		wait.Go(func() {
			for range rounds {
				clear(c.ys[:2*panel])
				clear(c.ys[31*c.yRow:])
				pointAMX(&c.pointArgs, 2)
				if !bytes.Equal(first, unsafe.Slice(bytesOf(&c.ys[0]), len(c.ys)*f32)) {
					t.Error("a product differs from its first computation")
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	for collections := 0; ; collections++ {
		select {
		case <-done:
			t.Logf("%d collections", collections)
			return
		default:
			runtime.GC()
		}
	}
}

func TestTilesDoNotAllocate(t *testing.T) {
	needTiles(t)
	rng := newRand(t)
	c := newTileCase(rng, 1, 36, 24, 2, rng.bf16, plain)
	if n := testing.AllocsPerRun(10, func() { pointAMX(&c.pointArgs, 2) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
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
	for k, want := range map[int]int{8: 8, 16: 16, 24: 12, 32: 16, 40: 10, 56: 14, 88: 11, 136: 8, 512: 16} {
		if got := stepWords(k); got != want {
			t.Errorf("stepWords(%d) = %d, want %d", k, got, want)
		}
	}
}
