package kernels

import (
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// bnSums returns sums over boards, in order, of [boards][2][padded].
func bnSums(sums []float32, boards, padded, channel int) (first, second float64) {
	for b := range boards {
		first += float64(sums[b*2*padded+channel])
		second += float64(sums[(b*2+1)*padded+channel])
	}
	return first, second
}

var bnSizes = []struct{ boards, channels int }{{1, 16}, {3, 24}, {5, 144}, {70, 24}, {700, 9}}

// TestBNForward: sums are taken in double, so what is stored is the reference
// rounded once, in another order of sums: 2 ulp.
func TestBNForward(t *testing.T) {
	r := fresh(t)
	eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
		for _, size := range bnSizes {
			padded := Pad(size.channels)
			_, host := uploadSums(t, d, s, normal(r, size.boards*64*padded, 1), normal(r, size.boards*64*padded, 1), size.boards, padded)
			for b := range size.boards { // second sums are those of squares
				for c := range padded {
					host[(b*2+1)*padded+c] = float32(64 * (1 + r.Float64()))
				}
				host[(b*2+1)*padded+1] = 0 // a variance below 0 counts as 0
			}
			host[2] = float32(math.NaN()) // stays one
			sums := upload(t, d, s, F32, host)
			for _, batch := range []bool{true, false} {
				checkBNForward(t, d, k, s, size.boards, size.channels, batch, sums, host)
			}
		}
	})
}

func checkBNForward(t *testing.T, d driver.Device, k *Set, s driver.Stream, boards, channels int, batch bool, sums driver.Ptr, host []float32) {
	padded, momentum := Pad(channels), float32(0.1)
	r := fresh(t)
	gamma, beta, mean, variance := normal(r, channels, 1), normal(r, channels, 1), normal(r, channels, 1), normal(r, channels, 1)
	for i := range variance {
		variance[i] = variance[i]*variance[i] + 0.1
	}
	out := func() driver.Ptr { return alloc(t, d, 4*padded) }
	a := BNForwardArgs{
		Gamma: upload(t, d, s, F32, gamma), Beta: upload(t, d, s, F32, beta),
		PendingMean: upload(t, d, s, F32, mean), PendingVar: upload(t, d, s, F32, variance),
		Mean: out(), InvStd: out(), Scale: out(), Shift: out(),
		Boards: int32(boards), Channels: int32(channels), Padded: int32(padded), Momentum: momentum,
	}
	if batch {
		a.Sums = sums
	}
	run(t, k, s, BNForward(a))
	want := make([][]float64, 4)
	for i := range want {
		want[i] = make([]float64, padded)
	}
	pendingMean, pendingVar := make([]float64, channels), make([]float64, channels)
	for c := range channels {
		mu, v := float64(mean[c]), float64(variance[c])
		pendingMean[c], pendingVar[c] = mu, v
		if batch {
			sum, squares := bnSums(host, boards, padded, c)
			count, m := float64(64*boards), float64(momentum)
			mu = sum / count
			v = squares/count - mu*mu
			if v < 0 {
				v = 0
			}
			pendingMean[c], pendingVar[c] = (1-m)*pendingMean[c]+m*mu, (1-m)*pendingVar[c]+m*v
		}
		want[0][c], want[1][c] = mu, 1/math.Sqrt(v+1e-5)
		want[2][c] = float64(gamma[c]) * want[1][c]
		want[3][c] = float64(beta[c]) - mu*want[2][c]
	}
	for i, p := range []driver.Ptr{a.Mean, a.InvStd, a.Scale, a.Shift} {
		name := []string{"mean", "inverse deviation", "scale", "shift"}[i]
		absolute := 1e-9
		if i == 3 {
			absolute = 0x1p-22 * 4 // beta - mean*scale cancels
		}
		if i == 3 && batch {
			absolute = 0x1p-22 * 1000 // the scale of a variance of 0 is gamma/sqrt(1e-5)
		}
		near(t, name, download(t, s, F32, p, padded), want[i], absolute, 0x1p-22)
	}
	near(t, "pending mean", download(t, s, F32, a.PendingMean, channels), pendingMean, 1e-9, 0x1p-22)
	near(t, "pending variance", download(t, s, F32, a.PendingVar, channels), pendingVar, 1e-9, 0x1p-22)
}

func TestBNBackward(t *testing.T) {
	r := fresh(t)
	eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
		for i, size := range bnSizes {
			boards, channels, padded := size.boards, size.channels, Pad(size.channels)
			sums, host := uploadSums(t, d, s, normal(r, boards*64*padded, 1), normal(r, boards*64*padded, 1), boards, padded)
			gamma, mean, invStd := normal(r, channels, 1), normal(r, padded, 1), normal(r, padded, 1)
			dgamma, dbeta := normal(r, channels, 1), normal(r, channels, 1)
			a := BNBackwardArgs{
				Sums: sums, Gamma: upload(t, d, s, F32, gamma), Mean: upload(t, d, s, F32, mean), InvStd: upload(t, d, s, F32, invStd),
				Dgamma: upload(t, d, s, F32, dgamma), Dbeta: upload(t, d, s, F32, dbeta), K: alloc(t, d, 3*padded*4),
				Boards: int32(boards), Channels: int32(channels), Padded: int32(padded), Accumulate: int32(i % 2),
			}
			run(t, k, s, BNBackward(a))
			wantGamma, wantBeta, wantK := make([]float64, channels), make([]float64, channels), make([]float64, 3*padded)
			for c := range channels {
				sum, sumz := bnSums(host, boards, padded, c)
				mu, inv, count := float64(mean[c]), float64(invStd[c]), float64(64*boards)
				xhat := (sumz - mu*sum) * inv
				wantGamma[c], wantBeta[c] = xhat, sum
				if i%2 == 1 {
					wantGamma[c] += float64(dgamma[c])
					wantBeta[c] += float64(dbeta[c])
				}
				// gamma*invStd * (d - sum/count - xhat*(z-mean)*invStd/count), sorted by d, 1 and z
				k0 := float64(gamma[c]) * inv
				wantK[c] = k0
				wantK[padded+c] = k0 * (-sum/count + xhat*mu*inv/count)
				wantK[2*padded+c] = -k0 * xhat * inv / count
			}
			near(t, "dgamma", download(t, s, F32, a.Dgamma, channels), wantGamma, 1e-6, 0x1p-21)
			near(t, "dbeta", download(t, s, F32, a.Dbeta, channels), wantBeta, 1e-6, 0x1p-21)
			near(t, "k", download(t, s, F32, a.K, 3*padded), wantK, 1e-7, 0x1p-22)
		}
	})
}

// TestBNInput: one rounding to the type, and some of fp32 at values below 2^6.
func TestBNInput(t *testing.T) {
	eachType(t, func(t *testing.T, typ Type) {
		d, k, s := open(t)
		r := fresh(t)
		for i, size := range []struct{ boards, padded int }{{1, 16}, {3, 32}, {5, 144}, {70, 16}, {2, 320}} {
			for _, dynamic := range []bool{false, true} {
				n := size.boards * 64 * size.padded
				dv, z, ks := rounded(typ, normal(r, n, 1)), rounded(typ, normal(r, n, 1)), normal(r, 3*size.padded, 1)
				scale, shift := normal(r, size.boards*size.padded, 1), normal(r, size.boards*size.padded, 1)
				a := BNInputArgs{D: upload(t, d, s, typ, dv), Z: upload(t, d, s, typ, z), K: upload(t, d, s, F32, ks), Boards: int32(size.boards), Padded: int32(size.padded)}
				if dynamic {
					a.DynScale, a.DynShift = upload(t, d, s, F32, scale), upload(t, d, s, F32, shift)
				}
				if a.Dz = a.D; i%2 == 0 {
					a.Dz = alloc(t, d, n*typ.Size())
				}
				run(t, k, s, BNInput(typ, a))
				want := make([]float64, n)
				for i := range want {
					c, at, v := i%size.padded, i/(64*size.padded)*size.padded+i%size.padded, float64(dv[i])
					if dynamic {
						v = float64(scale[at])*v + float64(shift[at])
					}
					want[i] = float64(ks[c])*v + float64(ks[size.padded+c]) + float64(ks[2*size.padded+c])*float64(z[i])
				}
				near(t, "dz", download(t, s, typ, a.Dz, n), want, 8*0x1p-18, 1.01*unitRoundoff(typ)+0x1p-20)
			}
		}
	})
}
