package kernels

import "github.com/chessbrain/chessbrain/nn/cuda/driver"

// COLUMN_THREADS and COLUMN_COUNT of column.cu.
const (
	columnThreads = 1024
	columnCount   = 8
)

// ColumnSums adds up the rows of an activation in t: a bias's gradient.
func ColumnSums(t Type, a ColumnSumsArgs) Launch {
	return Launch{
		Kernel: "column_sums_" + t.String(),
		Grid:   driver.Dim{X: ceil(int(a.Real), columnCount), Y: 1, Z: 1},
		Block:  driver.Dim{X: columnThreads, Y: 1, Z: 1},
		Shared: columnThreads / 32 * columnCount * 4,
		Args:   bytesOf(&a),
	}
}
