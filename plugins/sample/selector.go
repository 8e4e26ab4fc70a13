package sample

import (
	"fmt"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

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
