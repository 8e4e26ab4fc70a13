package train

import (
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Unit (plies) and delta of the moves-left Huber loss (lczero-training).
const (
	movesLeftUnit = 20
	huberDelta    = 0.5
)

// rowLoss is the loss of one row.
type rowLoss struct {
	value float64
	known bool // its target is
	hit   bool // the net's likeliest outcome is the target's
}

// rowLossFunc holds outputs z of one row against a target and adds scale times
// the gradient to dz.
type rowLossFunc func(dz, z []float32, t encoding.QDM, scale float32) rowLoss

// policyRowLoss holds row i of b against the policy outputs y of that row, which
// lie where off says. dy takes scale times the loss's gradient (0 where the
// target is not known: NaN, no mass, no legal move); prob, beside b.Legal, takes
// the net's policy, whose entropy is in nats. Only legal moves are ever looked at.
func policyRowLoss(dy, prob, y []float32, off *kernel.PolicyOffsets, b *encoding.TrainBatch, i int, scale float32) (r rowLoss, entropy float64) {
	s := kernel.PolicyCrossEntropy(dy, prob, y, len(y), off, b.LegalStart[i:i+2], b.Legal, b.Policy, nil, scale, 1)
	return rowLoss{s.Loss, s.Rows > 0, s.Correct > 0}, s.Entropy
}

// wdlRowLoss is the cross entropy of softmax(z) over win, draw, loss against a target.
func wdlRowLoss(dz, z []float32, t encoding.QDM, scale float32) rowLoss {
	var grad [3]float32
	target := device.WDL(t)
	s := kernel.WDLCrossEntropy(grad[:], z[:3], target[:], nil, scale, 1)
	for i, g := range grad {
		dz[i] += g
	}
	return rowLoss{s.Loss, s.Rows > 0, s.Correct > 0}
}

// scalarRowLoss is (tanh(z) - q)^2. A hit is a value on the same side: win above 1/3,
// loss below -1/3, else draw.
func scalarRowLoss(dz, z []float32, t encoding.QDM, scale float32) rowLoss {
	var v, grad [1]float32
	kernel.Tanh(v[:], z[:1])
	s := kernel.ScalarMSE(grad[:], v[:], []float32{t.Q}, nil, scale, 1)
	kernel.TanhBackward(grad[:], grad[:], v[:])
	dz[0] += grad[0]
	return rowLoss{s.Loss, s.Rows > 0, s.Rows > 0 && outcome(v[0]) == outcome(t.Q)}
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
func movesLeftRowLoss(dz, z []float32, t encoding.QDM, scale float32) rowLoss {
	var m, grad [1]float32
	kernel.ReLUForward(m[:], z[:1])
	if z[0] != z[0] {
		m[0] = z[0] // ReLU turns NaN into 0 and would hide it
	}
	s := kernel.HuberMovesLeft(grad[:], m[:], []float32{t.M}, nil, movesLeftUnit, huberDelta, scale, 1)
	kernel.ReLUBackward(grad[:], grad[:], m[:])
	dz[0] += grad[0]
	return rowLoss{s.Loss, s.Rows > 0, false}
}
