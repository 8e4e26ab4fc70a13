package export

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/record"
)

// WritePGN writes a game of a job as PGN: Event is the job, Round the game's
// ordinal, White and Black the net, Termination as the PGN standard names it,
// EndReason as record does; then the run's Seed and the GameId. NetChanged tells
// that newer weights took over in the game. There is no date: the text depends
// on the game alone.
//
// Behind every searched move stands what the search knew before it, as its mover
// saw it: {q=+0.123 d=0.45 m=57 n=101}: the root's Q in [-1,1], draw probability,
// plies left, and visits. What is not known is left out. g must be valid.
func WritePGN(w io.Writer, g *record.Game, job string) error {
	start, err := g.StartBoard()
	if err != nil {
		return fmt.Errorf("write PGN of game %d: %w", g.Ordinal, err)
	}
	out := pgn.Game{Start: start, Result: pgnResult(g)}
	tag := func(name, value string) { out.Tags = append(out.Tags, [2]string{name, value}) }
	tag("Event", job)
	tag("Round", strconv.FormatUint(g.Ordinal, 10))
	tag("White", g.NetID)
	tag("Black", g.NetID)
	if g.Flags&record.Chess960 != 0 {
		tag("Variant", "Chess960")
	}
	tag("Termination", pgnTermination(g.End))
	tag("EndReason", g.End.String())
	tag("Seed", strconv.FormatUint(g.Seed, 10))
	tag("GameId", hex.EncodeToString(g.ID[:]))
	if g.Flags&record.NetChanged != 0 {
		tag("NetChanged", "1")
	}
	for i := range g.Plies {
		out.Moves = append(out.Moves, g.Plies[i].Move)
		out.Comments = append(out.Comments, pgnComment(&g.Plies[i]))
	}
	if err := pgn.Write(w, &out); err != nil {
		return fmt.Errorf("game %d: %w", g.Ordinal, err)
	}
	return nil
}

func pgnResult(g *record.Game) string {
	if g.End == record.EndAborted {
		return "*"
	}
	return map[int8]string{1: "1-0", 0: "1/2-1/2", -1: "0-1"}[g.WhiteResult]
}

// pgnTermination is the end in the words of the PGN standard (section 9.8.1).
func pgnTermination(end record.EndReason) string {
	switch end {
	case record.EndAborted:
		return "unterminated"
	case record.EndTablebase, record.EndMaxPlies:
		return "adjudication"
	}
	return "normal"
}

// pgnComment is what the search said of a position, "" without a search.
func pgnComment(p *record.Ply) string {
	var words []string
	say := func(format string, value float32) {
		if value == value {
			words = append(words, fmt.Sprintf(format, value))
		}
	}
	say("q=%+.3f", p.Root.Q)
	say("d=%.2f", p.Root.D)
	say("m=%.0f", p.Root.M)
	if p.Visits > 0 {
		words = append(words, fmt.Sprintf("n=%d", p.Visits))
	}
	return strings.Join(words, " ")
}
