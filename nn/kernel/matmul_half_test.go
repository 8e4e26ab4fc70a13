package kernel

import (
	"fmt"
	"math"
	"testing"
)

// roundHalf is the value that a product sees.
func roundHalf(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = math.Float32frombits(uint32(halfBits(v)) << 16)
	}
	return y
}

func TestHalfBits(t *testing.T) {
	for _, c := range []struct {
		in   uint32
		want uint16
	}{
		{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81},
		{0x7f7fffff, 0x7f80}, {0xff800000, 0xff80}, {0x7f800001, 0x7fc0}, {0x80000000, 0x8000},
	} {
		if got := halfBits(math.Float32frombits(c.in)); got != c.want {
			t.Errorf("%#x: %#x, want %#x", c.in, got, c.want)
		}
	}
}

func TestMatMulBF16(t *testing.T) {
	if !HasBF16() {
		t.Skip("this CPU has no bf16 products")
	}
	rng := newRand(t)
	for _, s := range [][3]int{{1, 16, 16}, {3, 48, 80}, {4, 64, 32}, {64, 112, 48}, {67, 64, 128}, {130, 512, 16}} {
		rows, k, n := s[0], s[1], s[2]
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			x, w, bias := rng.floats(rows*k), rng.floats(n*k), rng.floats(n)
			xr, wr := roundHalf(x), roundHalf(w)
			want, mag := make([]float64, rows*n), make([]float64, rows*n)
			for i := range want {
				want[i] = float64(bias[i%n])
				for j := range k {
					p := float64(xr[i/n*k+j]) * float64(wr[i%n*k+j])
					want[i] += p
					mag[i] += math.Abs(p)
				}
			}
			packed := poison(PackedMatBF16Len(k, n))
			PackMatBF16(packed, w, k, n)
			y, scratch := poison(rows*n+1), poison(MatMulBF16ScratchLen(k, n))
			MatMulBF16(y, x, packed, bias, rows, k, n, None, scratch)
			closeTo(t, "y", y[:rows*n], want, mag, tolSum)
			if y[rows*n] == y[rows*n] {
				t.Fatal("wrote past the end of y")
			}
			all := append([]float32(nil), y...)
			MatMulBF16(y, x[(rows-1)*k:], packed, bias, 1, k, n, None, scratch)
			sameBits(t, "row alone", y[:n], all[(rows-1)*n:rows*n])
			MatMulBF16(y, x, packed, bias, rows, k, n, ReLU, scratch)
			closeTo(t, "relu", y[:rows*n], reluRef(want), mag, tolSum)
		})
	}
}

func TestMatMulWeightGradBF16(t *testing.T) {
	rng := newRand(t)
	forTiers(t, func(t *testing.T) {
		if !MatMulWeightGradHasBF16(panel, panel) {
			t.Skip("this tier has fp32 alone")
		}
		for _, s := range [][3]int{{1, 16, 16}, {3, 48, 80}, {4, 64, 32}, {64, 112, 48}, {67, 272, 304}, {257, 16, 512}, {512, 64, 64}} {
			rows, k, n := s[0], s[1], s[2]
			x, dy, start, startB := rng.floats(rows*k), rng.floats(rows*n), rng.floats(n*k), rng.floats(n)
			xr, dr := roundHalf(x), roundHalf(dy)
			want, mag, wantB, magB := make([]float64, n*k), make([]float64, n*k), make([]float64, n), make([]float64, n)
			for o := range n {
				wantB[o] = float64(startB[o])
				for i := range k {
					want[o*k+i] = float64(start[o*k+i])
				}
				for r := range rows {
					wantB[o] += float64(dy[r*n+o])
					magB[o] += math.Abs(float64(dy[r*n+o]))
					for i := range k {
						p := float64(dr[r*n+o]) * float64(xr[r*k+i])
						want[o*k+i] += p
						mag[o*k+i] += math.Abs(p)
					}
				}
			}
			dw, db := append([]float32(nil), start...), append([]float32(nil), startB...)
			MatMulWeightGradBF16(dw, db, x, dy, rows, k, n, poison(MatMulWeightGradBF16ScratchLen(k, n)))
			closeTo(t, fmt.Sprint(s, " dw"), dw, want, mag, tolSum)
			closeTo(t, fmt.Sprint(s, " db"), db, wantB, magB, tolSum)
		}
	})
}

// Packed words are the rounded weights, and those of the data gradient their transpose.
func TestPackMatBF16(t *testing.T) {
	rng := newRand(t)
	forTiers(t, func(t *testing.T) {
		if !HasBF16() {
			t.Skip("this tier has no bf16 products")
		}
		for _, s := range [][2]int{{16, 16}, {48, 32}, {272, 48}, {512, 16}, {304, 64}} {
			k, n := s[0], s[1]
			w := rng.floats(n * k)
			for _, turned := range []bool{false, true} {
				in, out, packed := k, n, poison(k/2*n+1)
				at := func(o, i int) float32 { return w[o*k+i] }
				if turned {
					in, out = n, k
					at = func(o, i int) float32 { return w[i*k+o] }
					PackMatTransposedBF16(packed, w, k, n)
				} else {
					PackMatBF16(packed, w, k, n)
				}
				for o := range out {
					for i := 0; i < in; i += 2 {
						pair, run := i/2, runOf(BF16)
						word := packed[(o/panel*(in/2)+pair/run*run)*panel+o%panel*run+pair%run]
						sameBits(t, fmt.Sprint(s, turned, o, i), []float32{word}, []float32{halfWord(at(o, i), at(o, i+1))})
					}
				}
				if end := packed[k/2*n]; end == end {
					t.Fatal("wrote past the end")
				}
			}
		}
	})
}

// Numbers that are stored in bf16 come back rounded.
func TestStoredFloats(t *testing.T) {
	rng := newRand(t)
	forTiers(t, func(t *testing.T) {
		x := rng.floats(maxCallFloats + 48) // more than a call takes
		for _, half := range []bool{false, true} {
			s, want := NewStored(len(x), half), x
			if half {
				want = roundHalf(x)
			}
			s.Set(x)
			sameBits(t, fmt.Sprint("half ", half), s.Floats(poison(len(x))), want)
		}
	})
}
