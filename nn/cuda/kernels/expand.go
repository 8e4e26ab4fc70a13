package kernels

import "github.com/chessbrain/chessbrain/nn/cuda/driver"

// NUM_PLANES and EXPAND_LANES of expand.cu.
const (
	numPlanes   = 112
	expandLanes = 16
)

// Expand writes the input planes of boards positions, channels last: those of
// encoding.ExpandPlanes, rounded to t.
func Expand(t Type, a ExpandArgs) Launch {
	groups := numPlanes / (16 / t.Size())
	return Launch{
		Kernel: "expand_" + t.String(),
		Grid:   driver.Dim{X: int(a.Boards), Y: 1, Z: 1},
		Block:  driver.Dim{X: groups * expandLanes, Y: 1, Z: 1},
		Args:   bytesOf(&a),
	}
}
