package sample

import (
	"errors"

	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

const diffFocusDoc = "draws rows in proportion to their weight and to how far the search moved from the raw network"

// diffFocusSettings are those of position_weight in the data loader.
var diffFocusSettings = []stage.Setting{
	{Name: "q_weight", Doc: "weight of |Q of the best move - Q of the raw network| beside the policy's KL divergence in nats", Min: 0, Max: 1e6, Default: "6"},
	{Name: "pol_scale", Doc: "the two are divided by q_weight + pol_scale; not 0 together with q_weight", Min: 0, Max: 1e6, Default: "3.5"},
	{Name: "alpha", Doc: "factor of the quotient", Min: 0, Max: 1e6, Default: "1"},
	{Name: "beta", Doc: "what every row has, added to it", Min: 1e-6, Max: 1e6, Default: "0.5"},
	{Name: "gamma", Doc: "power of the sum", Min: 0, Max: 100, Default: "1"},
	{Name: "tau", Doc: "largest factor of a row", Min: 1e-6, Max: 1e6, Default: "1"},
}

// newDiffFocus returns the sampler diff-focus: a row of weight w is drawn with a
// probability proportional to w*f and counts 1 in the loss, where
//
//	f = min(((q_weight*|best_q - orig_q| + kld) / (q_weight + pol_scale) * alpha + beta)^gamma, tau)
//
// as in lczero-training (chance.Focus). A difference that is not known is 0.
func newDiffFocus(v stage.Values) (stage.Sampler, error) {
	f := chance.Focus{QWeight: v.Number("q_weight"), PolicyScale: v.Number("pol_scale"), Alpha: v.Number("alpha"),
		Beta: v.Number("beta"), Gamma: v.Number("gamma"), Tau: v.Number("tau")}
	if f.QWeight+f.PolicyScale == 0 {
		return nil, errors.New("settings q_weight and pol_scale are both 0, want one above 0")
	}
	return function{&equal{weighted{generator: newGenerator(), name: "diff-focus", takes: "any",
		table: table{weigh: func(idx stage.Index, _ *stage.GameInfo, i, k int) uint64 {
			s := idx.Stats(i, k)
			return scaled(idx.Row(i, k).Weight, f.Of(float64(s.QDiff), float64(s.KLD)))
		}}}}}, nil
}
