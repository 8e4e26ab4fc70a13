package kernels

import (
	"fmt"
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// innerSlope64 is the derivative of innerAct64, by differences but where there is a bend.
func innerSlope64(x float64, act int32) float64 {
	const h = 1e-5
	if (act == ActReLU || act == ActReLU2 || act == ActSELU) && math.Abs(x) < 2*h {
		panic("a bend")
	}
	return (innerAct64(x+h, act) - innerAct64(x-h, act)) / (2 * h)
}

// TestLayerNormBackward holds every form against float64: the gradients of x and of skip, and the
// sums over rows of gamma's and beta's. In place where the trainer does so.
func TestLayerNormBackward(t *testing.T) {
	for _, c := range normCases {
		if c.gates {
			c.gates = false // whose gradient is another kernel
		}
		eachType(t, func(t *testing.T, typ Type) {
			r := fresh(t)
			d, k, s := open(t)
			x, skip := normInputs(r, typ, c.rows, c.width, c.real), normInputs(r, typ, c.rows, c.width, c.real)
			for i := range x {
				if i%c.width < c.real && math.Abs(float64(x[i])) < 1e-3 {
					x[i] = 1
				}
			}
			gamma, wide := normal(r, c.real, 1), c.real/c.group*Pad(c.group)
			dy, dyWide := normal(r, c.rows*c.real, 1), []float32{}
			dy = rounded(typ, dy)
			for i, v := range dy {
				if dyWide = append(dyWide, v); i%c.group == c.group-1 {
					dyWide = append(dyWide, make([]float32, Pad(c.group)-c.group)...)
				}
			}
			if c.real < c.width && c.group == c.real {
				dyWide[c.real] = 1 // what stands in padding is not looked at
			}
			a := LayerNormBackwardArgs{X: upload(t, d, s, typ, x), Dy: upload(t, d, s, typ, dyWide), Rows: int32(c.rows), Width: int32(c.width), Real: int32(c.real), Group: int32(c.group), Act: c.act, Scale: 0.75, Epsilon: 1e-3}
			a.Dx = alloc(t, d, len(x)*typ.Size())
			if c.skip {
				a.Skip, a.Dskip = upload(t, d, s, typ, skip), a.Dy
			} else if wide == c.width {
				a.Dx = a.Dy
			}
			parts := NormParts(c.rows)
			if c.norm {
				a.Gamma, a.Sums = upload(t, d, s, F32, gamma), alloc(t, d, 4*parts*2*c.width)
			}
			run(t, k, s, LayerNormBackward(typ, a))

			dx, dSkip, sums := make([]float64, len(x)), make([]float64, len(x)), make([]float64, parts*2*c.width)
			for row := range c.rows {
				v, n := make([]float64, c.real), float64(c.real)
				mean, variance := 0.0, 0.0
				for i := range v {
					if v[i] = 0.75 * innerAct64(float64(x[row*c.width+i]), c.act); c.skip {
						v[i] += float64(skip[row*c.width+i])
					}
					mean += v[i] / n
				}
				for i := range v {
					variance += (v[i] - mean) * (v[i] - mean) / n
				}
				factor := 1 / math.Sqrt(variance+1e-3)
				dn, dnn := 0.0, 0.0
				for i := range v {
					v[i] = (v[i] - mean) * factor
					g := float64(dy[row*c.real+i]) * float64(gamma[i])
					dn += g / n
					dnn += g * v[i] / n
				}
				for i := range v {
					at, g := row*c.width+i, float64(dy[row*c.real+i])
					if c.norm {
						sums[row/64*2*c.width+i] += g * v[i]
						sums[(row/64*2+1)*c.width+i] += g
						g = (g*float64(gamma[i]) - dn - v[i]*dnn) * factor
					}
					dSkip[at], dx[at] = g, g*0.75*innerSlope64(float64(x[at]), c.act)
				}
			}
			near(t, fmt.Sprint(c), download(t, s, typ, a.Dx, len(dx)), dx, 0x1p-12, 1.01*unitRoundoff(typ))
			if c.skip {
				near(t, fmt.Sprint(c, " skip"), download(t, s, typ, a.Dskip, len(dSkip)), dSkip, 0x1p-12, 1.01*unitRoundoff(typ))
			}
			if c.norm {
				near(t, fmt.Sprint(c, " sums"), download(t, s, F32, a.Sums, len(sums)), sums, 0x1p-10, 0)
			}
		})
	}
}

// TestGateBackward: the gradients of inputs and gates, the latter set or added to; and what is
// behind the planes.
func TestGateBackward(t *testing.T) {
	const boards, width, real = 3, 80, 70
	eachType(t, func(t *testing.T, typ Type) {
		r := fresh(t)
		d, k, s := open(t)
		x, dy, mul := normInputs(r, typ, boards*64, width, real), normInputs(r, typ, boards*64, width, real), normal(r, 64*real, 1)
		before := normal(r, 64*real, 1)
		for accumulate := range int32(2) {
			a := GateBackwardArgs{X: upload(t, d, s, typ, x), Dy: upload(t, d, s, typ, dy), Mul: upload(t, d, s, F32, mul), Dmul: upload(t, d, s, F32, before), Dadd: upload(t, d, s, F32, before),
				Boards: boards, Width: width, Real: real, Accumulate: accumulate}
			a.Dx = a.Dy
			run(t, k, s, GateBackward(typ, a))
			dx, dMul, dAdd := make([]float64, len(x)), make([]float64, 64*real), make([]float64, 64*real)
			for i := range dMul {
				dMul[i], dAdd[i] = float64(accumulate)*float64(before[i]), float64(accumulate)*float64(before[i])
			}
			for i := range x {
				if c, at := i%width, i/width%64*real+i%width; c < real {
					dx[i] = float64(dy[i]) * float64(mul[at])
					dMul[at] += float64(dy[i]) * float64(x[i])
					dAdd[at] += float64(dy[i])
				}
			}
			near(t, "dx", download(t, s, typ, a.Dx, len(dx)), dx, 0x1p-24, 1.01*unitRoundoff(typ))
			near(t, "mul", download(t, s, F32, a.Dmul, len(dMul)), dMul, 1e-5, 0)
			near(t, "add", download(t, s, F32, a.Dadd, len(dAdd)), dAdd, 1e-5, 0)
		}

		const saidWidth, wide = 5, 128
		in := rounded(typ, normal(r, boards*64*wide, 1))
		e := SaidGradientArgs{Dy: upload(t, d, s, typ, in), Dsaid: alloc(t, d, boards*64*saidWidth*typ.Size()), Boards: boards, SaidWidth: saidWidth, Width: wide}
		run(t, k, s, SaidGradient(typ, e))
		var want []float64
		for row := range boards * 64 {
			for c := range saidWidth {
				want = append(want, float64(in[row*wide+encoding.NumPlanes+c]))
			}
		}
		near(t, "said", download(t, s, typ, e.Dsaid, len(want)), want, 0, 0)
	})
}

// TestAttendBackward holds the gradients of heads of any depth against float64. Weights and
// slopes are rounded to the type before they are multiplied.
func TestAttendBackward(t *testing.T) {
	eachAttend(t, func(t *testing.T, typ Type, c *attendCase) {
		r := fresh(t)
		d, k, s := open(t)
		n := c.boards * 64 * c.width
		dy := rounded(typ, normal(r, n, 1))
		a := AttendBackwardArgs{Q: upload(t, d, s, typ, c.q), K: upload(t, d, s, typ, c.k), V: upload(t, d, s, typ, c.v), Dy: upload(t, d, s, typ, dy),
			Dq: alloc(t, d, n*typ.Size()), Dk: alloc(t, d, n*typ.Size()), Dv: alloc(t, d, n*typ.Size()),
			Boards: int32(c.boards), Heads: int32(c.heads), Depth: int32(c.depth), Width: int32(c.width), Scale: float32(c.scale)}
		pairs := c.boards * c.heads * 64 * 64
		if c.extra != nil {
			a.Extra, a.Dextra = upload(t, d, s, typ, c.extra), alloc(t, d, pairs*typ.Size())
		}
		run(t, k, s, AttendBackward(typ, a))
		dq, dk, dv, dExtra := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, pairs)
		for board := range c.boards {
			for head := range c.heads {
				p := c.weights(board, head)
				for query := range 64 {
					dp, sum := make([]float64, 64), 0.0
					for key := range dp {
						for i := range c.depth {
							dp[key] += float64(dy[c.at(board, head, query, i)]) * float64(c.v[c.at(board, head, key, i)])
						}
						sum += dp[key] * p[query*64+key]
					}
					for key := range dp {
						slope := p[query*64+key] * (dp[key] - sum)
						dExtra[((board*c.heads+head)*64+query)*64+key] = slope
						for i := range c.depth {
							atQuery, atKey := c.at(board, head, query, i), c.at(board, head, key, i)
							dq[atQuery] += c.scale * slope * float64(c.k[atKey])
							dk[atKey] += c.scale * slope * float64(c.q[atQuery])
							dv[atKey] += p[query*64+key] * float64(dy[atQuery])
						}
					}
				}
			}
		}
		what := fmt.Sprint(c.heads, " heads of ", c.depth)
		bound := 30*unitRoundoff(typ) + 0x1p-14
		near(t, what+" q", download(t, s, typ, a.Dq, n), dq, bound, 0)
		near(t, what+" k", download(t, s, typ, a.Dk, n), dk, bound, 0)
		near(t, what+" v", download(t, s, typ, a.Dv, n), dv, bound, 0)
		if c.extra != nil {
			near(t, what+" extra", download(t, s, typ, a.Dextra, pairs), dExtra, bound, 0)
		}
	})
}

// TestAttentionLogits holds scores of moves and promotions, and their gradients, against float64.
// A gradient of a promotion that there is not changes nothing.
func TestAttentionLogits(t *testing.T) {
	const boards, width, real, all = 2, 80, 70, 64*64 + 192
	const scale = 0.25
	eachType(t, func(t *testing.T, typ Type) {
		r := fresh(t)
		d, k, s := open(t)
		q, keys, more := normInputs(r, typ, boards*64, width, real), normInputs(r, typ, boards*64, width, real), normal(r, boards*64*16, 1)
		dy := rounded(typ, normal(r, boards*all, 1))
		for i := range dy {
			if r.IntN(4) > 0 {
				dy[i] = 0
			}
		}
		n := boards * 64 * width
		a := AttentionLogitsArgs{Q: upload(t, d, s, typ, q), K: upload(t, d, s, typ, keys), More: upload(t, d, s, F32, more), Y: upload(t, d, s, F32, make([]float32, boards*all)), Boards: boards, Width: width, Scale: scale}
		b := AttentionLogitsBackwardArgs{Q: a.Q, K: a.K, Dy: upload(t, d, s, typ, dy), Dq: alloc(t, d, n*typ.Size()), Dk: alloc(t, d, n*typ.Size()), Dmore: alloc(t, d, boards*64*16*typ.Size()), Boards: boards, Width: width, Scale: scale}
		run(t, k, s, AttentionLogits(typ, a), AttentionLogitsBackward(typ, b))

		y, dq, dk, dMore := make([]float64, boards*all), make([]float64, n), make([]float64, n), make([]float64, boards*64*16)
		for board := range boards {
			y, slopes := y[board*all:], make([]float64, 64*64)
			for i := range slopes {
				slopes[i] = float64(dy[board*all+i])
				for c := range width {
					y[i] += scale * float64(q[(board*64+i/64)*width+c]) * float64(keys[(board*64+i%64)*width+c])
				}
			}
			for file := range 8 {
				for target := max(0, file-1); target <= min(7, file+1); target++ {
					for piece := range 3 {
						at, pair, to := 64*64+(8*file+target)*3+piece, (48+file)*64+56+target, (board*64+56+target)*16
						y[at] = y[pair] + float64(more[to+piece]) + float64(more[to+3])
						g := float64(dy[board*all+at])
						slopes[pair] += g
						dMore[to+piece] += g
						dMore[to+3] += g
					}
				}
			}
			for i, g := range slopes {
				for c := range width {
					atQuery, atKey := (board*64+i/64)*width+c, (board*64+i%64)*width+c
					dq[atQuery] += scale * g * float64(keys[atKey])
					dk[atKey] += scale * g * float64(q[atQuery])
				}
			}
		}
		near(t, "scores", download(t, s, F32, a.Y, len(y)), y, 1e-4, 0)
		bound := 16*unitRoundoff(typ) + 1e-5
		near(t, "q", download(t, s, typ, b.Dq, n), dq, bound, 0)
		near(t, "k", download(t, s, typ, b.Dk, n), dk, bound, 0)
		near(t, "promotions", download(t, s, typ, b.Dmore, len(dMore)), dMore, bound, 0)
	})
}
