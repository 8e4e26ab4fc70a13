//go:build !amd64

package kernel

import "github.com/chessbrain/chessbrain/encoding"

// Without assembly for them, these leave everything to their callers.

func vecMath(op mathOp, y, a, b []float32) bool { return false }

func softmaxVec(p []float32) bool { return false }

func sumSquaresVec(x []float32) (sum float64, ok bool) { return 0, false }

func expandVec(x *[64 * encoding.NumPlanes]float32, masks *[encoding.NumMasks]uint64, s *encoding.Scalars) bool {
	return false
}
