package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// wgradCase is a weight gradient with its inputs as stored, in Go's memory.
type wgradCase struct {
	t                          Type
	taps, rows, ci, co, splits int
	x, dz                      []float32 // [rows][ci], [rows][co]
	scale, shift               []float32 // [ci] or nil
	act                        int32
}

func (c *wgradCase) name() string {
	return fmt.Sprintf("%v taps %d rows %d ci %d co %d splits %d act %d transform %t", c.t, c.taps, c.rows, c.ci, c.co, c.splits, c.act, c.scale != nil)
}

// fill draws the inputs. Scales and shifts have few bits, so that x*scale+shift is
// exact in fp32, fused or not.
func (c *wgradCase) fill(r *rand.Rand, transform bool) {
	c.x, c.dz = rounded(c.t, normal(r, c.rows*c.ci, 1)), rounded(c.t, normal(r, c.rows*c.co, 1))
	if !transform {
		return
	}
	if c.t == F32 { // as many bits as the products leave
		c.x = rounded(FP16, c.x)
	}
	for range c.ci {
		c.scale = append(c.scale, float32(r.IntN(15)-7)/4)
		c.shift = append(c.shift, float32(r.IntN(15)-7)/8)
	}
}

// parts computes the parts on a device.
func (c *wgradCase) parts(t *testing.T, d driver.Device, k *Set, s driver.Stream) []float32 {
	t.Helper()
	n := c.splits * c.taps * c.co * c.ci
	a := WgradArgs{X: upload(t, d, s, c.t, c.x), Dz: upload(t, d, s, c.t, c.dz), Part: alloc(t, d, 4*n),
		Rows: int32(c.rows), Ci: int32(c.ci), Co: int32(c.co), InAct: c.act, Splits: int32(c.splits)}
	if c.scale != nil {
		a.InScale, a.InShift = upload(t, d, s, F32, c.scale), upload(t, d, s, F32, c.shift)
	}
	run(t, k, s, Wgrad(c.t, c.taps, a))
	return download(t, s, F32, a.Part, n)
}

// input returns in(x) as the kernel multiplies it, rounded to the type.
func (c *wgradCase) input() []float32 {
	in := slices.Clone(c.x)
	for i, x := range in {
		v := float64(x)
		if c.scale != nil {
			v = v*float64(c.scale[i%c.ci]) + float64(c.shift[i%c.ci])
		}
		switch c.act {
		case ActReLU:
			v = max(v, 0)
		case ActMish:
			v *= math.Tanh(math.Log1p(math.Exp(v)))
		}
		in[i] = float32(v)
	}
	return rounded(c.t, in)
}

// reference computes the parts in float64.
func (c *wgradCase) reference() []float64 {
	part, in, unit := make([]float64, c.splits*c.taps*c.co*c.ci), c.input(), 1
	if c.taps == 9 {
		unit = 64
	}
	units := c.rows / unit
	for s := range c.splits {
		for r := s * units / c.splits * unit; r < (s+1)*units/c.splits*unit; r++ {
			for tap := range c.taps {
				from := c.neighbour(r, tap)
				if from < 0 {
					continue
				}
				x := in[from*c.ci:][:c.ci]
				for o, dz := range c.dz[r*c.co:][:c.co] {
					sums := part[((s*c.taps+tap)*c.co+o)*c.ci:][:c.ci]
					for i := range sums {
						sums[i] += float64(dz) * float64(x[i])
					}
				}
			}
		}
	}
	return part
}

// neighbour returns the row that a tap reads for row r, or -1 off the board.
func (c *wgradCase) neighbour(r, tap int) int {
	if c.taps == 1 {
		return r
	}
	rank, file := r%64/8+tap/3-1, r%8+tap%3-1
	if rank < 0 || rank > 7 || file < 0 || file > 7 {
		return -1
	}
	return r/64*64 + rank*8 + file
}

// tolerance of K products of numbers whose deviations are 1 and, after a transform,
// at most 2. Their sum's deviation is sqrt(K) of the product's; among many sums one
// wanders 5 times as far. Each of K roundings is off by 2^-24 of that at most, in
// either direction, so that about sqrt(K) of them add up: 5*K*2^-24, taken 3 times.
// Mish's own error, some units of 2^-24, moves an input over the border between two
// stored numbers now and then, which is a whole unit of the type: 1 in 100 inputs.
func (c *wgradCase) tolerance() float64 {
	deviation, rows := 1., float64(c.rows)
	if c.scale != nil {
		deviation = 2
	}
	e := 15 * rows * math.Exp2(-24)
	if c.act == ActMish {
		unit := map[Type]float64{F32: math.Exp2(-20), BF16: math.Exp2(-7), FP16: math.Exp2(-10)}[c.t]
		e += 5 * unit * math.Sqrt(rows/100+1)
	}
	return e * deviation
}

var types = []Type{F32, BF16, FP16}

func TestWgrad(t *testing.T) {
	r := fresh(t)
	d, k, s := open(t)
	shapes := []struct{ taps, rows, ci, co, splits int }{
		{9, 64, 16, 16, 1}, {9, 3 * 64, 48, 80, 2}, {9, 5 * 64, 112, 16, 3}, {9, 3 * 64, 144, 144, 2}, {9, 3 * 64, 16, 144, 4}, {9, 6 * 64, 96, 32, 1},
		{1, 1, 16, 16, 1}, {1, 7, 48, 80, 2}, {1, 100, 144, 144, 3}, {1, 100, 112, 16, 1}, {1, 640, 144, 80, 2}, {1, 3, 16, 16, 4},
	}
	for n, sh := range shapes {
		for m, typ := range types {
			for _, transform := range []bool{false, true} {
				c := wgradCase{t: typ, taps: sh.taps, rows: sh.rows, ci: sh.ci, co: sh.co, splits: sh.splits}
				if transform {
					c.act = []int32{ActReLU, ActMish, ActNone}[(n+m)%3]
				}
				c.fill(r, transform)
				near(t, c.name(), c.parts(t, d, k, s), c.reference(), c.tolerance(), 0)
			}
		}
	}
}

// With the transform's halves missing, in(x) is act(x*1+0) and its like.
func TestWgradActivationAlone(t *testing.T) {
	r := fresh(t)
	d, k, s := open(t)
	for _, typ := range types {
		c := wgradCase{t: typ, taps: 9, rows: 64, ci: 32, co: 32, splits: 1, act: ActReLU}
		c.fill(r, false)
		near(t, c.name(), c.parts(t, d, k, s), c.reference(), c.tolerance(), 0)
	}
}

// A gradient of 1 at one square picks the squares around it on its own board: x holds
// the square's number plus 1 on one board and -1 on the boards beside it.
func TestWgradNeighbours(t *testing.T) {
	d, k, s := open(t)
	want := map[int][9]float32{
		0:  {0, 0, 0, 0, 1, 2, 0, 9, 10},         // a1
		7:  {0, 0, 0, 7, 8, 0, 15, 16, 0},        // h1
		32: {0, 25, 26, 0, 33, 34, 0, 41, 42},    // a5
		63: {55, 56, 0, 63, 64, 0, 0, 0, 0},      // h8
		28: {20, 21, 22, 28, 29, 30, 36, 37, 38}, // e4
	}
	for _, typ := range types {
		for square, around := range want {
			c := wgradCase{t: typ, taps: 9, rows: 3 * 64, ci: 16, co: 16, splits: 1}
			c.x, c.dz = make([]float32, c.rows*c.ci), make([]float32, c.rows*c.co)
			for r := range c.rows {
				c.x[r*c.ci+3] = -1
				if r/64 == 1 {
					c.x[r*c.ci+3] = float32(r%64 + 1)
				}
			}
			c.dz[(64+square)*c.co+5] = 1
			part := c.parts(t, d, k, s)
			for tap, w := range around {
				if got := part[(tap*c.co+5)*c.ci+3]; got != w {
					t.Errorf("%v: square %d, tap %d reads %g, want %g", typ, square, tap, got, w)
				}
			}
		}
	}
}

// The transform does not reach the border: where in(x) is 1 on every square, a
// weight's gradient counts the squares of both boards whose neighbour is on the board.
func TestWgradShiftOffBoard(t *testing.T) {
	d, k, s := open(t)
	for _, typ := range types {
		for _, width := range []int{16, 144} { // the narrow and the wide tile
			c := wgradCase{t: typ, taps: 9, rows: 2 * 64, ci: width, co: width, splits: 1, act: ActReLU}
			c.x, c.dz = make([]float32, c.rows*c.ci), slices.Repeat([]float32{1}, c.rows*c.co)
			c.scale, c.shift = slices.Repeat([]float32{2}, c.ci), slices.Repeat([]float32{1}, c.ci)
			for i, v := range c.parts(t, d, k, s) {
				tap := i / (c.co * c.ci)
				if want := [9]float32{98, 112, 98, 112, 128, 112, 98, 112, 98}[tap]; v != want {
					t.Fatalf("%v, %d channels: element %d of tap %d is %g, want %g", typ, width, i%(c.co*c.ci), tap, v, want)
				}
			}
		}
	}
}

// Parts and sums are the same, bit for bit, in whatever order threads run.
func TestWgradSameInEveryOrder(t *testing.T) {
	r := fresh(t)
	for _, typ := range types {
		for _, taps := range []int{9, 1} {
			c := wgradCase{t: typ, taps: taps, rows: 6 * 64, ci: 80, co: 48, splits: 1, act: ActMish}
			c.fill(r, true)
			var first []float32
			for seed := range uint64(2) {
				d := emulated.OpenWith(t, emulated.Options{Seed: seed + 1})
				k, err := Load(d)
				must(t, err)
				s, err := d.NewStream()
				must(t, err)
				got := c.parts(t, d, k, s)
				if first == nil {
					first = got
				}
				if !slices.Equal(got, first) {
					t.Errorf("%s: two runs differ", c.name())
				}
				must(t, s.Destroy())
			}
		}
	}
}
