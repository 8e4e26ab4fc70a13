package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// The activations of device.cuh.
const (
	actNone int32 = iota
	actReLU
	actMish
)

// act64 and slope64 are an activation and its derivative.
func act64(x float64, act int32) float64 {
	switch act {
	case actReLU:
		return max(x, 0)
	case actMish:
		return x * math.Tanh(math.Log1p(math.Exp(x)))
	}
	return x
}

func slope64(x float64, act int32) float64 {
	switch act {
	case actReLU:
		if x > 0 {
			return 1
		}
		return 0
	case actMish:
		t := math.Tanh(math.Log1p(math.Exp(x)))
		return t + x*(1-t*t)/(1+math.Exp(-x))
	}
	return 1
}

// unitRoundoff is the largest relative error of a number stored as t.
func unitRoundoff(t Type) float64 {
	return map[Type]float64{F32: 0x1p-24, BF16: 0x1p-8, FP16: 0x1p-11}[t]
}

// padColumns returns rows of c values with zeros up to padded.
func padColumns(v []float32, c, padded int) []float32 {
	out := make([]float32, len(v)/c*padded)
	for i, x := range v {
		out[i/c*padded+i%c] = x
	}
	return out
}

// joinCase is inputs of the join kernels with what they give.
type joinCase struct {
	t               Type
	boards, padded  int
	act             int32
	byBoard, shared bool // the result lies where an input lay
	z, x, dy        []float32
	scale, shift    []float32
}

func (c *joinCase) String() string {
	return fmt.Sprintf("%v %dx%d act %d by board %v in place %v without x %v", c.t, c.boards, c.padded, c.act, c.byBoard, c.shared, c.x == nil)
}

// before returns the argument of the activation at element i.
func (c *joinCase) before(i int) float64 {
	at := i % c.padded
	if c.byBoard {
		at += i / c.padded / 64 * c.padded
	}
	v := float64(c.z[i])*float64(c.scale[at]) + float64(c.shift[at])
	if c.x != nil {
		v += float64(c.x[i])
	}
	return v
}

// fill draws inputs as they are stored. No argument of the activation is so near 0
// that rounding could decide ReLU's slope.
func (c *joinCase) fill(r *rand.Rand, withX bool) {
	n, rows := c.boards*64*c.padded, 1
	if c.byBoard {
		rows = c.boards
	}
	c.z, c.dy = rounded(c.t, normal(r, n, 1)), rounded(c.t, normal(r, n, 1))
	c.scale, c.shift = normal(r, rows*c.padded, 1), normal(r, rows*c.padded, 1)
	if withX {
		c.x = rounded(c.t, normal(r, n, 1))
	}
	for i := range c.z {
		for math.Abs(c.before(i)) < 1e-4 {
			c.z[i] = round(c.t, float32(r.NormFloat64()))
		}
	}
}

func joinCases(r *rand.Rand, t Type) []*joinCase {
	var cases []*joinCase
	for i, size := range []struct{ boards, padded int }{{1, 16}, {3, 32}, {5, 144}, {70, 16}, {2, 80}, {2, 320}} {
		for act := range int32(3) {
			if size.boards*size.padded > 500 && int(act) == i%3 {
				continue // two activations will do for the large ones
			}
			c := &joinCase{t: t, boards: size.boards, padded: size.padded, act: act, byBoard: (i+int(act))%2 == 0, shared: i%2 == 1}
			c.fill(r, (i+int(act))%4 != 3)
			cases = append(cases, c)
		}
	}
	return cases
}

func eachType(t *testing.T, f func(t *testing.T, typ Type)) {
	for _, typ := range []Type{F32, BF16, FP16} {
		t.Run(typ.String(), func(t *testing.T) { f(t, typ) })
	}
}

// TestJoin holds y against float64: one rounding to the type, and some of fp32 in
// between, at values below 2^5.
func TestJoin(t *testing.T) {
	eachType(t, func(t *testing.T, typ Type) {
		d, k, s := open(t)
		for _, c := range joinCases(fresh(t), typ) {
			a := JoinArgs{
				Z: upload(t, d, s, typ, c.z), Scale: upload(t, d, s, F32, c.scale), Shift: upload(t, d, s, F32, c.shift),
				Boards: int32(c.boards), Padded: int32(c.padded), Act: c.act, ByBoard: btoi(c.byBoard),
			}
			if c.x != nil {
				a.X = upload(t, d, s, typ, c.x)
			}
			if a.Y = a.X; !c.shared || c.x == nil {
				a.Y = alloc(t, d, len(c.z)*typ.Size())
			}
			run(t, k, s, Join(typ, a))
			want := make([]float64, len(c.z))
			for i := range want {
				want[i] = act64(c.before(i), c.act)
			}
			near(t, c.String(), download(t, s, typ, a.Y, len(want)), want, 8*0x1p-19, 1.01*unitRoundoff(typ)+0x1p-20)
		}
	})
}

func btoi(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// TestJoinBackward holds d against float64 and the sums against sums of the d that
// was stored: 16 additions of fp32 to sums below 2^8.
func TestJoinBackward(t *testing.T) {
	eachType(t, func(t *testing.T, typ Type) {
		d, k, s := open(t)
		for _, c := range joinCases(fresh(t), typ) {
			sums := alloc(t, d, c.boards*2*c.padded*4)
			a := JoinBackwardArgs{
				Dy: upload(t, d, s, typ, c.dy), Z: upload(t, d, s, typ, c.z), Scale: upload(t, d, s, F32, c.scale), Shift: upload(t, d, s, F32, c.shift),
				Sums: sums, Boards: int32(c.boards), Padded: int32(c.padded), Act: c.act, ByBoard: btoi(c.byBoard),
			}
			if c.x != nil {
				a.X = upload(t, d, s, typ, c.x)
			}
			if a.D = a.Dy; !c.shared {
				a.D = alloc(t, d, len(c.z)*typ.Size())
			}
			run(t, k, s, JoinBackward(typ, a))
			want := make([]float64, len(c.z))
			for i := range want {
				want[i] = float64(c.dy[i]) * slope64(c.before(i), c.act)
			}
			stored := download(t, s, typ, a.D, len(want))
			near(t, c.String(), stored, want, 8*0x1p-19, 1.01*unitRoundoff(typ)+0x1p-20)
			near(t, c.String()+" sums", download(t, s, F32, sums, c.boards*2*c.padded), boardSums64(stored, c.z, c.boards, c.padded), 16*0x1p-17, 0)
		}
	})
}

// boardSums64 returns [boards][2][padded]: sums over the squares of v and of v*w.
func boardSums64(v, w []float32, boards, padded int) []float64 {
	sums := make([]float64, boards*2*padded)
	for i, x := range v {
		at := i/(64*padded)*2*padded + i%padded
		sums[at] += float64(x)
		sums[at+padded] += float64(x) * float64(w[i])
	}
	return sums
}

// TestBoardGrid counts: every 16 bytes of every board have exactly one thread, and
// blocks are neither over the limits nor nearly empty.
func TestBoardGrid(t *testing.T) {
	for _, typ := range []Type{F32, FP16} {
		for padded := 16; padded <= 2048; padded += 16 {
			for _, boards := range []int{1, 7, 4096} {
				l := Join(typ, JoinArgs{Boards: int32(boards), Padded: int32(padded)})
				grid, block := l.Grid, l.Block
				threads := block.X * block.Y * block.Z
				if threads > 256 || threads < 128 || block.Z > 64 {
					t.Fatalf("%v, %d channels: block %v", typ, padded, block)
				}
				groups := padded * typ.Size() / 16
				if grid.X*block.Z < boards || (grid.X-1)*block.Z >= boards || grid.Y*block.X < groups || (grid.Y-1)*block.X >= groups {
					t.Fatalf("%v, %d boards of %d channels: grid %v, block %v", typ, boards, padded, grid, block)
				}
			}
		}
	}
}

// uploadSums uploads sums by board, as a convolution hands them to batch norm.
func uploadSums(t *testing.T, d driver.Device, s driver.Stream, v, w []float32, boards, padded int) (driver.Ptr, []float32) {
	t.Helper()
	var sums []float32
	for _, x := range boardSums64(v, w, boards, padded) {
		sums = append(sums, float32(x))
	}
	return upload(t, d, s, F32, sums), sums
}
