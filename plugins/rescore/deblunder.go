package rescore

import (
	"context"
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

const deblunderDoc = "before a blunder, puts the value of the best move in the place of the result"

var deblunderSettings = []stage.Setting{
	{Name: "threshold", Doc: "Q that the move played must lose against the best one", Min: 0, Max: 2, Default: "0.1"},
	{Name: "width", Doc: "range of Q around the threshold in which old and new result are mixed; at most twice the threshold", Min: 0, Max: 2, Default: "0.06"},
}

// Deblunder gives the positions up to a blunder the result that the best move
// promised, as Leela's rescorer does. Moves are drawn by temperature, and what
// the game came to after a bad one says little of the positions before it.
//
// Going back from the end, a position blunders where Best.Q - Played.Q is above
// Threshold - Width/2, or where the move throws away a proven win or runs into
// a certain loss. Its result z becomes (1-r)*z + r*Best with
//
//	r = min(1, (Best.Q - Played.Q - Threshold)/Width + 0.5)
//
// and r = 1 at a proven win or loss, or without Width. The positions before it
// get the new z, its sign turned and its plies one more at each; another
// blunder mixes that z again. Positions after the last blunder keep their own.
// A D of Best that is not known counts as 0, an M that is not known leaves the
// old plies. Where a position has no result, it does not blunder.
type Deblunder struct {
	Threshold float64 // [0,2]
	Width     float64 // [0, 2*Threshold]
}

func newDeblunder(v stage.Values) (stage.Rescorer, error) {
	d := Deblunder{Threshold: v.Number("threshold"), Width: v.Number("width")}
	if d.Width > 2*d.Threshold {
		return nil, fmt.Errorf("setting width: %g, want at most %g, twice the threshold: it would hit moves that lose nothing", d.Width, 2*d.Threshold)
	}
	return d, nil
}

func (Deblunder) Name() string { return "deblunder" }

// Rescore returns g, or a copy with other Results.
func (d Deblunder) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	outcomes := resultsOf(g)
	started := false
	var z encoding.QDM
	for i := len(g.Plies) - 1; i >= 0; i-- {
		if started {
			z.Q, z.M = 0-z.Q, z.M+1 // a draw stays +0
		} else {
			z = outcomes[i]
		}
		if r := d.ratio(&g.Plies[i]); r > 0 && z.Q == z.Q {
			z, started = mix(z, g.Plies[i].Best, r), true
		}
		if started {
			outcomes[i] = z
		}
	}
	return withResults(g, outcomes), ctx.Err()
}

// ratio returns how much of the best move's value enters the result, 0 where
// the position does not blunder.
func (d Deblunder) ratio(p *record.Ply) float64 {
	best, played := float64(p.Best.Q), float64(p.Played.Q)
	if best > -1 && played < 1 && (played <= -1 || best >= 1 && p.Flags&record.BestProven != 0) {
		return 1
	}
	lost := best - played
	switch {
	case !(lost > d.Threshold-d.Width/2): // also where one is not known
		return 0
	case d.Width == 0:
		return 1
	}
	return min(1, (lost-d.Threshold)/d.Width+0.5)
}

// mix returns (1-r)*z + r*best.
func mix(z, best encoding.QDM, r float64) encoding.QDM {
	if best.D != best.D {
		best.D = 0
	}
	if best.M != best.M {
		best.M = z.M
	}
	one := func(a, b float32) float32 {
		return float32(float64((1-r)*float64(a)) + float64(r*float64(b)))
	}
	return encoding.QDM{Q: one(z.Q, best.Q), D: one(z.D, best.D), M: one(z.M, best.M)}
}
