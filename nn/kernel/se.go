package kernel

// SEApply computes out = act(gate*x + beta + res), x, out, res [boards][64][c],
// gate (after the sigmoid) and beta [boards][c]; res may be nil, and out may be
// x or res. Batch norm folds in: with y = x*scale + shift before the gate, pass
// gate*scale as gate and gate*shift + beta as beta.
func SEApply(out []float32, x Stored, gate, beta, res []float32, boards, c int, act Act) {
	out, x = out[:boards*64*c], x.Slice(0, boards*64*c)
	gate, beta = gate[:boards*c], beta[:boards*c]
	act, after := act.split()
	for b := range boards {
		affine(cut(out, b*64, 64, c), x.Slice(b*64*c, 64*c), gate[b*c:][:c], beta[b*c:][:c],
			cut(res, b*64, 64, c), 64, c, act)
	}
	after.second(out)
}

// SEBackward is the first half of SEApply's gradient. It computes dz, the
// gradient before the activation (which is the residual's gradient), and per
// board dgate [boards][c] = sum dz*x and dbeta [boards][c] = sum dz. With act
// ReLU, dz = dout where out > 0, else 0; with None dz = dout; for Mish apply
// MishBackward first and pass None. dz may be dout.
func SEBackward(dz, dgate, dbeta, dout, out []float32, x Stored, boards, c int, act Act) {
	dz, dout = dz[:boards*64*c], dout[:boards*64*c]
	op := sumOp{u: dout, v: x.Slice(0, boards*64*c)}
	switch act {
	case ReLU:
		op.mask, op.store = out[:boards*64*c], dz
	case None:
		copy(dz, dout)
	default:
		panic("kernel: SEBackward: activation must be None or ReLU")
	}
	boardSums(dbeta[:boards*c], dgate[:boards*c], &op, boards, c)
}

// SEBackwardInput is the second half: dx = gate*dz + dpool/64, the gradient of
// the common input of SEApply and of the mean over the squares. dpool [boards][c]
// comes from the fully connected layers. dx may be dz.
func SEBackwardInput(dx, dz, gate, dpool []float32, boards, c int) {
	dx, dz, gate = dx[:boards*64*c], dz[:boards*64*c], gate[:boards*c]
	const group = 128
	var shift, zero [group]float32
	for b := range boards {
		x, z := cut(dx, b*64, 64, c), cut(dz, b*64, 64, c)
		for c0 := 0; c0 < c; c0 += group {
			n := min(group, c-c0)
			for i := range n {
				shift[i] = dpool[b*c+c0+i] * (1.0 / 64)
			}
			if scale := gate[b*c+c0:][:n]; n == c {
				affine(x, Stored{F32: z}, scale, shift[:n], nil, 64, c, None)
			} else {
				affine2(x, z, Stored{F32: z}, scale, zero[:n], shift[:n], 64, c, c0)
			}
		}
	}
}

// boardSums writes op's sums over the 64 squares of each board to s1 and s2
// [boards][c].
func boardSums(s1, s2 []float32, op *sumOp, boards, c int) {
	var t1, t2 [sumGroup]float32
	for b := range boards {
		blk := op.slice(b*64, 64, c)
		for c0 := 0; c0 < c; c0 += sumGroup {
			w := min(sumGroup, c-c0)
			blockSums(&t1, &t2, &blk, 64, c, c0, w)
			copy(s1[b*c+c0:][:w], t1[:])
			copy(s2[b*c+c0:][:w], t2[:])
		}
	}
}
