package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// dense64 returns act(W x + bias) of each board in float64.
func dense64(x, w, bias []float32, boards, inputs, stride, outputs int, act func(float64) float64) []float64 {
	var y []float64
	for b := range boards {
		for o := range outputs {
			sum := float64(bias[o])
			for i := range inputs {
				sum += float64(x[b*stride+i]) * float64(w[o*inputs+i])
			}
			y = append(y, act(sum))
		}
	}
	return y
}

func same64(x float64) float64 { return x }

func relu64(x float64) float64 { return max(0, x) }

func mish64(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) }

// The layers of three heads in one launch agree with float64; blocks of 64 boards give
// the bits of blocks of 16, and boards past the count are not written.
func TestHeadFC1(t *testing.T) {
	const boards, capacity = 67, 70
	for _, typ := range []Type{BF16, FP16} {
		t.Run(typ.String(), func(t *testing.T) {
			eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
				r := fresh(t)
				sizes := []struct {
					inputs, outputs int
					act             int32
				}{{1024, 40, actReLU}, {512, 7, actMish}, {512, 33, actNone}}
				stride := 2048
				x := rounded(typ, normal(r, capacity*stride, 1))
				px := upload(t, d, s, typ, x)
				args := HeadFC1Args{Count: uploadOf(t, d, s, []int32{boards})}
				var want [][]float64
				var outs []driver.Ptr
				before := 0
				for i, c := range sizes {
					w, bias := rounded(typ, normal(r, c.inputs*c.outputs, .03)), normal(r, c.outputs, 1)
					act := map[int32]func(float64) float64{actNone: same64, actReLU: relu64, actMish: mish64}[c.act]
					want = append(want, dense64(x[before:], w, bias, boards, c.inputs, stride, c.outputs, act))
					args.Layer[i] = HeadLayer{
						X: px.Offset(before * typ.Size()), W: upload(t, d, s, typ, w), Bias: upload(t, d, s, F32, bias),
						Stride: int32(stride), Inputs: int32(c.inputs), Outputs: int32(c.outputs), Act: c.act,
					}
					before += c.inputs
				}
				var first [][]float32
				for _, grid := range []int{capacity, headWide} {
					outs = outs[:0]
					for i, c := range sizes {
						args.Layer[i].Y = alloc(t, d, 4*capacity*c.outputs)
						outs = append(outs, args.Layer[i].Y)
					}
					run(t, k, s, HeadFC1(typ, args, grid))
					for i, c := range sizes {
						got := download(t, s, F32, outs[i], capacity*c.outputs)
						// fp32 sums of a thousand products of size 0.03
						near(t, fmt.Sprintf("head %d, grid of %d", i, grid), got[:boards*c.outputs], want[i], 2e-5, 1e-5)
						if v := got[boards*c.outputs]; v == v {
							t.Errorf("head %d, grid of %d: board %d past the count is written: %v", i, grid, boards, v)
						}
						if grid == capacity {
							first = append(first, got)
						} else if !slices.Equal(got[:boards*c.outputs], first[i][:boards*c.outputs]) {
							t.Errorf("head %d: wide blocks give other bits", i)
						}
					}
				}
			})
		})
	}
}

// The last layers agree with float64 for both kinds of value, with and without moves
// left, and what is not finite shows as NaN in its own answer only.
func TestHeadFC2AndOutputs(t *testing.T) {
	const boards, hidden, movesHidden = 9, 40, 33
	eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
		r := fresh(t)
		for _, outputs := range []int{3, 1} {
			for _, moves := range []bool{true, false} {
				x, w, bias := normal(r, boards*hidden, 1), normal(r, outputs*hidden, .2), normal(r, outputs, 1)
				mx, mw, mbias := normal(r, boards*movesHidden, 1), normal(r, movesHidden, .5), normal(r, 1, 1)
				x[2*hidden] = float32(math.Inf(1))
				mx[4*movesHidden] = float32(math.NaN())
				z := dense64(x, w, bias, boards, hidden, hidden, outputs, same64)
				m := dense64(mx, mw, mbias, boards, movesHidden, movesHidden, 1, relu64)
				m[4] = math.NaN()
				if !moves {
					m = make([]float64, boards)
				}
				want := wantWDL(z, outputs)
				wdl, left, count := alloc(t, d, 12*boards), alloc(t, d, 4*boards), uploadOf(t, d, s, []int32{boards})
				a := HeadFC2Args{
					Count: count, Value: upload(t, d, s, F32, x), ValueW: upload(t, d, s, F32, w), ValueBias: upload(t, d, s, F32, bias),
					Wdl: wdl, M: left, ValueHidden: hidden, ValueOutputs: int32(outputs),
				}
				o := HeadOutputsArgs{Count: count, Wdl: wdl, M: left, ValueOutputs: int32(outputs), ValueStride: int32(outputs), MovesStride: 1}
				if moves {
					a.MovesLeft, a.MovesW, a.MovesBias = upload(t, d, s, F32, mx), upload(t, d, s, F32, mw), upload(t, d, s, F32, mbias)
					a.MovesHidden = movesHidden
					o.MovesLeft = upload(t, d, s, F32, narrowed(dense64(mx, mw, mbias, boards, movesHidden, movesHidden, 1, same64)))
				}
				o.Value = upload(t, d, s, F32, narrowed(z))
				for _, l := range []Launch{HeadFC2(a, boards+3), HeadOutputs(o, boards+3)} {
					run(t, k, s, l)
					near(t, l.Kernel+" WDL", download(t, s, F32, wdl, 3*boards), want, 1e-6, 1e-5)
					near(t, l.Kernel+" moves left", download(t, s, F32, left, boards), m, 1e-5, 1e-5)
				}
			}
		}
	})
}

// wantWDL is softmax of three logits, or tanh of one; NaN where one is not finite.
func wantWDL(z []float64, outputs int) []float64 {
	var want []float64
	for b := 0; b < len(z); b += outputs {
		if outputs == 1 {
			v := math.Tanh(z[b])
			if math.IsInf(z[b], 0) {
				v = math.NaN()
			}
			want = append(want, (1+v)/2, 0, (1-v)/2)
			continue
		}
		e, sum := [3]float64{}, 0.0
		for i := range e {
			e[i] = math.Exp(z[b+i] - slices.Max(z[b:b+3]))
			sum += e[i]
		}
		for i := range e {
			want = append(want, e[i]/sum)
		}
	}
	return want
}

func narrowed(v []float64) []float32 {
	f := make([]float32, len(v))
	for i, x := range v {
		f[i] = float32(x)
	}
	return f
}

// Softmax over legal moves: none, one, many, large logits, and such as are not finite.
func TestPolicyGather(t *testing.T) {
	const width, boards = 100, 6
	eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
		r := fresh(t)
		place := make([]uint16, 90)
		for i := range place {
			place[i] = uint16(99 - i)
		}
		logits := normal(r, boards*width, 30)
		start, legal := []int32{0}, []uint16{}
		for _, moves := range []int{0, 1, 90, 33, 5, 5} {
			for _, p := range r.Perm(90)[:moves] {
				legal = append(legal, uint16(p))
			}
			start = append(start, int32(len(legal)))
		}
		logits[4*width+int(place[legal[start[4]+2]])] = float32(math.Inf(-1))
		logits[5*width+int(place[legal[start[5]+4]])] = float32(math.NaN())
		prior := alloc(t, d, 4*len(legal))
		run(t, k, s, PolicyGather(PolicyGatherArgs{
			Count: uploadOf(t, d, s, []int32{boards}), Logits: upload(t, d, s, F32, logits), Place: uploadOf(t, d, s, place),
			Start: uploadOf(t, d, s, start), Legal: uploadOf(t, d, s, legal), Prior: prior, Width: width,
		}, boards+5))
		var want []float64
		for b := range boards {
			var e []float64
			sum, top := 0.0, math.Inf(-1)
			for _, p := range legal[start[b]:start[b+1]] {
				top = math.Max(top, float64(logits[b*width+int(place[p])]))
			}
			for _, p := range legal[start[b]:start[b+1]] {
				e = append(e, math.Exp(float64(logits[b*width+int(place[p])])-top))
				sum += e[len(e)-1]
			}
			for _, v := range e {
				if b >= 4 {
					v = math.NaN()
				}
				want = append(want, v/sum)
			}
		}
		near(t, "prior", download(t, s, F32, prior, len(legal)), want, 1e-7, 2e-5)
	})
}
