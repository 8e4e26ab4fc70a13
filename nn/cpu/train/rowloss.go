package train

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Unit (plies) and delta of the moves-left Huber loss (lczero-training).
const (
	movesLeftUnit = 20
	huberDelta    = 0.5
)

// rowLossFunc holds outputs z of one row against a target and adds scale times
// the gradient to dz.
type rowLossFunc func(dz, z []float32, t encoding.QDM, scale float32) kernel.RowLoss

// wdlRowLoss is the cross entropy of softmax(z) over win, draw, loss against a target.
func wdlRowLoss(dz, z []float32, t encoding.QDM, scale float32) kernel.RowLoss {
	r, grad := kernel.WDLCrossEntropy([3]float32(z), device.WDL(t), scale)
	for i, g := range grad {
		dz[i] += g
	}
	return r
}

// scalarRowLoss is (tanh(z) - q)^2. A hit is a value on the same side: win above 1/3,
// loss below -1/3, else draw.
func scalarRowLoss(dz, z []float32, t encoding.QDM, scale float32) kernel.RowLoss {
	var v, grad [1]float32
	kernel.Tanh(v[:], z[:1])
	r, g := kernel.ScalarMSE(v[0], t.Q, scale)
	grad[0] = g
	kernel.TanhBackward(grad[:], grad[:], v[:])
	dz[0] += grad[0]
	r.Hit = r.Known && outcome(v[0]) == outcome(t.Q)
	return r
}

// errorRowLoss is the square of what sigmoid(f), a forecast, is off the square of the error
// of the value with outputs z, which does not follow it.
func errorRowLoss(df *float32, f float32, z []float32, q, scale float32) (r kernel.RowLoss) {
	if q != q {
		return r
	}
	v := math.Tanh(float64(z[0]))
	if len(z) == 3 {
		wdl := [3]float32(z)
		kernel.Softmax(wdl[:])
		v = float64(wdl[0]) - float64(wdl[2])
	}
	forecast := 1 / (1 + math.Exp(-float64(f)))
	off := forecast - (v-float64(q))*(v-float64(q))
	*df += scale * float32(2*off*forecast*(1-forecast))
	return kernel.RowLoss{Loss: off * off, Known: true}
}

// categoryRowLoss is the cross entropy of categories with logits z and the one that q is in.
// Each is an equal part of [-1,1], as in lczero-training, and the last one has q = 1.
func categoryRowLoss(dz, z []float32, q, scale float32) (r kernel.RowLoss) {
	if q != q {
		return r
	}
	n := len(z)
	at := max(0, min(n-1, int(math.Floor((float64(q)+1)/2*float64(n)))))
	return kernel.RowLoss{Loss: choiceRowLoss(dz, z, at, scale), Known: true}
}

func outcome(q float32) int {
	switch {
	case q > 1.0/3:
		return 1
	case q < -1.0/3:
		return -1
	}
	return 0
}

// movesLeftRowLoss is the Huber loss of the net's moves left relu(z), in plies,
// against a target, both divided by 20, delta 0.5. There are no hits.
func movesLeftRowLoss(dz, z []float32, t encoding.QDM, scale float32) kernel.RowLoss {
	var m, grad [1]float32
	kernel.ReLUForward(m[:], z[:1])
	if z[0] != z[0] {
		m[0] = z[0] // ReLU turns NaN into 0 and would hide it
	}
	r, g := kernel.HuberMovesLeft(m[0], t.M, movesLeftUnit, huberDelta, scale)
	grad[0] = g
	kernel.ReLUBackward(grad[:], grad[:], m[:])
	dz[0] += grad[0]
	return r
}
