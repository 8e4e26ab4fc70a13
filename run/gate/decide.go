package gate

import (
	"fmt"

	"github.com/chessbrain/chessbrain/arena"
)

// rule says when a match is decided. The candidate is player 1.
type rule struct {
	share float64     // of the points that the candidate needs, [0,1]; so many are enough
	sprt  *arena.SPRT // nil = the points decide
}

// String names the rule.
func (r rule) String() string {
	if r.sprt == nil {
		return fmt.Sprintf("%g of the points", r.share)
	}
	return fmt.Sprintf("sequential test of Elo %g against %g (alpha %g, beta %g)", r.sprt.Elo0, r.sprt.Elo1, r.sprt.Alpha, r.sprt.Beta)
}

// verdict is where a match stands.
type verdict struct {
	decided, accepted bool
	reason            string
	test              *arena.SPRTResult // nil = the points decide
}

// slack keeps the rounding of share * games from asking for more points than
// there are: half a point is the smallest difference.
const slack = 1e-9

// judge says where a match stands. All of its games decide it in any case. Of points
// draws count half, and the candidate wins ties.
func (r rule) judge(p arena.Progress) verdict {
	if r.sprt != nil {
		return r.judgePairs(p)
	}
	points, left, need := p.Points(), float64(p.Total-p.Games()), r.share*float64(p.Total)
	said := fmt.Sprintf("%g of %d points, %.6g of %d needed", points, p.Games(), need, p.Total)
	switch {
	case points+slack >= need:
		return verdict{decided: true, accepted: true, reason: said}
	case points+left+slack < need:
		return verdict{decided: true, reason: said}
	}
	return verdict{}
}

// judgePairs decides by the sequential test. One that is open when all games are
// played rejects: the net has not shown that it is stronger.
func (r rule) judgePairs(p arena.Progress) verdict {
	test := r.sprt.Test(p.Pairs)
	v := verdict{test: &test}
	holds := test.Decision
	if v.decided = holds != ""; !v.decided && 2*test.Pairs == p.Total {
		v.decided, holds = true, "undecided"
	}
	v.accepted = holds == arena.AcceptH1
	if v.decided {
		v.reason = fmt.Sprintf("%s: %s after %d pairs (LLR %.2f, bounds %.2f and %.2f)", r, holds, test.Pairs, test.LLR, test.Lower, test.Upper)
	}
	return v
}
