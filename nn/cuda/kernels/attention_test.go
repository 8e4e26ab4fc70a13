package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// softmax64 replaces logits by probabilities.
func softmax64(z []float64) {
	top, sum := math.Inf(-1), 0.0
	for _, v := range z {
		top = max(top, v)
	}
	for i, v := range z {
		z[i] = math.Exp(v - top)
		sum += z[i]
	}
	for i := range z {
		z[i] /= sum
	}
}

// innerAct64 is an activation of attention.cu.
func innerAct64(x float64, act int32) float64 {
	switch act {
	case ActReLU2:
		return max(x, 0) * max(x, 0)
	case ActSwish:
		return x / (1 + math.Exp(-x))
	case ActSELU:
		if x > 0 {
			return 1.0507009873554805 * x
		}
		return 1.0507009873554805 * 1.6732632423543772 * math.Expm1(x)
	}
	return act64(x, act)
}

// TestEmbed: the men as one row, and planes beside a table's rows or each board's own.
func TestEmbed(t *testing.T) {
	const boards, saidWidth, width = 3, 5, 128
	eachType(t, func(t *testing.T, typ Type) {
		r := fresh(t)
		d, k, s := open(t)
		masks := make([][encoding.NumMasks]uint64, boards)
		men := make([]float64, boards*64*encoding.MenPlanes)
		for i := range masks {
			for p := range masks[i] {
				masks[i][p] = r.Uint64() & r.Uint64()
			}
			for j := range 64 * encoding.MenPlanes {
				men[i*64*encoding.MenPlanes+j] = float64(masks[i][j%encoding.MenPlanes] >> (j / encoding.MenPlanes) & 1)
			}
		}
		a := MenArgs{Masks: uploadOf(t, d, s, masks), Y: alloc(t, d, len(men)*typ.Size()), Boards: boards}
		run(t, k, s, Men(typ, a))
		near(t, "men", download(t, s, typ, a.Y, len(men)), men, 0, 0)

		planes, said := rounded(typ, normal(r, boards*64*encoding.NumPlanes, 1)), rounded(typ, normal(r, boards*64*saidWidth, 1))
		for byBoard := range int32(2) {
			want := make([]float64, boards*64*width)
			for i := range want {
				row, c := i/width, i%width
				if n := c - encoding.NumPlanes; n < 0 {
					want[i] = float64(planes[row*encoding.NumPlanes+c])
				} else if n < saidWidth {
					if byBoard == 0 {
						row %= 64
					}
					want[i] = float64(said[row*saidWidth+n])
				}
			}
			e := EmbedArgs{Planes: upload(t, d, s, typ, planes), Said: upload(t, d, s, typ, said), Y: alloc(t, d, len(want)*typ.Size()),
				Boards: boards, SaidWidth: saidWidth, Width: width, ByBoard: byBoard}
			run(t, k, s, Embed(typ, e))
			near(t, fmt.Sprintf("embedding, by board %d", byBoard), download(t, s, typ, e.Y, len(want)), want, 0, 0)
		}
	})
}

// normCases are forms of layer norms: of columns in groups, and of a row that is padded.
var normCases = []struct {
	rows, width, real, group int
	act                      int32
	skip, norm, gates        bool
}{
	{130, 32, 27, 27, ActNone, true, true, false},
	{128, 48, 48, 48, ActMish, false, true, true},
	{64, 16, 10, 10, ActReLU, false, false, true},
	{3, 32, 18, 6, ActSwish, false, true, false},
	{9, 144, 130, 130, ActSELU, false, false, false},
	{5, 80, 70, 70, ActReLU2, true, false, false},
	{66, 288, 288, 96, ActReLU, false, true, false},
}

// spreadTo returns rows of real columns as layer_norm writes them: in groups, each padded.
func spreadTo(rows []float64, real, group int) []float64 {
	var out []float64
	for g := range slices.Chunk(rows, group) {
		out = append(append(out, g...), make([]float64, Pad(group)-group)...)
	}
	return out
}

// normInputs are the inputs of a layer norm, of width columns; those from real on are 0.
func normInputs(r *rand.Rand, typ Type, rows, width, real int) []float32 {
	v := rounded(typ, normal(r, rows*width, 1))
	for i := range v {
		if i%width >= real {
			v[i] = 0
		}
	}
	return v
}

// TestLayerNorm holds every form against float64: activations, sums, norms, columns in groups,
// gates. One rounding to the type, and some of fp32 at values below 2^5.
func TestLayerNorm(t *testing.T) {
	for _, c := range normCases {
		eachType(t, func(t *testing.T, typ Type) {
			r := fresh(t)
			d, k, s := open(t)
			x, skip := normInputs(r, typ, c.rows, c.width, c.real), normInputs(r, typ, c.rows, c.width, c.real)
			gamma, beta, mul, add := normal(r, c.real, 1), normal(r, c.real, 1), normal(r, 64*c.real, 1), normal(r, 64*c.real, 1)
			wide := c.real / c.group * Pad(c.group)
			a := LayerNormArgs{X: upload(t, d, s, typ, x), Rows: int32(c.rows), Width: int32(c.width), Real: int32(c.real), Group: int32(c.group), Act: c.act, Scale: 0.75, Epsilon: 1e-3}
			a.Y = alloc(t, d, c.rows*wide*typ.Size())
			if c.skip {
				a.Skip = upload(t, d, s, typ, skip)
				a.Y = a.Skip
			}
			if c.norm {
				a.Gamma, a.Beta = upload(t, d, s, F32, gamma), upload(t, d, s, F32, beta)
			}
			if c.gates {
				a.Mul, a.Add = upload(t, d, s, F32, mul), upload(t, d, s, F32, add)
			}
			run(t, k, s, LayerNorm(typ, a))
			var want []float64
			for row := range c.rows {
				v := make([]float64, c.real)
				mean, variance := 0.0, 0.0
				for i := range v {
					if v[i] = 0.75 * innerAct64(float64(x[row*c.width+i]), c.act); c.skip {
						v[i] += float64(skip[row*c.width+i])
					}
					mean += v[i] / float64(c.real)
				}
				for i := range v {
					variance += (v[i] - mean) * (v[i] - mean) / float64(c.real)
				}
				for i := range v {
					if c.norm {
						v[i] = (v[i]-mean)/math.Sqrt(variance+1e-3)*float64(gamma[i]) + float64(beta[i])
					}
					if c.gates {
						v[i] = v[i]*float64(mul[row%64*c.real+i]) + float64(add[row%64*c.real+i])
					}
				}
				want = append(want, spreadTo(v, c.real, c.group)...)
			}
			near(t, fmt.Sprint(c), download(t, s, typ, a.Y, len(want)), want, 0x1p-14, 1.01*unitRoundoff(typ))
		})
	}
}

// attendCase are the inputs of heads, rounded to a type.
type attendCase struct {
	boards, heads, depth, width int
	q, k, v, extra              []float32 // extra: nil where there is none
	scale                       float64
}

// eachAttend calls f with heads of many depths.
func eachAttend(t *testing.T, f func(t *testing.T, typ Type, c *attendCase)) {
	for _, c := range []attendCase{
		{boards: 2, heads: 3, depth: 5, width: 16, extra: []float32{}}, {boards: 1, heads: 2, depth: 16, width: 32}, {boards: 1, heads: 1, depth: 72, width: 80, extra: []float32{}},
		{boards: 1, heads: 2, depth: 32, width: 64, extra: []float32{}}, {boards: 3, heads: 1, depth: 130, width: 144},
	} {
		eachType(t, func(t *testing.T, typ Type) {
			r := fresh(t)
			c, n := c, c.boards*64*c.width
			c.q, c.k, c.v = rounded(typ, normal(r, n, 0.7)), rounded(typ, normal(r, n, 0.7)), rounded(typ, normal(r, n, 0.7))
			if c.extra != nil {
				c.extra = rounded(typ, normal(r, c.boards*c.heads*64*64, 1))
			}
			c.scale = 0.75
			f(t, typ, &c)
		})
	}
}

// at is the index of a column of a head's square.
func (c *attendCase) at(board, head, square, column int) int {
	return (board*64+square)*c.width + head*c.depth + column
}

// weights returns those of a head, [64][64].
func (c *attendCase) weights(board, head int) []float64 {
	p := make([]float64, 64*64)
	for query := range 64 {
		z := p[query*64:][:64]
		for key := range z {
			for i := range c.depth {
				z[key] += c.scale * float64(c.q[c.at(board, head, query, i)]) * float64(c.k[c.at(board, head, key, i)])
			}
			if c.extra != nil {
				z[key] += float64(c.extra[((board*c.heads+head)*64+query)*64+key])
			}
		}
		softmax64(z)
	}
	return p
}

// TestAttend holds heads of any depth against float64, whose inputs are parts of one array's
// rows. Weights of values are rounded to the type: an error of its unit, of averages of values
// below 2^3.
func TestAttend(t *testing.T) {
	eachAttend(t, func(t *testing.T, typ Type, c *attendCase) {
		d, k, s := open(t)
		var joint []float32
		for row := range c.boards * 64 {
			for _, x := range [][]float32{c.q, c.k, c.v} {
				joint = append(joint, x[row*c.width:][:c.width]...)
			}
		}
		x, part := upload(t, d, s, typ, joint), c.width*typ.Size()
		a := AttendArgs{Q: x, K: x.Offset(part), V: x.Offset(2 * part), Y: alloc(t, d, c.boards*64*part),
			Boards: int32(c.boards), Heads: int32(c.heads), Depth: int32(c.depth), Stride: int32(3 * c.width), Width: int32(c.width), Scale: float32(c.scale)}
		if c.extra != nil {
			a.Extra = upload(t, d, s, typ, c.extra)
		}
		run(t, k, s, Attend(typ, a))
		want := make([]float64, c.boards*64*c.width)
		for board := range c.boards {
			for head := range c.heads {
				for i, p := range c.weights(board, head) {
					for column := range c.depth {
						want[c.at(board, head, i/64, column)] += p * float64(c.v[c.at(board, head, i%64, column)])
					}
				}
			}
		}
		near(t, fmt.Sprint(c.heads, c.depth), download(t, s, typ, a.Y, len(want)), want, 4*unitRoundoff(typ)+0x1p-17, 1.01*unitRoundoff(typ))
	})
}

// TestAttentionPolicy holds priors against float64: all moves, promotions among them, few and
// none; a square that is not a number spoils its board alone.
func TestAttentionPolicy(t *testing.T) {
	const width, boards, bad = 48, 5, 4
	places := encoding.AttentionPolicyIndex()
	eachType(t, func(t *testing.T, typ Type) {
		eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
			r := fresh(t)
			qk, promotion := rounded(typ, normal(r, boards*64*2*width, 0.5)), normal(r, 3*width, 0.5)
			start, legal := []int32{0}, []uint16{}
			for _, moves := range []int{0, encoding.NumPolicy, 1, 33, 60} {
				for _, p := range r.Perm(encoding.NumPolicy)[:moves] {
					legal = append(legal, uint16(p))
				}
				start = append(start, int32(len(legal)))
			}
			first := int(places[legal[start[bad]]])
			if first >= 64*64 {
				legal[start[bad]] = 0
				first = int(places[0])
			}
			qk[(bad*64+first/64)*2*width] = float32(math.NaN())
			var want []float64
			for board := range boards {
				z := make([]float64, start[board+1]-start[board])
				for i := range z {
					at := int(places[legal[int(start[board])+i]])
					from, to, more := at/64, at%64, make([]float32, width)
					if n := at - 64*64; n >= 0 {
						from, to, more = 48+n/24, 56+n/3%8, promotion[n%3*width:]
					}
					for c := range width {
						z[i] += (float64(qk[(board*64+from)*2*width+c]) + float64(more[c])) * float64(qk[(board*64+to)*2*width+width+c])
					}
					if board == bad {
						z[i] = math.NaN()
					}
				}
				softmax64(z)
				want = append(want, z...)
			}
			prior := alloc(t, d, 4*len(legal))
			run(t, k, s, AttentionPolicy(typ, AttentionPolicyArgs{
				Count: uploadOf(t, d, s, []int32{boards}), Qk: upload(t, d, s, typ, qk), Promotion: upload(t, d, s, F32, promotion), Places: uploadOf(t, d, s, places[:]),
				Start: uploadOf(t, d, s, start), Legal: uploadOf(t, d, s, legal), Prior: prior, Width: width,
			}, boards+3))
			near(t, "prior", download(t, s, F32, prior, len(legal)), want, 1e-7, 1e-4)
		})
	})
}
