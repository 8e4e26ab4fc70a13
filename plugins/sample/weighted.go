package sample

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// weighted draws rows independently, with replacement, each with a probability
// proportional to its weight in a table.
type weighted struct {
	generator
	name  string
	takes string // what rows it takes, for the error when there are none
	table table
}

func (s *weighted) Name() string { return s.name }

// each calls use with n rows: row k of game i. ErrNoRows where there is none.
func (s *weighted) each(idx stage.Index, n int, use func(i, k int)) error {
	if err := s.table.update(idx); err != nil {
		return err
	}
	switch {
	case idx.NumGames() == 0:
		return ErrNoRows
	case s.table.total == 0:
		return fmt.Errorf("%w: none of the window's %d games has a row for training that is %s", ErrNoRows, idx.NumGames(), s.takes)
	}
	for range n {
		use(s.table.at(s.rng.Uint64N(s.table.total)))
	}
	return nil
}

// equal is a weighted sampler whose rows count 1 in the loss. Its state is the
// random generator.
type equal struct{ weighted }

func (s *equal) draw(idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	err := s.each(idx, n, func(i, k int) {
		dst = append(dst, stage.RowRef{Game: idx.Game(i).Seq, Ply: idx.Row(i, k).Ply, Weight: 1})
	})
	return dst, err
}

const selectorDoc = "draws, in proportion to their weight, from one position of each game or from every k-th"

// The choices of the setting positions.
const (
	allPositions        = "all"
	finalPosition       = "final"
	penultimatePosition = "penultimate"
	everyPosition       = "every"
)

var selectorSettings = []stage.Setting{
	{Name: "positions", Doc: "all; final: the last position, from which the last move was played; penultimate: the one before it; every: those that every and offset tell",
		Text: true, Choices: []string{allPositions, finalPosition, penultimatePosition, everyPosition}, Default: allPositions},
	{Name: "every", Doc: "plies from one position to the next, for positions = every", Whole: true, Min: 1, Max: 10_000, Default: "1"},
	{Name: "offset", Doc: "first ply, 0 = the game's start position, for positions = every", Whole: true, Min: 0, Max: 10_000, Default: "0"},
}

// newSelector returns the sampler position-selector. Positions are counted
// among all of a game's, and those of them that are not rows for training
// (no policy, weight 0) are not drawn: games without any other are passed over.
func newSelector(v stage.Values) (stage.Sampler, error) {
	positions, every, offset := v.Text("positions"), int(v.Number("every")), int(v.Number("offset"))
	if positions != everyPosition && (every != 1 || offset != 0) {
		return nil, fmt.Errorf("settings every and offset: %d and %d are used by positions = %s only, which is %s", every, offset, everyPosition, positions)
	}
	takes := "its " + positions + " position"
	switch positions {
	case allPositions:
		takes = "any"
	case everyPosition:
		takes = fmt.Sprintf("at ply %d or a multiple of %d after it", offset, every)
	}
	selected := func(g *stage.GameInfo, ply int) bool {
		switch positions {
		case finalPosition:
			return ply == g.Plies-1
		case penultimatePosition:
			return ply == g.Plies-2
		}
		return ply >= offset && (ply-offset)%every == 0
	}
	return function{&equal{weighted{generator: newGenerator(), name: "position-selector", takes: takes,
		table: table{weigh: func(idx stage.Index, g *stage.GameInfo, i, k int) uint64 {
			row := idx.Row(i, k)
			if !selected(g, int(row.Ply)) {
				return 0
			}
			return row.Weight
		}}}}}, nil
}

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
