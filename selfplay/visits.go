package selfplay

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/mcts"
)

// PlayoutCap is KataGo's playout-cap randomisation: most moves are searched
// cheaply, to play many games, and a few in full, to learn the policy from them.
// A cheap search has no root noise and no forced playouts and goes on with the
// reused tree; its row has weight 0 and lacks record.FullSearch.
type PlayoutCap struct {
	FullProbability  float64 // chance of a full search, [0,1]
	CheapSimulations int     // as mcts.Config.Simulations, at most a full search's; 0 = every search is full
}

// ReducedVisits saves visits on a game that is decided: after Plies searched
// plies in a row on which one side's root Q was above Q, the searches have at
// most so many simulations, and their rows weigh Weight.
type ReducedVisits struct {
	Simulations int     // as mcts.Config.Simulations; 0 = as always
	Q           float64 // in (0,1]
	Plies       int     // at least 1
	Weight      float64 // of such a row, [0,1]
}

// Odds makes one side search less in a share of the games: a side and a divisor,
// log-uniform between 1 and Factor, are drawn for the game, and the side's
// simulations and playouts are divided by it, to no less than 1. The rows'
// visits show it. With mirrored openings the second game of a pair has the same
// divisor for the other side. The results of such games are not those of equals.
type Odds struct {
	Probability float64 // share of games, [0,1]
	Factor      float64 // at least 1
}

// Age says what a Schedule counts.
type Age uint8

const (
	AgeEpisodes Age = iota // the game's ordinal
	AgeSamples             // training samples of the net with which the game began, or was gone on with after a stop
)

// Step is a part of a schedule.
type Step struct {
	Value int    // at least 1
	From  uint64 // age at which the part begins
}

// Steps is a number by age: the first step from 0 on, then ascending.
type Steps []Step

// Schedule sets what holds for a game, from its begin to its end, by age.
// Without steps the setting itself holds.
type Schedule struct {
	By          Age
	Simulations Steps // in the place of mcts.Config.Simulations
	MaxPlies    Steps // in the place of GameConfig.MaxPlies
}

// At returns the number at an age, or the given one where there are no steps.
func (s Steps) At(age uint64, without int) int {
	for i := range s {
		if s[i].From <= age {
			without = s[i].Value
		}
	}
	return without
}

// ParseSchedule reads steps such as "32@0,100@200,400@1000": 32 from age 0 on,
// 100 from 200 on, 400 from 1000 on. An empty text has no steps.
func ParseSchedule(text string) (Steps, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var steps Steps
	for i, part := range strings.Split(text, ",") {
		left, right, ok := strings.Cut(strings.TrimSpace(part), "@")
		value, err := strconv.ParseUint(left, 10, 31)
		from, err2 := strconv.ParseUint(right, 10, 64)
		if !ok || err != nil || err2 != nil {
			return nil, fmt.Errorf("schedule %q: step %d, %q, must be NUMBER@AGE such as 100@200", text, i+1, part)
		}
		steps = append(steps, Step{int(value), from})
	}
	if err := steps.check(math.MaxInt32); err != nil {
		return nil, fmt.Errorf("schedule %q: %w", text, err)
	}
	return steps, nil
}

// check names the first step that is out of order or has a value above most.
func (steps Steps) check(most int) error {
	for i, s := range steps {
		switch {
		case s.Value < 1 || s.Value > most:
			return fmt.Errorf("step %d is %d, allowed is 1 to %d", i+1, s.Value, most)
		case i == 0 && s.From != 0:
			return fmt.Errorf("the first step begins at %d, must begin at 0", s.From)
		case i > 0 && s.From <= steps[i-1].From:
			return fmt.Errorf("step %d begins at %d, not after step %d at %d", i+1, s.From, i, steps[i-1].From)
		}
	}
	return nil
}

// validateVisits checks the settings of this file.
func (c *GameConfig) validateVisits() error {
	if err := inRange([]setting{
		{"full-search probability", c.PlayoutCap.FullProbability, 0, 1},
		{"cheap simulations", float64(c.PlayoutCap.CheapSimulations), 0, math.MaxInt32},
		{"reduced simulations", float64(c.ReducedVisits.Simulations), 0, math.MaxInt32},
		{"reduced-visits q", c.ReducedVisits.Q, 0, 1},
		{"reduced-visits plies", float64(c.ReducedVisits.Plies), 0, math.MaxInt32},
		{"reduced-visits weight", c.ReducedVisits.Weight, 0, 1},
		{"odds probability", c.Odds.Probability, 0, 1},
		{"schedule age", float64(c.Schedule.By), 0, float64(AgeSamples)},
	}); err != nil {
		return err
	}
	if c.Odds.Probability > 0 && !(c.Odds.Factor >= 1 && c.Odds.Factor <= 1e6) {
		return fmt.Errorf("game settings: odds factor is %v, allowed is 1 to 1e+06", c.Odds.Factor)
	}
	if r := &c.ReducedVisits; r.Simulations > 0 && (r.Plies < 1 || r.Q <= 0) {
		return fmt.Errorf("game settings: reduced visits need at least one ply and a q above 0, have %d and %v", r.Plies, r.Q)
	}
	if err := c.Schedule.Simulations.check(math.MaxInt32); err != nil {
		return fmt.Errorf("game settings: simulations schedule: %w", err)
	}
	if err := c.Schedule.MaxPlies.check(maxGamePlies); err != nil {
		return fmt.Errorf("game settings: max plies schedule: %w", err)
	}
	if c.Search.Simulations == 0 && c.Search.Playouts == 0 && len(c.Schedule.Simulations) == 0 {
		return errors.New("game settings: neither simulations nor playouts bound a search")
	}
	return nil
}

// mode is how a position is searched.
type mode uint8

const (
	fullSearch  mode = iota
	cheapSearch      // of playout-cap randomisation
	policyPly        // the network's answer alone
)

// options decides how the next position is searched: the mode, the row's weight
// and what the search is told.
func (g *game) options() mcts.Options {
	o := mcts.Options{Limits: mcts.Limits{Simulations: g.simulations, Playouts: g.cfg.Search.Playouts}}
	g.conf.MaxNodes = g.cfg.Search.MaxNodes
	g.mode, g.weight, g.gumbelNoise = fullSearch, 1, false
	if len(g.rec.Plies) < g.policyEnd {
		g.mode, g.weight = policyPly, 0
		g.conf.MaxNodes = 1 // the root: done with its evaluation
		o.Limits = mcts.Limits{Simulations: 1}
		return o
	}
	if c := &g.cfg.PlayoutCap; c.CheapSimulations > 0 && g.kind != sidePosition && g.stream(streamCap).Float64() >= c.FullProbability {
		g.mode, g.weight = cheapSearch, 0
		o.Simulations = least(o.Simulations, c.CheapSimulations)
	}
	if g.search.History().Board().SideToMove() == g.oddsSide {
		o.Simulations, o.Playouts = divide(o.Simulations, g.oddsDivisor), divide(o.Playouts, g.oddsDivisor)
	}
	if r := &g.cfg.ReducedVisits; r.Simulations > 0 && g.decided() {
		o.Simulations = least(o.Simulations, r.Simulations)
		g.weight *= float32(r.Weight)
	}
	if g.mode == cheapSearch {
		return o
	}
	o.Noise, o.ForcedPlayouts = g.cfg.Noise, true
	if g.cfg.Search.Gumbel.Enabled {
		g.conf.Gumbel.Scale = g.cfg.Search.Gumbel.Scale * g.cfg.Temperature.At(len(g.rec.Plies))
		g.gumbelNoise = g.conf.Gumbel.Scale > 0
		o.Noise = g.gumbelNoise
	}
	return o
}

// least returns the smaller of two limits, of which a = 0 is none.
func least(a, b int) int {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// divide returns a limit divided by d >= 1; none stays none.
func divide(limit int, d float64) int {
	if limit == 0 || d <= 1 {
		return limit
	}
	return max(1, int(math.Round(float64(limit)/d)))
}

// decided reports whether one side stood above the threshold of ReducedVisits
// throughout the newest plies.
func (g *game) decided() bool {
	r, plies := &g.cfg.ReducedVisits, g.rec.Plies
	if len(plies) < r.Plies {
		return false
	}
	lowest, highest := 1.0, -1.0 // Q from the view of the side that moves now
	sign := -1.0
	for i := range r.Plies {
		p := &plies[len(plies)-1-i]
		if p.Visits == 0 {
			return false
		}
		q := sign * float64(p.Root.Q)
		lowest, highest, sign = min(lowest, q), max(highest, q), -sign
	}
	return lowest > r.Q || highest < -r.Q
}
