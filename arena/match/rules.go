package match

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess/syzygy"
)

// Rules end games, or the match, early.
type Rules struct {
	Adjudicate arena.Adjudication
	Tables     string // directories of Syzygy tables
	SPRT       string // ELO0,ELO1[,ALPHA,BETA]

	sprt *arena.SPRT // nil = none
}

// validate reads --sprt and opens the tables.
func (r *Rules) validate() (err error) {
	if r.SPRT != "" {
		if r.sprt, err = parseSPRT(r.SPRT); err != nil {
			return askedf("--sprt %s: %w", r.SPRT, err)
		}
	}
	if r.Tables == "" {
		return nil
	}
	tables, err := syzygy.Open(filepath.SplitList(r.Tables)...)
	if err == nil {
		err = tables.Err()
	}
	if err != nil {
		return askedf("--syzygy-path %s: %w", r.Tables, err)
	}
	r.Adjudicate.Tablebase = tables
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
func (r *Rules) decided() func(arena.Progress) bool {
	if r.sprt == nil {
		return nil
	}
	return func(p arena.Progress) bool { return r.sprt.Test(p.Pairs).Decision != "" }
}

// String says for a match's log which rules end its games; "" = those of chess.
func (r *Rules) String() string {
	var parts []string
	if a := &r.Adjudicate; a.ResignMoves > 0 {
		parts = append(parts, fmt.Sprintf("resign=%dx%d", a.ResignScore, a.ResignMoves))
	}
	if a := &r.Adjudicate; a.DrawMoves > 0 {
		parts = append(parts, fmt.Sprintf("draw=%dx%d from %d", a.DrawScore, a.DrawMoves, a.DrawFromMove))
	}
	if r.Tables != "" {
		parts = append(parts, "syzygy="+r.Tables)
	}
	return strings.Join(parts, ", ")
}

// report judges the games; nil without a test.
func (r *Rules) report(games []arena.Game) *arena.SPRTReport {
	if r.sprt == nil {
		return nil
	}
	return &arena.SPRTReport{SPRT: *r.sprt, SPRTResult: r.sprt.Judge(games)}
}
