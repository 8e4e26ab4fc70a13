package train

import (
	"math"

	"github.com/chessbrain/chessbrain/nn"
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
	for range e.maxSlices() {
		b.sum = append(b.sum, make([]float64, c))
		b.sumSq = append(b.sumSq, make([]float64, c))
	}
	return b
}

// begin clears the sums of a slice, before its first group is measured.
func (b *batchNorm) begin(s span) {
	clear(b.sum[s.slice])
	clear(b.sumSq[s.slice])
}

// addBoards adds the sums [boards][c] that the convolution took.
func (b *batchNorm) addBoards(g span, sum, squares []float32) {
	total, totalSq := b.sum[g.slice], b.sumSq[g.slice]
	for i := range g.n {
		for j, v := range sum[i*b.c:][:b.c] {
			total[j] += float64(v)
			totalSq[j] += float64(squares[i*b.c+j])
		}
	}
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
		v := max(b.totalXHat[i]/count-mu*mu, 0) // rounding; a NaN stays
		b.mean[i], b.invStd[i] = float32(mu), float32(1/math.Sqrt(v+nn.BatchNormEpsilon))
		mean[i] = float32((1-m)*float64(mean[i]) + m*mu)
		variance[i] = float32((1-m)*float64(variance[i]) + m*v)
	}
}

// reduce adds up the slices' sums in slice order.
func (b *batchNorm) reduce() {
	clear(b.total)
	clear(b.totalXHat)
	for s := range b.e.numSlices() {
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
