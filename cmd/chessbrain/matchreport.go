package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/chessbrain/chessbrain/arena"
)

// matchReport is what a match came to; its figures are player 1's.
type matchReport struct {
	Players   [2]*matchPlayer `json:"players"`
	Games     int             `json:"games"` // asked for
	Seed      uint64          `json:"seed"`
	Workers   int             `json:"workers"`
	Precision string          `json:"precision"`
	Seconds   float64         `json:"seconds"`
	SPRT      *sprtReport     `json:"sprt,omitempty"`
	arena.Summary
}

// write prints the report as text or as one JSON object.
func (r *matchReport) write(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
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
		row("ends", "%s", endCounts(r.Ends))
		row("length", "%.1f plies a game", r.MeanPlies)
	}
	return w.Flush()
}

// endCounts lists end reasons, the most frequent first.
func endCounts(ends map[string]int) string {
	names := slices.SortedFunc(maps.Keys(ends), func(a, b string) int {
		if ends[a] != ends[b] {
			return ends[b] - ends[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, ends[name])
	}
	return strings.Join(names, ", ")
}

// progressEvery is the least time between two lines of progress.
const progressEvery = 10 * time.Second

// matchProgress says after the first game, and now and then, how far a match is,
// and what a player did that failed.
type matchProgress struct {
	out    io.Writer
	games  int
	played int
	points float64
	shown  time.Time
}

// newMatchProgress begins with the games that are finished.
func newMatchProgress(out io.Writer, games int, done []arena.Game) *matchProgress {
	p := &matchProgress{out: out, games: games}
	for i := range done {
		p.count(&done[i])
	}
	return p
}

func (p *matchProgress) count(g *arena.Game) {
	p.played++
	p.points += float64(1+g.Result(0)) / 2
}

func (p *matchProgress) game(g *arena.Game) {
	p.count(g)
	if g.End.Failed() {
		fmt.Fprintf(p.out, "chessbrain: game %d: %s: %s\n", g.Number+1, g.End, g.Note)
	}
	if time.Since(p.shown) < progressEvery {
		return
	}
	p.shown = time.Now()
	fmt.Fprintf(p.out, "chessbrain: %d of %d games, player 1 has %.1f points (%.1f %%)\n",
		p.played, p.games, p.points, 100*p.points/float64(p.played))
}
