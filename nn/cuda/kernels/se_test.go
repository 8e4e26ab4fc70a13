package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// seCase is a squeeze-and-excitation layer with sums of random boards.
type seCase struct {
	boards, channels, padded, units int
	act                             int32
	zsums, dsums                    []float32 // [boards][2][padded]
	scale, shift                    []float32 // [padded]
	w1, b1, w2, b2                  []float32
}

func newSECase(r *rand.Rand, boards, channels, units int, act int32) *seCase {
	padded := Pad(channels)
	pad := func(v []float32) []float32 { return padColumns(v, channels, padded) }
	return &seCase{
		boards: boards, channels: channels, padded: padded, units: units, act: act,
		zsums: pad(normal(r, boards*2*channels, 64)), dsums: pad(normal(r, boards*2*channels, 8)),
		scale: pad(normal(r, channels, 1)), shift: pad(normal(r, channels, 1)),
		w1: normal(r, units*channels, 1/math.Sqrt(float64(channels))), b1: normal(r, units, 1),
		w2: normal(r, 2*channels*units, 1/math.Sqrt(float64(units))), b2: normal(r, 2*channels, 1),
	}
}

func (c *seCase) String() string {
	return fmt.Sprintf("%d boards, %d channels, %d units, act %d: ", c.boards, c.channels, c.units, c.act)
}

// seWant is the layer in float64.
type seWant struct {
	pool, gate, boardScale, boardShift []float64 // [boards][padded]
	pre                                []float64 // [boards][units]
	df, dhid                           []float64
	dynScale, dynShift, dynSums        []float64
}

// want computes what both kernels do.
func (c *seCase) want() seWant {
	wide := func() []float64 { return make([]float64, c.boards*c.padded) }
	w := seWant{
		pool: wide(), gate: wide(), boardScale: wide(), boardShift: wide(), dynScale: wide(), dynShift: wide(),
		pre: make([]float64, c.boards*c.units), dhid: make([]float64, c.boards*c.units),
		df: make([]float64, c.boards*2*c.channels), dynSums: make([]float64, c.boards*2*c.padded),
	}
	for b := range c.boards {
		c.forward(&w, b)
		c.backward(&w, b)
	}
	return w
}

func (c *seCase) forward(w *seWant, b int) {
	hidden := make([]float64, c.units)
	for i := range c.channels {
		w.pool[b*c.padded+i] = float64(c.zsums[b*2*c.padded+i])/64*float64(c.scale[i]) + float64(c.shift[i])
	}
	for u := range c.units {
		v := float64(c.b1[u])
		for i := range c.channels {
			v += float64(c.w1[u*c.channels+i]) * w.pool[b*c.padded+i]
		}
		w.pre[b*c.units+u] = v
		hidden[u] = act64(v, c.act)
	}
	f := func(o int) float64 {
		v := float64(c.b2[o])
		for u, h := range hidden {
			v += float64(c.w2[o*c.units+u]) * h
		}
		return v
	}
	for i := range c.channels {
		at := b*c.padded + i
		w.gate[at] = 1 / (1 + math.Exp(-f(i)))
		w.boardScale[at] = w.gate[at] * float64(c.scale[i])
		w.boardShift[at] = w.gate[at]*float64(c.shift[i]) + f(c.channels+i)
	}
}

func (c *seCase) backward(w *seWant, b int) {
	n := c.channels
	df, dhid := w.df[b*2*n:][:2*n], w.dhid[b*c.units:][:c.units]
	for i := range n {
		sum, sumz, gate := float64(c.dsums[b*2*c.padded+i]), float64(c.dsums[(b*2+1)*c.padded+i]), w.gate[b*c.padded+i]
		df[i] = (float64(c.scale[i])*sumz + float64(c.shift[i])*sum) * gate * (1 - gate)
		df[n+i] = sum
	}
	for u := range dhid {
		for o, d := range df {
			dhid[u] += d * float64(c.w2[o*c.units+u])
		}
		dhid[u] *= slope64(w.pre[b*c.units+u], c.act)
	}
	for i := range n {
		var dpool float64
		for u, d := range dhid {
			dpool += d * float64(c.w1[u*n+i])
		}
		at, sum := b*c.padded+i, b*2*c.padded+i
		w.dynScale[at], w.dynShift[at] = w.gate[at], dpool/64
		w.dynSums[sum] = w.gate[at]*float64(c.dsums[sum]) + dpool
		w.dynSums[sum+c.padded] = w.gate[at]*float64(c.dsums[sum+c.padded]) + dpool/64*float64(c.zsums[sum])
	}
}

// upload puts the case on the device and returns both kernels' arguments.
func (c *seCase) upload(t *testing.T, d driver.Device, s driver.Stream) (SEForwardArgs, SEBackwardArgs) {
	t.Helper()
	up := func(v []float32) driver.Ptr { return upload(t, d, s, F32, v) }
	wide := func() driver.Ptr { return alloc(t, d, c.boards*c.padded*4) }
	f := SEForwardArgs{
		Sums: up(c.zsums), Scale: up(c.scale), Shift: up(c.shift), W1: up(c.w1), B1: up(c.b1), W2: up(c.w2), B2: up(c.b2),
		Pool: wide(), Pre: alloc(t, d, c.boards*c.units*4), Gate: wide(), BoardScale: wide(), BoardShift: wide(),
		Boards: int32(c.boards), Channels: int32(c.channels), Padded: int32(c.padded), Units: int32(c.units), Act: c.act,
	}
	b := SEBackwardArgs{
		Sums: up(c.dsums), Zsums: f.Sums, Scale: f.Scale, Shift: f.Shift, Gate: f.Gate, Pre: f.Pre, W1: f.W1, W2: f.W2,
		Df: alloc(t, d, c.boards*2*c.channels*4), Dhid: alloc(t, d, c.boards*c.units*4),
		DynScale: wide(), DynShift: wide(), DynSums: alloc(t, d, c.boards*2*c.padded*4),
		Boards: f.Boards, Channels: f.Channels, Padded: f.Padded, Units: f.Units, Act: c.act,
	}
	return f, b
}

// TestSE: sums of up to 288 terms of size about 1 in fp32, 2^-24 each; the gradient
// multiplies values of about 2^9 (sums over squares).
func TestSE(t *testing.T) {
	r := fresh(t)
	for i, size := range []struct{ boards, channels, units int }{
		{1, 16, 8}, {3, 24, 9}, {5, 144, 32}, {70, 24, 8}, {3, 270, 33}, {2, 1, 8}, {seWide + 3, 9, 8},
	} {
		eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
			c := newSECase(r, size.boards, size.channels, size.units, int32(1+i%2))
			w := c.want()
			for c.nearKink(w) {
				c = newSECase(r, size.boards, size.channels, size.units, int32(1+i%2))
				w = c.want()
			}
			f, b := c.upload(t, d, s)
			run(t, k, s, SEForward(f), SEBackward(b))
			check := func(name string, p driver.Ptr, want []float64, absolute float64) {
				near(t, c.String()+name, download(t, s, F32, p, len(want)), want, absolute, 0x1p-17)
			}
			check("pool", f.Pool, w.pool, 1e-6)
			check("pre", f.Pre, w.pre, 1e-5)
			check("gate", f.Gate, w.gate, 1e-5)
			check("scale", f.BoardScale, w.boardScale, 1e-5)
			check("shift", f.BoardShift, w.boardShift, 1e-4)
			check("df", b.Df, w.df, 1e-3)
			check("dhid", b.Dhid, w.dhid, 1e-3)
			check("dyn scale", b.DynScale, w.dynScale, 1e-5)
			check("dyn shift", b.DynShift, w.dynShift, 1e-3/16)
			check("dyn sums", b.DynSums, w.dynSums, 1e-2)
		})
	}
}

// nearKink reports whether rounding could decide ReLU's slope of a unit.
func (c *seCase) nearKink(w seWant) bool {
	return c.act == actReLU && slices.ContainsFunc(w.pre, func(v float64) bool { return math.Abs(v) < 1e-5 })
}

// TestSEAlone: a board's results have the same bits in any batch, in either kernel.
func TestSEAlone(t *testing.T) {
	d, k, s := open(t)
	many := newSECase(fresh(t), seWide+3, 24, 9, actMish)
	f, b := many.upload(t, d, s)
	run(t, k, s, SEForward(f), SEBackward(b))
	few := *many
	few.boards = 6
	at := many.boards - few.boards
	few.zsums, few.dsums = many.zsums[at*2*many.padded:], many.dsums[at*2*many.padded:]
	g, h := few.upload(t, d, s)
	run(t, k, s, SEForward(g), SEBackward(h))
	if SEForward(f).Kernel == SEForward(g).Kernel {
		t.Fatal("both batches took the same kernel")
	}
	for _, c := range []struct {
		name      string
		many, few driver.Ptr
		width     int
	}{
		{"pre", f.Pre, g.Pre, many.units}, {"scale", f.BoardScale, g.BoardScale, many.padded}, {"shift", f.BoardShift, g.BoardShift, many.padded},
		{"dhid", b.Dhid, h.Dhid, many.units}, {"dyn sums", b.DynSums, h.DynSums, 2 * many.padded},
	} {
		n := few.boards * c.width
		if !slices.Equal(downloadOf[uint32](t, s, c.many.Offset(4*at*c.width), n), downloadOf[uint32](t, s, c.few, n)) {
			t.Errorf("%s differs between a batch of %d and one of %d", c.name, many.boards, few.boards)
		}
	}
}
