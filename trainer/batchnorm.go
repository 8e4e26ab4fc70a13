package trainer

import (
	"math"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// batchNorm normalises [boards][64][c] by channel.
type batchNorm struct {
	e                                    *engine
	c                                    int
	gamma, beta, runningMean, runningVar int // parameter indices
	mean, invStd, scale, shift           []float32
	sum, sumSq                           [][]float64 // by slice
	total, totalXHat                     []float64
}

func newBatchNorm(e *engine, prefix string) *batchNorm {
	c := e.shape(prefix + ".gamma")[0]
	b := &batchNorm{
		e: e, c: c, gamma: e.param(prefix + ".gamma"), beta: e.param(prefix + ".beta"),
		runningMean: e.param(prefix + ".mean"), runningVar: e.param(prefix + ".var"),
		mean: make([]float32, c), invStd: make([]float32, c), scale: make([]float32, c), shift: make([]float32, c),
		total: make([]float64, c), totalXHat: make([]float64, c),
	}
	for range numSlices(e.capacity) {
		b.sum = append(b.sum, make([]float64, c))
		b.sumSq = append(b.sumSq, make([]float64, c))
	}
	return b
}

// measure takes the slice's sums of x.
func (b *batchNorm) measure(s span, x []float32) {
	if b.e.mode == runningStats {
		return
	}
	clear(b.sum[s.slice])
	clear(b.sumSq[s.slice])
	kernel.BatchNormStats(b.sum[s.slice], b.sumSq[s.slice], s.rows(x, 64*b.c), s.n*64, b.c)
}

// settle ends the measuring: it sets mean, invStd, scale and shift and moves the
// pending running statistics. The variance is the population's.
func (b *batchNorm) settle() {
	if b.e.mode == batchStats {
		b.settleBatch()
	} else {
		mean, variance := b.e.params[b.runningMean].data, b.e.params[b.runningVar].data
		for i := range b.c {
			b.mean[i] = mean[i]
			b.invStd[i] = float32(1 / math.Sqrt(float64(variance[i])+nn.BatchNormEpsilon))
		}
	}
	gamma, beta := b.e.params[b.gamma].data, b.e.params[b.beta].data
	for i := range b.c {
		scale := float64(gamma[i]) * float64(b.invStd[i])
		b.scale[i] = float32(scale)
		b.shift[i] = float32(float64(beta[i]) - float64(b.mean[i])*scale)
	}
}

func (b *batchNorm) settleBatch() {
	b.reduce()
	count, m := float64(b.e.boards*64), b.e.bnMomentum
	mean, variance := b.e.running[b.runningMean], b.e.running[b.runningVar]
	for i := range b.c {
		mu := b.total[i] / count
		v := b.totalXHat[i]/count - mu*mu
		if v < 0 {
			v = 0 // rounding; a NaN stays
		}
		b.mean[i], b.invStd[i] = float32(mu), float32(1/math.Sqrt(v+nn.BatchNormEpsilon))
		mean[i] = float32((1-m)*float64(mean[i]) + m*mu)
		variance[i] = float32((1-m)*float64(variance[i]) + m*v)
	}
}

// reduce adds up the slices' sums in slice order.
func (b *batchNorm) reduce() {
	clear(b.total)
	clear(b.totalXHat)
	for s := range numSlices(b.e.boards) {
		for i := range b.c {
			b.total[i] += b.sum[s][i]
			b.totalXHat[i] += b.sumSq[s][i]
		}
	}
}

// settleBackward ends the backward sums: they are the gradients of beta and
// gamma. With running statistics the input's gradient does not depend on them.
func (b *batchNorm) settleBackward() {
	b.reduce()
	gamma, beta := b.e.params[b.gamma].grad, b.e.params[b.beta].grad
	for i := range b.c {
		beta[i], gamma[i] = float32(b.total[i]), float32(b.totalXHat[i])
	}
	if b.e.mode == runningStats {
		clear(b.total)
		clear(b.totalXHat)
	}
}

// measureBackward takes the slice's backward sums. out, if not nil, is the
// output of a ReLU after the batch norm.
func (b *batchNorm) measureBackward(s span, dy, out, x []float32) {
	sum, xhat := b.sum[s.slice], b.sumSq[s.slice]
	clear(sum)
	clear(xhat)
	w := 64 * b.c
	if out != nil {
		kernel.BatchNormReLUBackwardStats(sum, xhat, s.rows(dy, w), s.rows(out, w), s.rows(x, w), b.mean, b.invStd, s.n*64, b.c)
		return
	}
	kernel.BatchNormBackwardStats(sum, xhat, s.rows(dy, w), s.rows(x, w), b.mean, b.invStd, s.n*64, b.c)
}

// inputGrad computes dx of a slice after settleBackward; dx may be dy.
func (b *batchNorm) inputGrad(s span, dx, dy, out, x []float32) {
	w, gamma, count := 64*b.c, b.e.params[b.gamma].data, b.e.boards*64
	if out != nil {
		kernel.BatchNormReLUBackward(s.rows(dx, w), s.rows(dy, w), s.rows(out, w), s.rows(x, w), b.mean, b.invStd, gamma, b.total, b.totalXHat, count, s.n*64, b.c)
		return
	}
	kernel.BatchNormBackward(s.rows(dx, w), s.rows(dy, w), s.rows(x, w), b.mean, b.invStd, gamma, b.total, b.totalXHat, count, s.n*64, b.c)
}
