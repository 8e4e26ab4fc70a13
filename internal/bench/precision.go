package bench

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// What bf16 must hold against fp32 on positions of a trained net.
const (
	MinTop1Agreement       = 0.99
	MaxMeanValueDifference = 0.005
)

// PrecisionReport is how far the answers of a net in bf16 are from those in fp32.
type PrecisionReport struct {
	Tier                string  `json:"tier"`
	Net                 string  `json:"net"`
	NetID               string  `json:"net_id"`
	Positions           int     `json:"positions"`
	Choices             int     `json:"choices"`               // positions with two legal moves or more
	Top1Agreement       float64 `json:"top1_agreement"`        // share of the choices in which both prefer the same move
	MeanValueDifference float64 `json:"mean_value_difference"` // of Q = W-L in [-1,1], absolute
	MaxValueDifference  float64 `json:"max_value_difference"`
	PolicyKL            float64 `json:"policy_kl"` // mean of KL(fp32 || bf16) over the legal moves, nats
	Accepted            bool    `json:"accepted"`  // both bounds above hold
}

// ComparePrecisions evaluates the positions of b, whose answers it overwrites, in
// fp32 and in bf16. Positions need a legal move. It is an error, wrapping
// ErrOptions, where the active tier has no bf16 products or b is empty.
func ComparePrecisions(net *nn.Net, b *encoding.Batch) (PrecisionReport, error) {
	r := PrecisionReport{Tier: kernel.ActiveTier().String(), Net: net.Arch.String(), NetID: net.ID(), Positions: b.N}
	if !kernel.HasBF16() {
		return r, fmt.Errorf("%w: the CPU kernels in use (%s) have no bf16 products: there is nothing to compare", ErrOptions, r.Tier)
	}
	if b.N == 0 {
		return r, fmt.Errorf("%w: no positions", ErrOptions)
	}
	ctx := context.Background()
	if err := answers(ctx, net, kernel.FP32, b); err != nil {
		return r, err
	}
	exact := encoding.Batch{N: b.N, LegalStart: b.LegalStart, Prior: slices.Clone(b.Prior), WDL: slices.Clone(b.WDL)}
	if err := answers(ctx, net, kernel.BF16, b); err != nil {
		return r, err
	}
	r.compare(&exact, b)
	return r, nil
}

// compare fills in the figures.
func (r *PrecisionReport) compare(exact, rounded *encoding.Batch) {
	same := 0
	for i := range exact.N {
		p, q := exact.PriorOf(i), rounded.PriorOf(i)
		if len(p) > 1 {
			r.Choices++
			if best(p) == best(q) {
				same++
			}
		}
		r.PolicyKL += divergence(p, q) / float64(exact.N)
		difference := math.Abs(value(exact.WDL[i]) - value(rounded.WDL[i]))
		r.MeanValueDifference += difference / float64(exact.N)
		r.MaxValueDifference = max(r.MaxValueDifference, difference)
	}
	r.Top1Agreement = 1
	if r.Choices > 0 {
		r.Top1Agreement = float64(same) / float64(r.Choices)
	}
	r.Accepted = r.Top1Agreement >= MinTop1Agreement && r.MeanValueDifference <= MaxMeanValueDifference
}

// value is Q = W-L.
func value(wdl [3]float32) float64 { return float64(wdl[0]) - float64(wdl[2]) }

// best returns the index of the largest probability, the first of equal ones.
func best(p []float32) int { return slices.Index(p, slices.Max(p)) }

// divergence returns KL(p || q) in nats. A probability that underflowed to 0 in q
// counts as the smallest float32.
func divergence(p, q []float32) float64 {
	sum := 0.0
	for j := range p {
		if p[j] > 0 {
			sum += float64(p[j]) * math.Log(float64(p[j])/max(float64(q[j]), math.SmallestNonzeroFloat32))
		}
	}
	return max(sum, 0)
}
