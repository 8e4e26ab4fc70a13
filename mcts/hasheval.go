package mcts

import (
	"context"

	"github.com/chessbrain/chessbrain/encoding"
)

// HashEvaluator is an evaluator without a network: its answers are a hash of
// the input, made of integer operations and exact divisions, so that they are
// the same on every CPU. It serves the search signature, benchmarks and tests.
type HashEvaluator struct{ Seed uint64 }

// Evaluate fills Prior, WDL and M. A row's answer depends on that row alone.
func (h *HashEvaluator) Evaluate(_ context.Context, b *encoding.Batch) error {
	for i := range b.N {
		x := h.hash(&b.Masks[i], &b.Scalars[i])
		prior, total := b.PriorOf(i), uint32(0)
		for k, idx := range b.LegalOf(i) {
			r := mix(x + uint64(idx))
			w := uint32(1 + r&63)
			if r>>6&7 == 0 { // an eighth of the moves look good
				w += uint32(r >> 9 & 511)
			}
			prior[k] = float32(w) // at most 574: sums stay exact
			total += w
		}
		for k := range prior {
			prior[k] /= float32(total)
		}
		r := mix(x ^ 0x5851f42d4c957f2d)
		win, draw, loss := uint32(1+r&255), uint32(1+r>>8&255), uint32(1+r>>16&255)
		sum := float32(win + draw + loss)
		b.WDL[i] = [3]float32{float32(win) / sum, float32(draw) / sum, float32(loss) / sum}
		b.M[i] = float32(r >> 24 & 127)
	}
	return nil
}

// hash mixes one position's input and the seed.
func (h *HashEvaluator) hash(masks *[encoding.NumMasks]uint64, s *encoding.Scalars) uint64 {
	x := mix(h.Seed + 1)
	for _, m := range masks {
		x = (x^m)*0x9e3779b97f4a7c15 + x>>29
	}
	small := [...]uint8{s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO, s.BlackToMove, s.Rule50}
	for _, v := range small {
		x = (x^uint64(v))*0x9e3779b97f4a7c15 + x>>29
	}
	return mix(x)
}

// mix is the finisher of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
