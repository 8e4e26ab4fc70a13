package kernel

import (
	"fmt"
	"math"
	"testing"
)

// tolDirect bounds the float32 sums of direct convolutions in tiles, relative to the
// magnitudes, against exact sums of the same factors. A lost factor of a thousand would
// show as 1e-3.
const tolDirect = 2e-6

// roundedHalves returns x rounded to bf16.
func roundedHalves(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(modelHalf(v))
	}
	return y
}

// forDirect runs f over widths and numbers of boards that fill blocks, pairs and steps, or do
// not.
func forDirect(t *testing.T, f func(t *testing.T, rng testRand, boards, ci, co int)) {
	t.Helper()
	needTiles(t)
	if ActiveTier() != AMX {
		t.Skip("SKIPPED: a slower tier is forced")
	}
	rng := newRand(t)
	for _, s := range [][3]int{{1, 16, 16}, {1, 64, 48}, {2, 32, 32}, {3, 48, 80}, {5, 112, 64}, {31, 16, 32}, {33, 64, 16}, {64, 32, 48}} {
		t.Run(fmt.Sprint(s), func(t *testing.T) { f(t, rng, s[0], s[1], s[2]) })
	}
}

// A convolution in tiles is that of factors rounded to bf16, forward and turned, with bias,
// floor and sums over boards, and in whatever it is stored.
func TestDirectConv(t *testing.T) {
	forDirect(t, func(t *testing.T, rng testRand, boards, ci, co int) {
		x, w, bias := rng.floats(boards*64*ci), rng.floats(co*ci*9), rng.floats(co)
		n, scratch := boards*64*co, poison(Conv3ScratchLen(ci, co, BF16))
		want, mag := conv3Ref(roundedHalves(x), roundedHalves(w), bias, boards, ci, co)
		y := poison(n)
		Conv3(y, x, packedConv(w, ci, co, BF16), bias, boards, ci, co, None, BF16, scratch)
		closeTo(t, "y", y, want, mag, tolDirect)

		turned, exchanged := poison(PackedConv3Len(ci, co, BF16)), make([]float32, len(w))
		for i := range w {
			o, c, tap := i/9/ci, i/9%ci, i%9
			exchanged[(c*co+o)*9+8-tap] = w[i]
		}
		PackConv3Transposed(turned, exchanged, co, ci, BF16)
		again := poison(n)
		Conv3(again, x, turned, bias, boards, ci, co, None, BF16, scratch)
		sameBits(t, "turned", again, y)

		sum, squares, half := poison(boards*co), poison(boards*co), poisonHalves(n)
		Conv3Sums(half, sum, squares, x, turned, bias, boards, ci, co, ReLU, BF16, scratch)
		wantSum, wantSquares := make([]float64, boards*co), make([]float64, boards*co)
		for i, v := range y {
			if r := max(v, 0); half.float(i) != float32(modelHalf(r)) {
				t.Fatalf("bf16 y[%d] = %g, want %g", i, half.float(i), r)
			}
			at := i/64/co*co + i%co
			wantSum[at] += math.Max(0, float64(v))
			wantSquares[at] += math.Pow(math.Max(0, float64(v)), 2)
		}
		closeTo(t, "sums", sum, wantSum, nil, 1e-5)
		closeTo(t, "squares", squares, wantSquares, nil, 1e-5)
	})
}

// Gradients of weights are those of factors rounded to bf16.
func TestDirectWeightGrad(t *testing.T) {
	forDirect(t, func(t *testing.T, rng testRand, boards, ci, co int) {
		x, dy := rng.floats(boards*64*ci), rng.floats(boards*64*co)
		scratch, taps := poison(Conv3WeightGradScratchLen(ci, co, BF16)), poison(9*co*ci)
		Conv3WeightGradAdd(scratch, x, dy, 0, boards, ci, co, BF16)
		Conv3WeightGradSum(taps, scratch, boards, ci, co, BF16)
		hx, hd := roundedHalves(x), roundedHalves(dy)
		absX, absD := make([]float32, len(x)), make([]float32, len(dy))
		for i, v := range hx {
			absX[i] = max(v, -v)
		}
		for i, v := range hd {
			absD[i] = max(v, -v)
		}
		for i, got := range taps {
			tap, o, c := i/ci/co, i/ci%co, i%ci
			at := (o*ci+c)*9 + tap
			want, mag := gradAt(hx, hd, boards, ci, co, at), gradAt(absX, absD, boards, ci, co, at)
			if d := math.Abs(float64(got) - want); !(d <= tolDirect*mag) {
				t.Fatalf("tap %d, %d to %d: %g, want %g: off by %g of the magnitudes", tap, c, o, got, want, d/mag)
			}
		}
	})
}

// pairAt is number c of a square of a board in pairs of channels channels.
func pairAt(pairs []float32, channels, board, square, c int) float32 {
	word := pairs[(board/2*channelBlocks(channels)+c/32)*pairFloats+((square/8+1)*10+square%8+1)*2*panel+board%2*panel+c%32/2]
	return math.Float32frombits(math.Float32bits(word) >> (c % 2 * 16) << 16)
}

// Convolutions of pairs are those of rows that are stored in bf16, bit for bit; the end of a
// block and the policy read and write them as rows; and nobody writes to their borders.
func TestPairs(t *testing.T) {
	forDirect(t, func(t *testing.T, rng testRand, boards, ci, co int) {
		x, w, bias := rng.floats(boards*64*ci), rng.floats(co*ci*9), rng.floats(co)
		packed, n := packedConv(w, ci, co, BF16), boards*64*co
		want, wantSum, wantSquares := poisonHalves(n), poison(boards*co), poison(boards*co)
		Conv3Sums(want, wantSum, wantSquares, x, packed, bias, boards, ci, co, ReLU, BF16, poison(Conv3ScratchLen(ci, co, BF16)))

		in, y, scratch := make([]float32, PairsLen(boards, ci)), make([]float32, PairsLen(boards, co)), poison(PairsScratchLen)
		ToPairs(in, x, boards, ci)
		sum, squares := poison(boards*co), poison(boards*co)
		ConvPairs(y, sum, squares, in, packed, bias, boards, ci, co, ReLU, scratch)
		sameBits(t, "sum", sum, wantSum)
		sameBits(t, "squares", squares, wantSquares)
		rows := make([]float32, n)
		for i := range rows {
			rows[i] = pairAt(y, co, i/64/co, i/co%64, i%co)
			if rows[i] != want.float(i) {
				t.Fatalf("y[%d] = %g, want %g", i, rows[i], want.float(i))
			}
		}
		checkPolicyPairs(t, rng, y, rows, boards, co)

		res, gate, beta := rng.floats(n), rng.floats(boards*co), rng.floats(boards*co)
		out := append([]float32(nil), res...)
		JoinPairs(out, y, gate, beta, boards, co, ReLU)
		for i, v := range out {
			at := i/64/co*co + i%co
			exact := max(0, float64(gate[at])*float64(rows[i])+float64(beta[at])+float64(res[i]))
			if math.Abs(float64(v)-exact) > 1e-5*(1+exact) {
				t.Fatalf("end of block %d: %g, want %g", i, v, exact)
			}
			if got := pairAt(y, co, i/64/co, i/co%64, i%co); float64(got) != modelHalf(v) {
				t.Fatalf("pair of %d: %g, want %g rounded", i, got, v)
			}
		}
		for i, v := range y {
			if rank, file := i%pairFloats/(20*panel), i%pairFloats/(2*panel)%10; (rank%9 == 0 || file%9 == 0) && v != 0 {
				t.Fatalf("border: word %d is %g", i, v)
			}
		}
	})
}

// checkPolicyPairs holds the logits from pairs against those from the same numbers in rows.
func checkPolicyPairs(t *testing.T, rng testRand, pairs, rows []float32, boards, channels int) {
	t.Helper()
	if !PolicyHasPairs(channels) {
		return
	}
	c := newPolicyConvCase(rng, channels, boards)
	copy(c.x, rows)
	want := c.run(poison, 0, boards, BF16)
	packed, logits := poison(PackedPolicyConvLen(channels, len(c.bias), BF16)), poison(len(c.legal))
	PackPolicyConv(packed, c.w, channels, len(c.bias), BF16)
	PolicyPairs(logits, pairs, packed, c.bias, c.conv, c.start, c.legal, boards, channels)
	sameBits(t, "logits", logits, want)
}
