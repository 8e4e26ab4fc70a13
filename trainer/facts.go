package trainer

import (
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// batchFacts is what the trainer knows of a micro-batch that the device works on.
type batchFacts struct {
	weights []float32
	rows    []rowFacts
}

// maxTerms bounds the losses of heads: a bit each in rowFacts.
const maxTerms = 32

// rowFacts is what the trainer knows of a row, 16 bytes.
type rowFacts struct {
	entropy    float64            // of the policy target, nats, where it is known
	known      uint32             // bit k: the target of term k
	legal      uint16             // moves
	symmetries encoding.Transform // encoding.Batch.NumSymmetries
}

// facts takes down what collect needs of b, while the device works.
func (l *link) facts(b *encoding.TrainBatch) *batchFacts {
	l.turn = (l.turn + 1) % len(l.notes)
	f := &l.notes[l.turn]
	f.weights, f.rows = append(f.weights[:0], b.Weight[:b.N]...), f.rows[:0]
	for row := range b.N {
		if b.Kept.Of != nil {
			f.rows = append(f.rows, *l.window.row(b.Kept.Number[row]))
		} else {
			f.rows = append(f.rows, l.factsOf(b, row))
		}
	}
	return f
}

// factsOf is facts of one row of a batch with contents.
func (l *link) factsOf(b *encoding.TrainBatch, row int) rowFacts {
	f := rowFacts{legal: uint16(len(b.LegalOf(row))), symmetries: b.NumSymmetries(row)}
	for k, i := range l.losses {
		loss := &l.t.cfg.Losses[i]
		if !loss.known(b, row) {
			continue
		}
		f.known |= 1 << k
		if loss.isPolicy() {
			f.entropy = entropy(b.PolicyOf(row))
		}
	}
	return f
}

// collect adds the measures of a micro-batch to s, piece by piece, and returns its objective.
func (l *link) collect(f *batchFacts, s *sums) float64 {
	n, piece := len(f.weights), sumRows(l.t.cfg.BatchSize)
	objective := 0.0
	for lo := 0; lo < n; lo += piece {
		hi := min(lo+piece, n)
		for k, i := range l.losses {
			c := &l.t.cfg.Losses[i]
			var loss, hit, own, target, legal tally
			for row := lo; row < hi; row++ {
				known := &f.rows[row]
				if known.known>>k&1 == 0 {
					continue
				}
				m, w := l.rows.Terms[k][row], float64(f.weights[row])
				loss.add(m.Loss, w)
				hit.add(m.Hit, w)
				if c.isPolicy() {
					own.add(l.rows.Entropy[row], w)
					target.add(known.entropy, w)
					legal.add(math.Log(float64(known.legal)), w)
				}
			}
			objective += c.Weight * loss.wx
			s.losses[i].merge(&loss)
			s.hits[i].merge(&hit)
			s.entropy.merge(&own)
			s.target.merge(&target)
			s.legal.merge(&legal)
		}
	}
	return objective / float64(n)
}

// isPolicy says whether the loss is the one that the policy's measures are of.
func (l *Loss) isPolicy() bool { return l.Head == HeadPolicy && l.Kind == CrossEntropy && l.Name == "" }

// known says whether the target of row i is.
func (l *Loss) known(b *encoding.TrainBatch, i int) bool {
	if l.Name == nn.Opponent {
		return b.Ahead[i].ReplyIndex() != encoding.NoPolicyIndex
	}
	switch l.Head {
	case HeadSurvival, HeadMaterial:
		return b.Ahead[i].Known
	case HeadReply:
		return b.Ahead[i].From != b.Ahead[i].To
	case HeadPolicy:
		mass := 0.0
		for _, p := range b.PolicyOf(i) {
			mass += float64(p)
		}
		if !(mass > 0) || l.Kind != OptimisticCross {
			return mass > 0
		}
	}
	t := l.target(&b.Targets[i])
	switch l.Kind {
	case WDLCrossEntropy:
		sum := 0.0
		for _, p := range device.WDL(t) {
			sum += float64(p)
		}
		return sum > 0
	case Huber:
		return t.M == t.M
	}
	return t.Q == t.Q
}

// Floors returns the least value that each loss can have at step 0 on the rows of a batch,
// in the order of losses: the entropy of the targets (nats) for cross entropies of the
// policy and the value, 0 for the others. Means, weights of rows and unknown targets are as in Measure;
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
	switch {
	case l.Head == HeadPolicy && l.Kind == CrossEntropy && l.Name != nn.Opponent:
		return entropy(b.PolicyOf(i))
	case l.Kind == SoftCross:
		soft := slices.Clone(b.PolicyOf(i))
		device.Soften(soft, l.Temperature)
		return entropy(soft)
	case l.Kind == WDLCrossEntropy:
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
