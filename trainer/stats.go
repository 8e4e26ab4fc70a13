package trainer

import (
	"math"
	"time"
)

// Measure is the mean of a loss over rows whose target is known, weighted by
// the row weights. Rows of one game are not independent, so over few games
// StdErr is too small.
type Measure struct {
	Metric string
	Mean   float64 // NaN where no row had a target
	StdErr float64 // NaN below two rows; 0 for L2, which is no mean
	N      int     // rows counted; 0 for L2
}

// Measures are the losses and rates of a set of rows. Entropies are in nats.
// What has no rows, or no loss on its head, is NaN.
type Measures struct {
	Losses []Measure // in the order of Config.Losses

	PolicyEntropy       float64 // of the net's policy over the legal moves
	PolicyTargetEntropy float64 // the least policy loss there can be
	LegalEntropy        float64 // mean log of the number of legal moves: a uniform net's policy loss
	PolicyAccuracy      float64 // share whose likeliest move is the target's
	ValueAccuracy       float64 // share whose likeliest outcome is that of the first value loss's target
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
		m.Losses = append(m.Losses, Measure{Metric: l.Metric, Mean: sum.mean(), StdErr: sum.stdErr(), N: sum.n})
		switch {
		case l.Head == HeadPolicy:
			m.PolicyAccuracy = s.hits[i].mean()
		case l.Head == HeadValue && !valueSeen:
			m.ValueAccuracy, valueSeen = s.hits[i].mean(), true
		}
	}
}
