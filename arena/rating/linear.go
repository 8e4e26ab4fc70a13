package rating

import (
	"errors"
	"math"
)

// errSingular is a bug: every system here is positive definite.
var errSingular = errors.New("the curvature of the likelihood is singular")

// lower is the lower triangle L of a matrix L L^T.
type lower [][]float64

// cholesky factors a symmetric positive definite matrix, which is overwritten.
func cholesky(m [][]float64) (lower, error) {
	for i := range m {
		for k := range i + 1 {
			sum := m[i][k]
			for j := range k {
				sum -= m[i][j] * m[k][j]
			}
			switch {
			case k < i:
				m[i][k] = sum / m[k][k]
			case !(sum > 0):
				return nil, errSingular
			default:
				m[i][i] = math.Sqrt(sum)
			}
		}
	}
	return m, nil
}

// solve returns x with L L^T x = b.
func (l lower) solve(b []float64) []float64 {
	x := make([]float64, len(b))
	for i := range l {
		sum := b[i]
		for k := range i {
			sum -= l[i][k] * x[k]
		}
		x[i] = sum / l[i][i]
	}
	for i := len(l) - 1; i >= 0; i-- {
		for k := i + 1; k < len(l); k++ {
			x[i] -= l[k][i] * x[k]
		}
		x[i] /= l[i][i]
	}
	return x
}

// square returns an n times n matrix of zeros.
func square(n int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
	}
	return rows
}
