package setup

import (
	"fmt"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/selfplay"
)

// openingsOf reads the start positions of the configuration and of its file.
// Errors are *config.Error.
func openingsOf(o *config.Openings) (*selfplay.Openings, error) {
	var starts []selfplay.Start
	for i, p := range o.GetPositions() {
		board, err := chess.ParseFEN(p.GetFen())
		if err != nil {
			return nil, &config.Error{Field: fmt.Sprintf("selfplay.openings.positions[%d].fen", i), Reason: err.Error()}
		}
		starts = append(starts, selfplay.Start{Board: board, Weight: p.GetWeight()})
	}
	if path := o.GetFile(); path != "" {
		more, err := arena.ReadOpenings(path, 0)
		if err != nil {
			return nil, &config.Error{Field: "selfplay.openings.file", Reason: err.Error(), Remedy: "name a file with one FEN or EPD a line, or a .pgn file"}
		}
		starts = append(starts, more...)
	}
	order := map[config.Openings_Order]selfplay.Order{
		config.Openings_RANDOM: selfplay.OrderRandom, config.Openings_SEQUENTIAL: selfplay.OrderSequential,
		config.Openings_SHUFFLED: selfplay.OrderShuffled,
	}[o.GetOrder()]
	all, err := selfplay.NewOpenings(starts, order, int(o.GetRandomPlies()))
	if err != nil {
		return nil, &config.Error{Field: "selfplay.openings", Reason: err.Error()}
	}
	all.PolicyPlies, all.PolicyTemperature = int(o.GetPolicyPlies()), o.GetPolicyTemperature()
	all.Mirrored, all.StopProbability = o.GetMirrored(), o.GetStopProbability()
	return all, nil
}
