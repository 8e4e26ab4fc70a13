package trainer

import (
	"math"
	"time"
)

// Measure is the mean of a loss over rows whose target is known, weighted by
// the row weights.
type Measure struct {
	Metric string
	Mean   float64 // NaN where no row had a target
	StdErr float64 // as if rows were independent; NaN below two rows; 0 for L2, which is no mean
	N      int     // rows counted; 0 for L2
	moves  bool    // of a head that learns moves
}

// StdErrOf is the standard error where the rows are of so many games, 0 = not known. What
// becomes of a game is the same for all its rows: for heads that learn it a game counts as
// one row, which is the most that it can be.
func (m *Measure) StdErrOf(games int) float64 {
	if games == 0 || m.moves {
		return m.StdErr
	}
	return m.StdErr * math.Sqrt(max(1, float64(m.N)/float64(games)))
}

// Measures are the losses and rates of a set of rows. Entropies are in nats.
// What has no rows, or no loss on its head, is NaN.
type Measures struct {
	Losses []Measure // in the order of Config.Losses

	PolicyEntropy       float64 // of the net's policy over the legal moves
	PolicyTargetEntropy float64 // the least policy loss there can be
	LegalEntropy        float64 // mean log of the number of legal moves: a uniform net's policy loss
	PolicyAccuracy      float64 // share whose likeliest move is the target's
	ValueAccuracy       float64 // share whose likeliest outcome is that of the main value head's first target
}

// StepStats is what a step did.
type StepStats struct {
	Measures
	Step    int64 // steps taken, this one included
	Samples int64 // rows trained on in them
	Rows    int   // of this step

	Objective float64 // what is minimised: the weighted losses, L2 included
	GradNorm  float64 // global norm before clipping
	Clipped   bool
	Skipped   bool // a number was not finite; nothing was changed
	LR        float64
	LossScale float64

	DataTime    time.Duration // waiting for the batch source
	ComputeTime time.Duration // forward and backward passes
	UpdateTime  time.Duration // norm, clipping, optimizer, averaging
	Time        time.Duration // all of the step
}

// EvalStats is what Evaluate measured.
type EvalStats struct {
	Measures
	Rows int
	Time time.Duration
}

// sums adds up what the heads measured over micro-batches.
type sums struct {
	losses, hits           []tally // by loss of the configuration
	entropy, target, legal tally
	l2                     float64
}

func newSums(n int) *sums { return &sums{losses: make([]tally, n), hits: make([]tally, n)} }

// report turns sums into means.
func (t *Trainer) report(m *Measures, s *sums) {
	m.PolicyEntropy, m.PolicyTargetEntropy, m.LegalEntropy = s.entropy.mean(), s.target.mean(), s.legal.mean()
	m.PolicyAccuracy, m.ValueAccuracy = math.NaN(), math.NaN()
	valueSeen := false
	for i, l := range t.cfg.Losses {
		if l.Head == HeadWeights {
			m.Losses = append(m.Losses, Measure{Metric: l.Metric, Mean: s.l2})
			continue
		}
		sum := &s.losses[i]
		m.Losses = append(m.Losses, Measure{Metric: l.Metric, Mean: sum.mean(), StdErr: sum.stdErr(), N: sum.n, moves: l.Head == HeadPolicy || l.Head == HeadReply})
		switch {
		case l.isPolicy():
			m.PolicyAccuracy = s.hits[i].mean()
		case l.Head == HeadValue && l.Name == "" && !l.forecast() && !valueSeen:
			m.ValueAccuracy, valueSeen = s.hits[i].mean(), true
		}
	}
}

// tally sums a quantity over rows with weights. Tallies of slices are merged in
// slice order, so the sums do not depend on the worker count.
type tally struct {
	n                    int     // rows counted
	w, wx, w2, w2x, w2xx float64 // sums of w, w*x, w^2, w^2*x, w^2*x^2
}

func (t *tally) add(x, w float64) {
	t.n++
	t.w += w
	t.wx += w * x
	t.w2 += w * w
	t.w2x += w * w * x
	t.w2xx += w * w * x * x
}

func (t *tally) merge(o *tally) {
	t.n += o.n
	t.w += o.w
	t.wx += o.wx
	t.w2 += o.w2
	t.w2x += o.w2x
	t.w2xx += o.w2xx
}

// mean is the weighted mean, NaN where nothing was counted.
func (t *tally) mean() float64 { return t.wx / t.w }

// stdErr is the standard error of the weighted mean, the rows taken as
// independent: sqrt(sum w^2 (x-mean)^2) / sum w, widened by n/(n-1).
func (t *tally) stdErr() float64 {
	if t.n < 2 {
		return math.NaN()
	}
	mean := t.mean()
	sq := max(t.w2xx-2*mean*t.w2x+mean*mean*t.w2, 0)
	return math.Sqrt(sq*float64(t.n)/float64(t.n-1)) / t.w
}

// sumRows is how many rows of a micro-batch of capacity are summed by themselves: the
// last digits of what is saved of a run depend on it.
func sumRows(capacity int) int {
	if capacity >= 256 {
		return 64
	}
	return 32
}
