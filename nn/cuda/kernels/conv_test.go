package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// convCase is a convolution with its inputs, as T stores them.
type convCase struct {
	t                           Type
	taps, rows, ci, co          int
	transform                   bool // of the input
	inAct, zAct                 int32
	bias, add, z, affine, sums  bool
	inPlace                     bool // add is y
	x, w, k, c, b, addend, slop []float32
	zk, zc                      []float32
}

func (c *convCase) String() string {
	return fmt.Sprintf("%v taps %d rows %d ci %d co %d transform %v/%d bias %v add %v/%v z %v/%d/%v sums %v", c.t, c.taps, c.rows, c.ci, c.co, c.transform, c.inAct, c.bias, c.add, c.inPlace, c.z, c.zAct, c.affine, c.sums)
}

// fill makes the inputs.
func (c *convCase) fill(r *rand.Rand) {
	c.x = rounded(c.t, normal(r, c.rows*c.ci, 1))
	c.w = rounded(c.t, normal(r, c.taps*c.co*c.ci, 1/math.Sqrt(float64(c.taps*c.ci))))
	c.k, c.c, c.b = normal(r, c.ci, 1), normal(r, c.ci, 1), normal(r, c.co, 1)
	c.addend = rounded(c.t, normal(r, c.rows*c.co, 1))
	c.slop = rounded(c.t, normal(r, c.rows*c.co, 1))
	c.zk, c.zc = normal(r, c.co, 1), normal(r, c.co, 1)
}

// in returns the transformed input, rounded as the kernel rounds it: to T after one
// multiplication and one addition in fp32.
func (c *convCase) in() []float64 {
	out := make([]float64, len(c.x))
	for i, x := range c.x {
		out[i] = float64(x)
		if c.transform {
			v := act64(float64(x)*float64(c.k[i%c.ci])+float64(c.c[i%c.ci]), c.inAct)
			out[i] = float64(round(c.t, float32(v)))
		}
	}
	return out
}

// want returns, in float64, the results and for each the sum of the products' sizes.
func (c *convCase) want() (v, size []float64) {
	in := c.in()
	v, size = make([]float64, c.rows*c.co), make([]float64, c.rows*c.co)
	for r := range c.rows {
		for tap := range c.taps {
			from := r
			if c.taps == 9 {
				rank, file := r%64/8+tap/3-1, r%8+tap%3-1
				if rank < 0 || rank > 7 || file < 0 || file > 7 {
					continue
				}
				from = r/64*64 + rank*8 + file
			}
			for o := range c.co {
				w := c.w[(tap*c.co+o)*c.ci:][:c.ci]
				sum, abs := 0.0, 0.0
				for i, x := range in[from*c.ci:][:c.ci] {
					p := x * float64(w[i])
					sum += p
					abs += math.Abs(p)
				}
				v[r*c.co+o] += sum
				size[r*c.co+o] += abs
			}
		}
	}
	for i := range v {
		o := i % c.co
		if c.bias {
			v[i] += float64(c.b[o])
		}
		if c.add {
			v[i] += float64(c.addend[i])
		}
		size[i] += math.Abs(v[i])
		if c.z {
			at := float64(c.slop[i])
			if c.affine {
				// as fp32 has it: at ReLU's kink a rounded sum may decide
				at = float64(float32(c.slop[i]*c.zk[o]) + c.zc[o])
			}
			s := slope64(at, c.zAct)
			v[i] *= s
			size[i] *= math.Abs(s) + 0.1
		}
	}
	return v, size
}

// result is what a kernel wrote.
type result struct{ y, y32, sums []float32 }

// run computes c with a tile.
func (c *convCase) run(t *testing.T, d driver.Device, k *Set, s driver.Stream, tile convTile) result {
	t.Helper()
	n := c.rows * c.co
	a := ConvArgs{X: upload(t, d, s, c.t, c.x), W: upload(t, d, s, c.t, c.w), Y: alloc(t, d, n*c.t.Size()), Y32: alloc(t, d, 4*n), Rows: int32(c.rows), Ci: int32(c.ci), Co: int32(c.co), ZAct: c.zAct}
	if c.transform {
		a.InScale, a.InShift, a.InAct = uploadOf(t, d, s, c.k), uploadOf(t, d, s, c.c), c.inAct
	}
	if c.bias {
		a.Bias = uploadOf(t, d, s, c.b)
	}
	if c.add {
		a.Add = upload(t, d, s, c.t, c.addend)
		if c.inPlace {
			a.Y = a.Add
		}
	}
	if c.z {
		a.Z = upload(t, d, s, c.t, c.slop)
		if c.affine {
			a.ZScale, a.ZShift = uploadOf(t, d, s, c.zk), uploadOf(t, d, s, c.zc)
		}
	}
	if c.sums {
		a.Sums = alloc(t, d, c.rows/64*2*c.co*4)
	}
	run(t, k, s, tile.launch(c.t, c.taps, a))
	got := result{y: download(t, s, c.t, a.Y, n), y32: downloadOf[float32](t, s, a.Y32, n)}
	if c.sums {
		got.sums = downloadOf[float32](t, s, a.Sums, c.rows/64*2*c.co)
	}
	return got
}

// check compares a result with float64. fp32 sums of K products, the most of them in
// a row, err by at most K roundings of the products' sizes; the transformed input may
// differ by one rounding to T where fp32's act lies at the other side of a tie.
func (c *convCase) check(t *testing.T, got result) {
	t.Helper()
	want, size := c.want()
	relative := 0x1p-24 * float64(c.taps*c.ci+8)
	if c.z && c.zAct == actMish || c.transform {
		relative += 0x1p-20 // expf and what it goes through
	}
	if c.transform {
		relative += unitRoundoff(c.t) / 4
	}
	for i, w := range want {
		tolerance := relative*size[i] + 1e-30
		if e := math.Abs(float64(got.y32[i]) - w); !(e <= tolerance) {
			t.Fatalf("%v: y32[%d][%d] is %g, want %g: off by %g, allowed %g", c, i/c.co, i%c.co, got.y32[i], w, e, tolerance)
		}
		if y := round(c.t, got.y32[i]); y != got.y[i] {
			t.Fatalf("%v: y[%d][%d] is %g, y32 rounds to %g", c, i/c.co, i%c.co, got.y[i], y)
		}
	}
	if !c.sums {
		return
	}
	for i, g := range got.sums {
		board, kind, o := i/(2*c.co), i/c.co%2, i%c.co
		sum, abs := 0.0, 0.0
		for square := range 64 {
			at := (board*64+square)*c.co + o
			v, other := float64(got.y32[at]), 1.0
			if kind == 1 {
				other = v
				if c.z {
					other = float64(c.slop[at])
				}
			}
			sum += v * other
			abs += math.Abs(v * other)
		}
		if e := math.Abs(float64(g) - sum); !(e <= 0x1p-24*24*abs+1e-30) {
			t.Fatalf("%v: sums[%d][%d][%d] is %g, want %g", c, board, kind, o, g, sum)
		}
	}
}

func (r result) equal(o result) bool {
	same := func(a, b []float32) bool {
		return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
	}
	return same(r.y, o.y) && same(r.y32, o.y32) && same(r.sums, o.sums)
}

// convCases covers every option with each type, and tails of every tile.
func convCases(t Type) []convCase {
	all := []convCase{
		// forward: statistics, then with a transform
		{taps: 9, rows: 64, ci: 16, co: 16, sums: true},
		{taps: 9, rows: 128, ci: 112, co: 32, sums: true},
		{taps: 9, rows: 320, ci: 48, co: 80, sums: true, transform: true, inAct: actReLU},
		{taps: 9, rows: 192, ci: 80, co: 48, sums: true, transform: true, inAct: actMish, bias: true},
		// data gradients
		{taps: 9, rows: 128, ci: 32, co: 144, add: true, inPlace: true},
		{taps: 9, rows: 64, ci: 144, co: 112, z: true, affine: true, zAct: actReLU, sums: true},
		{taps: 9, rows: 192, ci: 16, co: 48, z: true, affine: true, zAct: actMish, sums: true, add: true, bias: true},
		{taps: 9, rows: 64, ci: 32, co: 16, z: true, zAct: actNone, add: true},
		// heads and fully connected layers
		{taps: 1, rows: 320, ci: 144, co: 32, sums: true, transform: true, inAct: actNone},
		{taps: 1, rows: 1, ci: 112, co: 16, bias: true},
		{taps: 1, rows: 7, ci: 272, co: 144, transform: true, inAct: actMish, bias: true},
		{taps: 1, rows: 130, ci: 16, co: 80, z: true, zAct: actReLU, affine: true, add: true, inPlace: true},
		{taps: 1, rows: 192, ci: 80, co: 112, z: true, zAct: actMish, sums: true, add: true},
	}
	for i := range all {
		all[i].t = t
	}
	return all
}

// TestConv compares all tiles with float64 and with each other, bit for bit.
func TestConv(t *testing.T) {
	eachType(t, func(t *testing.T, typ Type) {
		r := fresh(t)
		d, k, s := open(t)
		for _, c := range convCases(typ) {
			c.fill(r)
			c.check(t, allTiles(t, &c, d, k, s))
		}
	})
}
