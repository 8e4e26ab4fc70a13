package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess/syzygy"
)

// ruleFlags are the flags that end games, or the match, early.
type ruleFlags struct {
	adjudicate arena.Adjudication
	tables     string // directories
	sprtText   string
	sprt       *arena.SPRT // nil = none
}

// bind registers the flags.
func (r *ruleFlags) bind(f *pflag.FlagSet) {
	a := &r.adjudicate
	f.IntVar(&a.ResignMoves, "resign-moves", 0, "a player loses whose score was --resign-score or worse for so many of its moves, if the opponent agrees; 0 = never")
	f.IntVar(&a.ResignScore, "resign-score", 1000, "centipawns that a player is behind")
	f.IntVar(&a.DrawMoves, "draw-moves", 0, "a game is drawn after so many moves of both players with scores within --draw-score; 0 = never")
	f.IntVar(&a.DrawScore, "draw-score", 10, "centipawns")
	f.IntVar(&a.DrawFromMove, "draw-from", 40, "move of the game from which --draw-moves counts")
	f.StringVar(&r.tables, "syzygy-path", "", "directories of Syzygy tables, separated as in PATH: they end the games that they know")
	f.StringVar(&r.sprtText, "sprt", "", "ELO0,ELO1[,ALPHA,BETA]: end the match when this test decides (default alpha and beta 0.05)")
}

// validate reads --sprt and opens the tables.
func (r *ruleFlags) validate() (err error) {
	if r.sprtText != "" {
		if r.sprt, err = parseSPRT(r.sprtText); err != nil {
			return usagef("--sprt %s: %w", r.sprtText, err)
		}
	}
	if r.tables == "" {
		return nil
	}
	tables, err := syzygy.Open(filepath.SplitList(r.tables)...)
	if err == nil {
		err = tables.Err()
	}
	if err != nil {
		return usagef("--syzygy-path %s: %w", r.tables, err)
	}
	r.adjudicate.Tablebase = tables
	return nil
}

// parseSPRT reads ELO0,ELO1[,ALPHA,BETA].
func parseSPRT(text string) (*arena.SPRT, error) {
	fields := strings.Split(text, ",")
	if len(fields) != 2 && len(fields) != 4 {
		return nil, fmt.Errorf("want ELO0,ELO1 or ELO0,ELO1,ALPHA,BETA, as in 0,10,0.05,0.05")
	}
	t := &arena.SPRT{Alpha: 0.05, Beta: 0.05}
	for i, to := range []*float64{&t.Elo0, &t.Elo1, &t.Alpha, &t.Beta}[:len(fields)] {
		v, err := strconv.ParseFloat(strings.TrimSpace(fields[i]), 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", fields[i])
		}
		*to = v
	}
	return t, t.Validate()
}

// decided returns the question whether the match may end, or nil.
func (r *ruleFlags) decided() func(arena.Progress) bool {
	if r.sprt == nil {
		return nil
	}
	return func(p arena.Progress) bool { return r.sprt.Test(p.Pairs).Decision != "" }
}

// String says for a match's log which rules end its games; "" = those of chess.
func (r *ruleFlags) String() string {
	var parts []string
	if a := &r.adjudicate; a.ResignMoves > 0 {
		parts = append(parts, fmt.Sprintf("resign=%dx%d", a.ResignScore, a.ResignMoves))
	}
	if a := &r.adjudicate; a.DrawMoves > 0 {
		parts = append(parts, fmt.Sprintf("draw=%dx%d from %d", a.DrawScore, a.DrawMoves, a.DrawFromMove))
	}
	if r.tables != "" {
		parts = append(parts, "syzygy="+r.tables)
	}
	return strings.Join(parts, ", ")
}

// sprtReport is what the test of a match came to.
type sprtReport struct {
	Elo0  float64 `json:"elo0"`
	Elo1  float64 `json:"elo1"`
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
	arena.SPRTResult
}

// report judges the games; nil without a test.
func (r *ruleFlags) report(games []arena.Game) *sprtReport {
	if r.sprt == nil {
		return nil
	}
	t := r.sprt
	return &sprtReport{t.Elo0, t.Elo1, t.Alpha, t.Beta, t.Judge(games)}
}

// String returns the line of the report.
func (s *sprtReport) String() string {
	verdict := map[string]string{
		arena.AcceptH0: fmt.Sprintf("H0 accepted, %g Elo", s.Elo0),
		arena.AcceptH1: fmt.Sprintf("H1 accepted, %g Elo", s.Elo1),
		"":             "not decided",
	}[s.Decision]
	return fmt.Sprintf("%g against %g Elo (alpha %g, beta %g): LLR %.2f of %.2f to %.2f after %d pairs, %s",
		s.Elo0, s.Elo1, s.Alpha, s.Beta, s.LLR, s.Lower, s.Upper, s.Pairs, verdict)
}
