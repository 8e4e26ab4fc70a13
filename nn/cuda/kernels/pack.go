package kernels

import "github.com/chessbrain/chessbrain/nn/cuda/driver"

// PACK_THREADS, PACK_SIDE and PACK_DEPTH of pack.cu.
const (
	packThreads = 256
	packSide    = 16
	packDepth   = 9
)

// Pack makes the weights of all entries into those that Conv reads, in t. longest
// is the number of weights, taps*co*ci, of the largest entry: it only decides how
// many blocks an entry gets.
func Pack(t Type, a PackArgs, longest int) Launch {
	return Launch{
		Kernel: "pack_" + t.String(),
		Grid:   driver.Dim{X: max(1, min(ceil(longest, packSide*packSide*packDepth), 1024)), Y: int(a.Count), Z: 1},
		Block:  driver.Dim{X: packThreads, Y: 1, Z: 1},
		Shared: packSide * (packSide*packDepth + 1) * 4,
		Args:   bytesOf(&a),
	}
}
