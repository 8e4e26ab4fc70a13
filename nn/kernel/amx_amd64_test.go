package kernel

import (
	"bytes"
	"math"
	"runtime"
	"sync"
	"testing"
	"unsafe"
)

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
