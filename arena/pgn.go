package arena

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/chess/pgn"
)

// maxNote is the longest note in a PGN, in bytes: lines end at 255 characters
// (standard, section 4.3).
const maxNote = 200

// WritePGN writes the finished games of a match in the order of their numbers.
// Round is pair.game, from 1; Termination is one of the PGN standard's words
// (section 9.8.1), EndReason says more, and EndNote what happened where a player
// failed. There is no date: the same match gives the same file.
func (r *Result) WritePGN(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	for i := range r.Games {
		if err := pgn.Write(buffered, r.pgnGame(&r.Games[i])); err != nil {
			return fmt.Errorf("game %d: %w", r.Games[i].Number+1, err)
		}
	}
	return buffered.Flush()
}

func (r *Result) pgnGame(g *Game) *pgn.Game {
	out := &pgn.Game{
		Tags: [][2]string{
			{"Event", "chessbrain match"},
			{"Round", fmt.Sprintf("%d.%d", g.Number/2+1, g.Number%2+1)},
			{"White", r.Names[g.White]},
			{"Black", r.Names[1-g.White]},
			{"PlyCount", strconv.Itoa(len(g.Moves))},
			{"OpeningPlies", strconv.Itoa(g.OpeningPlies)},
			{"Termination", cmp.Or(terminations[g.End], "normal")},
			{"EndReason", string(g.End)},
		},
		Start:  g.Start,
		Moves:  g.Moves,
		Result: map[int8]string{1: "1-0", 0: "1/2-1/2", -1: "0-1"}[g.WhiteResult],
	}
	if g.Note != "" {
		out.Tags = append(out.Tags, [2]string{"EndNote", strings.ToValidUTF8(g.Note[:min(len(g.Note), maxNote)], "")})
	}
	return out
}

// ReadPGN returns the games of a PGN file as openings, each at most so many
// plies long; plies 0 takes them whole. A game that cannot be read is an error
// that names its line.
func ReadPGN(r io.Reader, plies int) ([]Opening, error) {
	var openings []Opening
	err := pgn.Read(r, pgn.ReadOptions{}, func(g *pgn.Game) error {
		moves := g.Moves
		if plies > 0 {
			moves = moves[:min(plies, len(moves))]
		}
		openings = append(openings, Opening{Board: g.Start, Weight: 1, Moves: moves})
		return nil
	})
	if err == nil && len(openings) == 0 {
		err = errors.New("there is no game in it")
	}
	return openings, err
}
