package kernel

import "math"

// RowLoss is what one row says of a loss.
type RowLoss struct {
	Loss    float64
	Entropy float64 // of the net's distribution, nats (policy, WDL)
	Known   bool    // the row has a target; all else is 0 without
	Hit     bool    // the most probable outcome is the target's (policy, WDL)
}

// PolicyCrossEntropy returns the cross entropy -sum t*log p of a row between target
// (beside legal, sums to 1) and p, the softmax over the legal moves, whose logits are y
// at off[legal[j]]. prob (beside legal) takes p. Where dy is not nil it takes the
// gradient, of y's length: scale*(p - t) at legal moves and 0 elsewhere. A target that
// sums to 0 or is NaN is not known, as without legal moves: gradient 0. A logit that is
// not finite makes the loss NaN.
func PolicyCrossEntropy(dy, prob, y []float32, off *PolicyOffsets, legal []uint16, target []float32, scale float32) (r RowLoss) {
	p, t := prob[:len(legal)], target[:len(legal)]
	for j, v := range legal {
		p[j] = y[off[v]]
	}
	total := sum64(t)
	if r = MovesCrossEntropy(p, t); dy == nil {
		return r
	}
	clear(dy)
	if r.Known {
		for j, v := range legal {
			dy[off[v]] = scale * (p[j]*float32(total) - t[j])
		}
	}
	return r
}

// MovesCrossEntropy turns the logits of a row's legal moves into probabilities in place,
// and returns their loss as PolicyCrossEntropy does. Its gradient is p*sum(target) -
// target, 0 where it is not known.
func MovesCrossEntropy(p, target []float32) RowLoss {
	if sum64(target) > 0 {
		return crossEntropy(p, target)
	}
	Softmax(p)
	return RowLoss{}
}

// WDLCrossEntropy is the cross entropy of a row's softmax(logits) against target (win,
// draw, loss; sums to 1; NaN: not known), and its gradient, scale*(p - t).
func WDLCrossEntropy(logits, target [3]float32, scale float32) (r RowLoss, grad [3]float32) {
	total := sum64(target[:])
	if !(total > 0) {
		return r, grad
	}
	r = crossEntropy(logits[:], target[:])
	for j, p := range logits {
		grad[j] = scale * (p*float32(total) - target[j])
	}
	return r, grad
}

// ScalarMSE is the squared error (v-target)^2 of a row, and its gradient times scale. A
// NaN target is not known.
func ScalarMSE(v, target, scale float32) (r RowLoss, grad float32) {
	if target != target {
		return r, 0
	}
	d := v - target
	return RowLoss{Loss: float64(d) * float64(d), Known: true}, scale * 2 * d
}

// HuberMovesLeft is the Huber loss of (m-target)/unit: d^2/2 for |d| <= delta,
// else delta*(|d| - delta/2). m, target in plies; lczero-training uses unit 20,
// delta 0.5. A NaN target is not known. grad is the gradient with respect to m times scale.
func HuberMovesLeft(m, target, unit, delta, scale float32) (r RowLoss, grad float32) {
	if target != target {
		return r, 0
	}
	d := float64(m-target) / float64(unit)
	loss, slope := d*d/2, d
	if a := math.Abs(d); a > float64(delta) {
		loss = float64(delta) * (a - float64(delta)/2)
		slope = math.Copysign(float64(delta), d)
	}
	return RowLoss{Loss: loss, Known: true}, scale * float32(slope/float64(unit))
}

// crossEntropy turns logits p into probabilities in place and returns their loss against
// t. log p comes from the logits, so that p = 0 is harmless.
func crossEntropy(p, t []float32) RowLoss {
	best := argMax(p)
	hit, m := best == argMax(t), float64(p[best])
	var sum, total, cross, own float64 // of e, t, t*d, e*d with d = logit-m, e = exp(d)
	for j, v := range p {
		d := float64(v) - m
		e := math.Exp(d)
		sum += e
		if e > 0 {
			own += e * d
		}
		if w := float64(t[j]); w != 0 {
			total += w
			cross += w * d
		}
		p[j] = float32(e)
	}
	logSum, inv := math.Log(sum), 1/sum
	for j, e := range p {
		p[j] = float32(float64(e) * inv)
	}
	return RowLoss{Loss: total*logSum - cross, Entropy: logSum - own*inv, Known: true, Hit: hit}
}

func argMax(p []float32) int {
	best := 0
	for j, v := range p {
		if v > p[best] {
			best = j
		}
	}
	return best
}

func sum64(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v)
	}
	return s
}
