package kernel

// MatMul computes y [rows][n] = act(x [rows][k] * W^T + bias) with W [n][k]
// packed by PackMat: 1x1 convolutions and fully connected layers. bias [n] may
// be nil. y may not overlap x.
func MatMul(y, x, packed, bias []float32, rows, k, n int, act Act) {
	y, x = y[:rows*n], x[:rows*k]
	packed, bias = packed[:PackedMatLen(k, n)], cut(bias, 0, 1, n)
	if len(y) == 0 {
		return
	}
	act, after := act.split()
	if ActiveTier() == Generic || k == 0 {
		matMulGeneric(y, x, packed, bias, rows, k, n, act)
	} else {
		matMulVec(y, x, packed, bias, rows, k, n, k, n, act)
	}
	after.second(y)
}

func matMulGeneric(y, x, packed, bias []float32, rows, k, n int, act Act) {
	for r := range rows {
		for o := 0; o < n; o += panel {
			var acc [panel]float32
			addPanel(&acc, x[r*k:][:k], packed[o*k:])
			storePanel(y[r*n:][:n], &acc, bias, o, act)
		}
	}
}

// Limits of the vector kernels of MatMulWeightGrad.
const (
	gradRowBlock   = 128  // rows whose sum stays in registers
	gradGroup      = 256  // columns that are packed together
	gradPackRows   = 64   // outputs from which packing pays
	gradPackStride = 1024 // inputs from which it does
)

// MatMulWeightGradScratchLen returns the scratch length of MatMulWeightGrad: 0 or
// 128 KiB.
func MatMulWeightGradScratchLen(k, n int) int {
	if n < gradPackRows || k < gradPackStride {
		return 0
	}
	return gradRowBlock * gradGroup
}

// MatMulWeightGrad adds the gradients of MatMul's weights and bias:
// dw [n][k] += dy^T * x and db [n] += column sums of dy (db may be nil), with
// x [rows][k], dy [rows][n]. scratch has MatMulWeightGradScratchLen(k, n)
// floats; it may be nil where that is 0.
func MatMulWeightGrad(dw, db, x, dy []float32, rows, k, n int, scratch []float32) {
	dw, x, dy = dw[:n*k], x[:rows*k], dy[:rows*n]
	if need := MatMulWeightGradScratchLen(k, n); need > 0 {
		scratch = scratch[:need]
	} else {
		scratch = nil
	}
	done := 0 // columns of dw that the vector kernels did
	if ActiveTier() != Generic {
		done = matMulWeightGradVec(dw, x, dy, rows, k, n, scratch)
	}
	if done < k {
		for r := range rows {
			xr := x[r*k+done:][:k-done]
			for o, d := range dy[r*n:][:n] {
				g := dw[o*k+done:][:len(xr)]
				for i, v := range xr {
					g[i] += d * v
				}
			}
		}
	}
	addRows(db, dy, rows, n)
}

// addRows adds the sums of the columns of dy [rows][n] to db [n], which may be nil.
func addRows(db, dy []float32, rows, n int) {
	if db == nil {
		return
	}
	var sum, squares [sumGroup]float32
	for r := 0; r < rows; r += statRows {
		m := min(statRows, rows-r)
		part := dy[r*n:][:m*n]
		op := sumOp{u: part, v: Stored{F32: part}}
		for c := 0; c < n; c += sumGroup {
			w := min(sumGroup, n-c)
			blockSums(&sum, &squares, &op, m, n, c, w)
			for i, v := range sum[:w] {
				db[c+i] += v
			}
		}
	}
}
