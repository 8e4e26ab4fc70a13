package kernel

import "math"

// LossSums holds sums over the rows of a batch that took part in a loss. All
// but Rows are weighted with the row's weight: divide by Weight for means.
type LossSums struct {
	Loss    float64 // the loss
	Weight  float64 // the weights of the rows that took part
	Entropy float64 // entropy of the net's distribution, nats (policy, WDL)
	Correct float64 // rows whose most probable outcome is the target's (policy, WDL)
	Rows    int     // rows that took part
}

// rowWeight returns the weight of row i; a nil slice means 1.
func rowWeight(w []float32, i int) float32 {
	if w == nil {
		return 1
	}
	return w[i]
}

// PolicyCrossEntropy returns the sums of the cross entropy -sum t*log p between
// target (beside legal, sums to 1) and p, the softmax over the legal moves, whose
// logits are y of position i at off[legal[j]] for j in [legalStart[i],
// legalStart[i+1]). y is [boards][rowLen] (rowLen 64*80 for the convolutional
// head); legalStart has boards+1 entries that index legal, prob and target, so a
// sub-batch passes legalStart[lo:hi+1] with all of these. weight [boards] may be nil (1). Where dy is not
// nil it takes the gradient [boards][rowLen]: scale*weight*(p - t) at legal
// moves and 0 elsewhere. prob (beside legal) takes p. Rows without a legal move
// or whose target sums to 0 or is NaN do not take part: gradient 0. A logit
// that is not finite makes the loss NaN.
func PolicyCrossEntropy(dy, prob, y []float32, rowLen int, off *PolicyOffsets, legalStart []int32, legal []uint16, target, weight []float32, scale float32, boards int) LossSums {
	var s LossSums
	gatherPolicy(prob, y, rowLen, off, legalStart, legal, boards)
	for i := range boards {
		lo, hi := legalStart[i], legalStart[i+1]
		p, t, idx := prob[lo:hi], target[lo:hi], legal[lo:hi]
		total := sum64(t)
		w := rowWeight(weight, i)
		ok := total > 0
		if ok {
			ce, ent, hit := crossEntropy(p, t)
			s.add(w, ce, ent, hit)
		} else {
			softmax(p)
		}
		if dy == nil {
			continue
		}
		row := dy[i*rowLen:][:rowLen]
		clear(row)
		if !ok {
			continue
		}
		for j, v := range idx {
			row[off[v]] = scale * w * (p[j]*float32(total) - t[j])
		}
	}
	return s
}

// WDLCrossEntropy is the cross entropy of softmax(logits [rows][3]) against
// target [rows][3] (win, draw, loss; sums to 1; a NaN masks the row). dlogits
// (may be nil) takes scale*weight*(p - t); weight may be nil.
func WDLCrossEntropy(dlogits, logits, target, weight []float32, scale float32, rows int) LossSums {
	var s LossSums
	for i := range rows {
		t := target[i*3:][:3]
		p := [3]float32(logits[i*3:])
		w := rowWeight(weight, i)
		total := sum64(t)
		ok := total > 0
		if ok {
			ce, ent, hit := crossEntropy(p[:], t)
			s.add(w, ce, ent, hit)
		}
		if dlogits == nil {
			continue
		}
		for j, d := 0, dlogits[i*3:][:3]; j < 3; j++ {
			d[j] = 0
			if ok {
				d[j] = scale * w * (p[j]*float32(total) - t[j])
			}
		}
	}
	return s
}

// ScalarMSE is the squared error (v-target)^2; a NaN target masks the row. dv
// (may be nil) takes scale*weight*2*(v-target); weight may be nil.
func ScalarMSE(dv, v, target, weight []float32, scale float32, rows int) LossSums {
	var s LossSums
	for i := range rows {
		w := rowWeight(weight, i)
		d := v[i] - target[i]
		ok := target[i] == target[i]
		if ok {
			s.add(w, float64(d)*float64(d), 0, false)
		}
		if dv != nil {
			dv[i] = 0
			if ok {
				dv[i] = scale * w * 2 * d
			}
		}
	}
	return s
}

// HuberMovesLeft is the Huber loss of (m-target)/unit: d^2/2 for |d| <= delta,
// else delta*(|d| - delta/2). m, target in plies; lczero-training uses unit 20,
// delta 0.5. A NaN target masks the row. dm (may be nil) takes the gradient with
// respect to m times scale*weight; weight may be nil.
func HuberMovesLeft(dm, m, target, weight []float32, unit, delta, scale float32, rows int) LossSums {
	var s LossSums
	for i := range rows {
		w := rowWeight(weight, i)
		d := float64(m[i]-target[i]) / float64(unit)
		loss, grad := d*d/2, d
		if a := math.Abs(d); a > float64(delta) {
			loss = float64(delta) * (a - float64(delta)/2)
			grad = math.Copysign(float64(delta), d)
		}
		ok := target[i] == target[i]
		if ok {
			s.add(w, loss, 0, false)
		}
		if dm != nil {
			dm[i] = 0
			if ok {
				dm[i] = scale * w * float32(grad/float64(unit))
			}
		}
	}
	return s
}

func (s *LossSums) add(w float32, loss, entropy float64, hit bool) {
	s.Loss += float64(w) * loss
	s.Weight += float64(w)
	s.Entropy += float64(w) * entropy
	if hit {
		s.Correct += float64(w)
	}
	s.Rows++
}

// crossEntropy turns logits p into probabilities in place and returns
// -sum t*log p, the entropy of p, and whether both have their maximum at the
// same place. log p comes from the logits, so that p = 0 is harmless.
func crossEntropy(p, t []float32) (ce, entropy float64, hit bool) {
	hit = argMax(p) == argMax(t)
	m := float64(maxOf(p))
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
	return total*logSum - cross, logSum - own*inv, hit
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
