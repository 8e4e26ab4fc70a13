package kernel

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
)

// PolicyOffsets says where the logit of each policy index lies within a board's
// row of head outputs.
type PolicyOffsets [encoding.NumPolicy]uint16

// NewConvPolicyOffsets returns the offsets of the convolutional head in
// channels-last order (from*80 + plane); conv maps a policy index to
// plane*64 + from, as encoding.ConvPolicyIndex does.
func NewConvPolicyOffsets(conv *[encoding.NumPolicy]uint16) *PolicyOffsets {
	var o PolicyOffsets
	for i, v := range conv {
		o[i] = v%64*encoding.NumConvPlanes + v/64
	}
	return &o
}

// NewFlatPolicyOffsets returns the offsets of a head with one output per policy
// index (the classical head): the index itself.
func NewFlatPolicyOffsets() *PolicyOffsets {
	var o PolicyOffsets
	for i := range o {
		o[i] = uint16(i)
	}
	return &o
}

// minSoftmaxVec is the length from which the vector kernel is faster.
const minSoftmaxVec = 4

// Softmax replaces logits, of which there may be none, by their softmax.
func Softmax(p []float32) {
	if len(p) == 0 || len(p) >= minSoftmaxVec && softmaxVec(p) {
		return
	}
	m := p[argMax(p)]
	sum := 0.0
	for j, v := range p {
		e := math.Exp(float64(v - m))
		sum += e
		p[j] = float32(e)
	}
	inv := float32(1 / sum)
	for j := range p {
		p[j] *= inv
	}
}

// SoftmaxRows is Softmax of each row of p [rows][n]: attention weights. The bits are those
// of Softmax.
func SoftmaxRows(p []float32, rows, n int) {
	p = p[:rows*n]
	if softmaxRowsVec(p, rows, n) {
		return
	}
	for r := range rows {
		Softmax(p[r*n:][:n])
	}
}

// SoftmaxRowsBackward turns dp, the gradient of p = SoftmaxRows(z), into that of z:
// dz = p*(dp - sum(dp*p)) in each row of n. dz may be dp. A row does not depend on the others.
func SoftmaxRowsBackward(dz, dp, p []float32, rows, n int) {
	dz, dp, p = dz[:rows*n], dp[:rows*n], p[:rows*n]
	if softmaxRowsBackwardVec(dz, dp, p, rows, n) {
		return
	}
	for r := range rows {
		softmaxBackward(cut(dz, r, 1, n), cut(dp, r, 1, n), cut(p, r, 1, n))
	}
}

// softmaxBackward is SoftmaxRowsBackward of one row.
func softmaxBackward(dz, dp, p []float32) {
	sum := 0.0
	for j, v := range p {
		sum += float64(dp[j]) * float64(v)
	}
	for j, v := range p {
		dz[j] = float32(float64(v) * (float64(dp[j]) - sum))
	}
}
