package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/plugins/export"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run/setup"
)

// gamesOptions are the flags of games.
type gamesOptions struct {
	last       int
	pgn, board bool
}

func newGames() *cobra.Command {
	var o gamesOptions
	c := &cobra.Command{
		Use:   "games [RUN]",
		Short: "The newest games of a run: a line each, as PGN, or with their last position",
		Long: `Prints the newest games that a run has played: number, result, how it ended, length and net of each, the
newest last. With --pgn the games themselves, with what the search thought of each move; with --board the position
at the end of each. It changes nothing, and the run may be at work.`,
		Example: "  chessbrain games runs/a\n  chessbrain games runs/a --last 1 --board\n  chessbrain games runs/a --last 100 --pgn > a.pgn",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if o.last < 1 {
				return usagef("--last %d: want 1 or more", o.last)
			}
			dir, info, err := setup.OpenDir(runArg(args))
			if err != nil {
				return usageError{err}
			}
			var newest []*record.Game
			const longest = 600 // plies, but for few games: so many positions have as many games as are wanted
			for g, err := range replay.DirGames(c.Context(), dir.Selfplay(), int64(o.last)*longest, 0, warnings(c)) {
				if err != nil {
					return err
				}
				if newest = append(newest, g); len(newest) > o.last {
					newest = newest[1:]
				}
			}
			if len(newest) == 0 {
				return usagef("%s has no games yet", dir.Root)
			}
			out := bufio.NewWriter(c.OutOrStdout())
			for _, g := range newest {
				if err := o.write(out, g, info.Job); err != nil {
					return errors.Join(err, out.Flush())
				}
			}
			return out.Flush()
		},
	}
	c.Flags().IntVar(&o.last, "last", 10, "so many games")
	c.Flags().BoolVar(&o.pgn, "pgn", false, "as PGN, with the search's values as comments")
	c.Flags().BoolVar(&o.board, "board", false, "with the position at the end")
	return c
}

// write prints a game of a job.
func (o *gamesOptions) write(w io.Writer, g *record.Game, job string) error {
	if o.pgn {
		return export.WritePGN(w, g, job)
	}
	result := map[int8]string{1: "1-0", 0: "1/2", -1: "0-1"}[g.WhiteResult]
	if g.End == record.EndAborted {
		result = "*"
	}
	fmt.Fprintf(w, "%7d  %-3s  %-11s  %3d plies  %s\n", g.Ordinal, result, g.End, len(g.Plies), g.NetID)
	if !o.board {
		return nil
	}
	b, err := g.StartBoard()
	if err != nil {
		return err
	}
	for i := range g.Plies {
		b.Make(g.Plies[i].Move)
	}
	_, err = io.WriteString(w, diagram(&b))
	return err
}

// diagram draws a board as White sees it.
func diagram(b *chess.Board) string {
	placement, rest, _ := strings.Cut(b.FEN(), " ")
	var s strings.Builder
	for i, row := range strings.Split(placement, "/") {
		fmt.Fprintf(&s, "%11d ", 8-i)
		for _, at := range row {
			if at >= '1' && at <= '8' {
				s.WriteString(strings.Repeat(" .", int(at-'0')))
				continue
			}
			s.WriteString(" " + string(at))
		}
		s.WriteByte('\n')
	}
	mover := map[byte]string{'w': "White", 'b': "Black"}[rest[0]]
	return s.String() + strings.Repeat(" ", 13) + "a b c d e f g h   " + mover + " to move\n"
}
