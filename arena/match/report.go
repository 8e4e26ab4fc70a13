package match

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/record"
)

// Report is what a match came to; its figures are player 1's.
type Report struct {
	Players   [2]*Player        `json:"players"`
	Games     int               `json:"games"` // asked for
	Seed      uint64            `json:"seed"`
	Workers   int               `json:"workers"`
	Precision string            `json:"precision"`
	Seconds   float64           `json:"seconds"`
	SPRT      *arena.SPRTReport `json:"sprt,omitempty"`
	arena.Summary

	Interrupted *Interrupted `json:"-"` // nil of a match that came to its end
}

// Write prints the report as text.
func (r *Report) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	for i, p := range r.Players {
		row(fmt.Sprintf("player %d", i+1), "%s", p)
	}
	played := r.Count.Games()
	row("games", "%d of %d, seed %d, %.1f s", played, r.Games, r.Seed, r.Seconds)
	if played > 0 {
		row("result", "+%d =%d -%d, %.1f points (%.1f %%)", r.Wins, r.Draws, r.Losses, r.Points(), 100*r.Points()/float64(played))
		row("as white", "+%d =%d -%d", r.White.Wins, r.White.Draws, r.White.Losses)
		row("as black", "+%d =%d -%d", r.Black.Wins, r.Black.Draws, r.Black.Losses)
	}
	if e := r.Estimate; e.Pairs > 0 {
		p := r.Pentanomial
		row("pairs", "%d: 0 points %d, 1/2 %d, 1 %d, 3/2 %d, 2 %d", e.Pairs, p[0], p[1], p[2], p[3], p[4])
		row("Elo", "%+.1f, 95 %% interval %+.1f to %+.1f, LOS %.2f %%", e.Elo, e.Low, e.High, 100*e.LOS)
	}
	if r.SPRT != nil {
		row("SPRT", "%s", r.SPRT)
	}
	if played > 0 {
		row("ends", "%s", record.EndCounts(r.Ends))
		row("length", "%.1f plies a game", r.MeanPlies)
	}
	return w.Flush()
}

// progressEvery is the least time between two lines of progress.
const progressEvery = 10 * time.Second

// tellProgress says after the first game, and now and then, how far a match is,
// and what a player did that failed.
func tellProgress(tell func(format string, args ...any)) func(*arena.Game, arena.Progress) {
	var shown time.Time
	return func(g *arena.Game, p arena.Progress) {
		if g.End.Failed() {
			tell("game %d: %s: %s", g.Number+1, g.End, g.Note)
		}
		if time.Since(shown) < progressEvery {
			return
		}
		shown = time.Now()
		tell("%d of %d games, player 1 has %.1f points (%.1f %%)", p.Games(), p.Total, p.Points(), 100*p.Points()/float64(p.Games()))
	}
}
