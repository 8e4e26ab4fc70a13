package trainer

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/device"
)

// Floors returns the least value that each loss can have on the rows of a batch,
// in the order of losses: the entropy of the targets (nats) for cross entropies,
// 0 for the others. Means, weights of rows and unknown targets are as in Measure;
// the standard error is not filled in, and of L2 nothing.
func Floors(losses []Loss, b *encoding.TrainBatch) []Measure {
	floors := make([]Measure, len(losses))
	for k := range losses {
		l := &losses[k]
		floors[k].Metric = l.Metric
		if l.Head == HeadWeights {
			continue
		}
		var sum tally
		for i := range b.N {
			if l.known(b, i) {
				sum.add(l.floor(b, i), float64(b.Weight[i]))
			}
		}
		floors[k].Mean, floors[k].N, floors[k].StdErr = sum.mean(), sum.n, math.NaN()
	}
	return floors
}

// floor is the least loss of row i, whose target is known.
func (l *Loss) floor(b *encoding.TrainBatch, i int) float64 {
	switch l.Kind {
	case CrossEntropy:
		return entropy(b.PolicyOf(i))
	case WDLCrossEntropy:
		wdl := device.WDL(l.target(&b.Targets[i]))
		return entropy(wdl[:])
	}
	return 0
}

// entropy is -sum p log p; NaN where one is.
func entropy(p []float32) float64 {
	h := 0.0
	for _, x := range p {
		if x != 0 {
			h -= float64(x) * math.Log(float64(x))
		}
	}
	return h
}
