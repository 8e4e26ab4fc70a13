package export

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// limits say which of a checkpoint's games are exported: the newest ones.
type limits struct {
	games int // at most so many; 0 = all
	rows  int // no more games than have so many rows; 0 = all
}

// gamesSetting is the setting "games" of exporters of games.
func gamesSetting(newest string) stage.Setting {
	return stage.Setting{Name: "games", Doc: "how many of the newest games at most; 0 = all", Default: newest, Min: 0, Max: 1e9, Whole: true}
}

// newest returns the newest games of a checkpoint, oldest first. None at all is
// an error, which names the exporter.
func newest(ctx context.Context, c *stage.Checkpoint, exporter string, limit limits) ([]*record.Game, error) {
	var kept []*record.Game
	rows := 0
	if c.Games != nil {
		for g, err := range c.Games {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, fmt.Errorf("games: %w", err)
			}
			kept = append(kept, g)
			rows += g.NumRows()
			for limit.games > 0 && len(kept) > limit.games || limit.rows > 0 && len(kept) > 1 && rows-kept[0].NumRows() >= limit.rows {
				rows -= kept[0].NumRows()
				kept[0] = nil // the list may be long
				kept = kept[1:]
			}
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("the exporter %s writes games, and there are none; export again when games were played, or name the run that has them (export-net --games DIR for others)", exporter)
	}
	return kept, nil
}

var pgnSettings = []stage.Setting{gamesSetting("1000")}

// newPGN returns the exporter of the newest games, oldest first, each as WritePGN does.
// Event is the checkpoint's metadata "job", or else the net's name. Without games there
// is an error. The net is not looked at.
func newPGN(v stage.Values) (prepare, error) {
	return func(ctx context.Context, c *stage.Checkpoint) (func(io.Writer) error, error) {
		games, err := newest(ctx, c, "pgn", limits{games: int(v.Number("games"))})
		if err != nil {
			return nil, err
		}
		event := cmp.Or(c.Metadata["job"], c.Net.Name)
		return func(w io.Writer) error {
			for _, g := range games {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := WritePGN(w, g, event); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}, nil
}

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
