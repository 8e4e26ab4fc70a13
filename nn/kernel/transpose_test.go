package kernel

import (
	"fmt"
	"testing"
)

func TestTransposeRows(t *testing.T) {
	rng := newRand(t)
	for _, s := range [][3]int{{1, 16, 16}, {3, 32, 64}, {2, 64, 48}, {5, 16, 9}, {2, 7, 16}, {1, 1, 5}, {1, 16, 8208}} {
		n, rows, cols := s[0], s[1], s[2]
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			forTiers(t, func(t *testing.T) {
				src, dst, want := rng.floats(n*rows*cols), poison(n*rows*cols), make([]float32, n*rows*cols)
				for i, v := range src {
					m, r, c := i/(rows*cols), i/cols%rows, i%cols
					want[(m*cols+c)*rows+r] = v
				}
				TransposeRows(dst, src, n, rows, cols)
				sameBits(t, "transpose", dst, want)
			})
		})
	}
}
