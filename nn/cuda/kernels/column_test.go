package kernels

import (
	"math"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

func TestColumnSums(t *testing.T) {
	r := fresh(t)
	for _, typ := range types {
		for _, c := range []struct{ rows, columns, real, accumulate int }{{1, 16, 3, 0}, {7, 16, 16, 1}, {100, 80, 80, 0}, {1500, 48, 33, 1}} {
			x, sum := rounded(typ, normal(r, c.rows*c.columns, 1)), normal(r, c.real, 1)
			want := make([]float64, c.real)
			for o := range want {
				if c.accumulate != 0 {
					want[o] = float64(sum[o])
				}
				for row := range c.rows {
					want[o] += float64(x[row*c.columns+o])
				}
			}
			var first []float32
			eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
				a := ColumnSumsArgs{X: upload(t, d, s, typ, x), Sum: upload(t, d, s, F32, sum),
					Rows: int32(c.rows), Columns: int32(c.columns), Real: int32(c.real), Accumulate: int32(c.accumulate)}
				run(t, k, s, ColumnSums(typ, a))
				got := download(t, s, F32, a.Sum, c.real)
				// a sum of n numbers near 1 is about sqrt(n); it is rounded n times at most
				near(t, "sums", got, want, 4*math.Exp2(-24)*float64(c.rows), math.Exp2(-24))
				if first == nil {
					first = got
				}
				if !slices.Equal(got, first) {
					t.Error("two runs differ")
				}
			})
		}
	}
}
