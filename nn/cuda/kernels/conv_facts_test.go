package kernels

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// allTiles computes a case's convolution with every tile and expects one answer.
func allTiles(t *testing.T, c *convCase, d driver.Device, k *Set, s driver.Stream) result {
	t.Helper()
	var first result
	for i, tile := range convTiles(c.t, c.taps) {
		got := c.run(t, d, k, s, tile)
		if i == 0 {
			first = got
		} else if !got.equal(first) {
			t.Fatalf("%v: the %s tile differs from %s", c, tile.name, convTiles(c.t, c.taps)[0].name)
		}
	}
	return first
}

// TestConvTaps sets one square and reads the 3x3 pattern around it: tap ky*3+kx, of
// weight tap+1, brings it to the square of rank 1-ky and file 1-kx beyond. It does
// not go round the board's edges, nor to the board beside it.
func TestConvTaps(t *testing.T) {
	for _, fact := range []struct {
		square string
		want   map[string]float32
	}{
		{"a1", map[string]float32{"a1": 5, "b1": 4, "a2": 2, "b2": 1}},
		{"h1", map[string]float32{"g1": 6, "h1": 5, "g2": 3, "h2": 2}},
		{"a8", map[string]float32{"a7": 8, "b7": 7, "a8": 5, "b8": 4}},
		{"h8", map[string]float32{"g7": 9, "h7": 8, "g8": 6, "h8": 5}},
		{"d4", map[string]float32{"c3": 9, "d3": 8, "e3": 7, "c4": 6, "d4": 5, "e4": 4, "c5": 3, "d5": 2, "e5": 1}},
		{"a5", map[string]float32{"a4": 8, "b4": 7, "a5": 5, "b5": 4, "a6": 2, "b6": 1}},
	} {
		eachType(t, func(t *testing.T, typ Type) {
			d, k, s := open(t)
			const boards, ci, co, input, output = 3, 16, 32, 7, 21
			c := &convCase{t: typ, taps: 9, rows: 64 * boards, ci: ci, co: co, x: make([]float32, 64*boards*ci), w: make([]float32, 9*co*ci)}
			c.x[(64+squareOf(fact.square))*ci+input] = 1
			for tap := range 9 {
				c.w[(tap*co+output)*ci+input] = float32(tap + 1)
			}
			want := make([]float32, 64*boards*co)
			for square, v := range fact.want {
				want[(64+squareOf(square))*co+output] = v
			}
			if got := allTiles(t, c, d, k, s); !slices.Equal(got.y, want) {
				t.Errorf("%s: got other squares than %v", fact.square, fact.want)
			}
		})
	}
}

func squareOf(name string) int { return int(name[1]-'1')*8 + int(name[0]-'a') }

// TestConvBorder: with an input of zeros that the transform makes 2, weights of 1 and
// one channel, a square sees 2 for each square of its neighbourhood on the board.
func TestConvBorder(t *testing.T) {
	eachType(t, func(t *testing.T, typ Type) {
		d, k, s := open(t)
		const ci, co = 80, 16
		c := &convCase{t: typ, taps: 9, rows: 128, ci: ci, co: co, transform: true, inAct: actReLU, x: make([]float32, 128*ci), w: make([]float32, 9*co*ci), k: make([]float32, ci), c: make([]float32, ci)}
		for i := range c.c {
			c.c[i] = 2
		}
		for tap := range 9 {
			c.w[tap*co*ci+64] = 1 // of a channel in the last tile
		}
		got := allTiles(t, c, d, k, s)
		for r := range c.rows {
			want := float32(18)
			for _, side := range []int{r % 8, r % 64 / 8} {
				if side == 0 || side == 7 {
					want = want / 3 * 2
				}
			}
			if got.y[r*co] != want {
				t.Fatalf("square %d: %g, want %g", r%64, got.y[r*co], want)
			}
		}
	})
}

// TestConvOfOneBoard: a board has the same answer alone as among others.
func TestConvOfOneBoard(t *testing.T) {
	eachType(t, func(t *testing.T, typ Type) {
		d, k, s := open(t)
		c := convCase{t: typ, taps: 9, rows: 5 * 64, ci: 48, co: 80, bias: true, sums: true, transform: true, inAct: actMish, z: true, zAct: actMish, affine: true, add: true}
		c.fill(fresh(t))
		all := allTiles(t, &c, d, k, s)
		for board := range 5 {
			one := c
			of := func(v []float32, n int) []float32 { return v[board*n : (board+1)*n] }
			one.rows, one.x, one.addend, one.slop = 64, of(c.x, 64*c.ci), of(c.addend, 64*c.co), of(c.slop, 64*c.co)
			if got := allTiles(t, &one, d, k, s); !got.equal(result{of(all.y, 64*c.co), of(all.y32, 64*c.co), of(all.sums, 2*c.co)}) {
				t.Fatalf("board %d differs alone", board)
			}
		}
	})
}

// TestConvAdjoint: with each tap's weights transposed, taps in reverse order, a
// convolution of dy gives the gradient of x: <conv(x), dy> = <x, conv'(dy)>.
func TestConvAdjoint(t *testing.T) {
	eachType(t, func(t *testing.T, typ Type) {
		r := fresh(t)
		d, k, s := open(t)
		forward := &convCase{t: typ, taps: 9, rows: 128, ci: 32, co: 48}
		forward.fill(r)
		back := &convCase{t: typ, taps: 9, rows: 128, ci: 48, co: 32, x: rounded(typ, normal(r, 128*48, 1)), w: make([]float32, len(forward.w))}
		for tap := range 9 {
			for o := range 48 {
				for i := range 32 {
					back.w[((8-tap)*32+i)*48+o] = forward.w[(tap*48+o)*32+i]
				}
			}
		}
		dot := func(a, b []float32) (sum, size float64) {
			for i := range a {
				sum += float64(a[i]) * float64(b[i])
				size += math.Abs(float64(a[i]) * float64(b[i]))
			}
			return sum, size
		}
		left, size := dot(allTiles(t, forward, d, k, s).y32, back.x)
		right, _ := dot(forward.x, allTiles(t, back, d, k, s).y32)
		if math.Abs(left-right) > 1e-6*size {
			t.Errorf("<conv(x), dy> = %g, <x, conv'(dy)> = %g, of products of %g", left, right, size)
		}
	})
}

// TestConvWritesWhatIsAsked: each output alone; what is not asked for may be null.
func TestConvWritesWhatIsAsked(t *testing.T) {
	eachType(t, func(t *testing.T, typ Type) {
		d, k, s := open(t)
		c := convCase{t: typ, taps: 1, rows: 192, ci: 32, co: 80, sums: true}
		c.fill(fresh(t))
		want := allTiles(t, &c, d, k, s)
		x, w := upload(t, d, s, typ, c.x), upload(t, d, s, typ, c.w)
		a := ConvArgs{X: x, W: w, Rows: 192, Ci: 32, Co: 80}
		onlyY, only32, onlySums := a, a, a
		onlyY.Y, only32.Y32, onlySums.Sums = alloc(t, d, 192*80*typ.Size()), alloc(t, d, 192*80*4), alloc(t, d, 3*2*80*4)
		run(t, k, s, Conv(typ, 1, onlyY), Conv(typ, 1, only32), Conv(typ, 1, onlySums))
		got := result{download(t, s, typ, onlyY.Y, 192*80), downloadOf[float32](t, s, only32.Y32, 192*80), downloadOf[float32](t, s, onlySums.Sums, 3*2*80)}
		if !got.equal(want) {
			t.Error("outputs asked for one by one differ from those asked for together")
		}
	})
}

// TestConvLaunch: tiles by size, and what devices of each kind have room for.
func TestConvLaunch(t *testing.T) {
	eachType(t, func(t *testing.T, typ Type) {
		for _, taps := range []int{1, 9} {
			limit := 99 << 10 // of shared memory, sm_86
			if typ == F32 {
				limit = 48 << 10
			}
			for _, fact := range []struct {
				boards, co int32
				tile       string
			}{{1, 64, "small"}, {4096, 64, "wide"}, {4096, 112, "wide"}, {4096, 96, "slim"}, {16, 96, "small"}} {
				if fact.tile == "slim" && (taps == 1 || typ == F32) {
					fact.tile = "wide"
				}
				l := Conv(typ, taps, ConvArgs{Rows: 64 * fact.boards, Ci: 64, Co: fact.co})
				if !strings.Contains(l.Kernel, fact.tile) {
					t.Errorf("taps %d: %d boards, %d outputs run on %s, want the %s tile", taps, fact.boards, fact.co, l.Kernel, fact.tile)
				}
				if l.Shared > limit {
					t.Errorf("%s: %d bytes of shared memory, a block has %d", l.Kernel, l.Shared, limit)
				}
			}
		}
		for _, bad := range []ConvArgs{{Rows: 63, Ci: 16, Co: 16}, {Rows: 64, Ci: 24, Co: 16}, {Rows: 64, Ci: 16, Co: 3}, {Rows: 0, Ci: 16, Co: 16}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%+v is taken", bad)
					}
				}()
				Conv(typ, 9, bad)
			}()
		}
	})
}
