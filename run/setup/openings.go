package setup

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
		more, err := ReadOpenings(path)
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

// ReadOpenings reads a list of openings: the games of a .pgn file, whose moves
// are played, or a FEN or EPD list. An illegal one is an error that names the
// file, the line and the move.
func ReadOpenings(path string) ([]selfplay.Start, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	read := selfplay.ReadStarts
	if strings.EqualFold(filepath.Ext(path), ".pgn") {
		read = readGames
	}
	starts, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return starts, nil
}

// readGames makes an opening of each game of a PGN.
func readGames(r io.Reader) ([]selfplay.Start, error) {
	games, err := arena.ReadPGN(r, 0)
	var starts []selfplay.Start
	for _, g := range games {
		starts = append(starts, selfplay.Start{Board: g.Start, Weight: 1, Moves: g.Moves})
	}
	return starts, err
}
