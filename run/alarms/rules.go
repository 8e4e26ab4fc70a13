package alarms

import (
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/record"
)

// Codes of the alarms.
const (
	CodeDrawShare = "draw_share"
	CodeMaxPlies  = "max_plies_ends"
	CodeAborted   = "aborted_ends"
	CodeOneEnd    = "one_sort_of_end"
	CodeEntropy   = "policy_entropy"
	CodeOverSure  = "policy_surer_than_search"
	CodeEloFall   = "elo_fall"
	CodeNoTarget  = "no_target"
)

// Limits of the rules. They are far from what a run that learns shows: random
// nets draw most games too, but by several rules, and strong nets are sure of
// single moves, but not of all.
const (
	maxDraws    = 0.95 // share of drawn games
	maxMaxPlies = 0.5  // share of games that the limit of plies ended
	maxAborted  = 0.05 // share of games that were given up
	maxOneDraw  = 0.85 // share of games that one and the same drawing rule ended
	minEntropy  = 0.1  // policy entropy, of that of uniformly random legal moves
	minOfTarget = 0.5  // policy entropy, of that of the search's targets
)

// Games are figures of finished games.
type Games struct {
	Games int
	Draws int
	Ends  map[string]int // by record.EndReason
}

func warning(code, remedy, format string, args ...any) *monitor.Alarm {
	return &monitor.Alarm{Code: code, Severity: "warning", Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

// DrawShare says that nearly all games are drawn: nothing can be learned of
// values then.
func DrawShare(g Games) *monitor.Alarm {
	share := of(g.Draws, g.Games)
	if share < maxDraws {
		return nil
	}
	return warning(CodeDrawShare, "look at how they end; more root noise, a higher temperature or openings (--openings) make games differ",
		"%.0f %% of the last %d games are draws", 100*share, g.Games)
}

// Ends says that games end in a way that teaches little: by the limit of plies,
// given up, or nearly all by one drawing rule.
func Ends(g Games) *monitor.Alarm {
	if share := of(g.Ends[record.EndMaxPlies.String()], g.Games); share >= maxMaxPlies {
		return warning(CodeMaxPlies, "raise selfplay.max_plies, or let material or tables decide long games",
			"%.0f %% of the last %d games were ended by the limit of plies", 100*share, g.Games)
	}
	if share := of(g.Ends[record.EndAborted.String()], g.Games); share >= maxAborted {
		return warning(CodeAborted, "look at the log: a rescorer or the program fails on them",
			"%.0f %% of the last %d games were given up", 100*share, g.Games)
	}
	draws := []record.EndReason{record.EndStalemate, record.EndRepetition, record.EndFiftyMoves, record.EndMaterial}
	for _, end := range draws {
		if share := of(g.Ends[end.String()], g.Games); share >= maxOneDraw {
			return warning(CodeOneEnd, "nets that only repeat moves or shuffle need more noise, a temperature or openings",
				"%.0f %% of the last %d games ended by %s (%s)", 100*share, g.Games, end, record.EndCounts(g.Ends))
		}
	}
	return nil
}

// of returns a share, 0 of nothing.
func of(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Entropy are means over training steps, in nats. A figure that is not measured
// is 0 or NaN.
type Entropy struct {
	Steps  int
	Policy float64 // of the net
	Target float64 // of the search's targets
	Legal  float64 // of uniformly random legal moves
}

// EntropyCollapse says that the policy has collapsed: onto one move nearly
// everywhere, or far beyond what the search that it learns from is sure of.
func EntropyCollapse(e Entropy) *monitor.Alarm {
	const remedy = "lower --lr, look at the share of draws and at temperature and noise of self-play, and rate the nets against a frozen one (chessbrain ratings)"
	switch {
	case !(e.Policy >= 0):
		return nil
	case e.Legal > 0 && e.Policy < minEntropy*e.Legal:
		return warning(CodeEntropy, remedy, "the policy's entropy is %.3f nats over the last %d steps; knowing nothing is %.2f", e.Policy, e.Steps, e.Legal)
	case e.Target > 0 && e.Policy < minOfTarget*e.Target:
		return warning(CodeOverSure, remedy, "the policy's entropy is %.3f nats over the last %d steps; the search that it learns from has %.3f", e.Policy, e.Steps, e.Target)
	}
	return nil
}

// NoTarget says that a head has learnt nothing for so many steps: no row had a
// target that its losses ask for.
func NoTarget(head string, steps int) *monitor.Alarm {
	return warning(CodeNoTarget, "give its loss a target that these games have (training.losses: target, mix_target; imported games have RESULT), or a weight of 0",
		"the %s head learns nothing: no row of the last %d steps had a target for it", head, steps)
}

// Point is a net's result against a frozen opponent: Elo and the ends of its 95 %
// interval, which may be infinite.
type Point struct {
	Net            string
	Elo, Low, High float64
}

// EloFall says that the newest of the nets, which are in the order of their age,
// is weaker against an opponent that never changes than an earlier one was: their
// intervals do not touch.
func EloFall(opponent string, points []Point) *monitor.Alarm {
	if len(points) < 2 {
		return nil
	}
	newest, best := points[len(points)-1], points[0]
	for _, p := range points[:len(points)-1] {
		if p.Low > best.Low {
			best = p
		}
	}
	if !(newest.High < best.Low) {
		return nil
	}
	return warning(CodeEloFall, "look at the window, the learning rate and the policy's entropy; an earlier net can be put back into models/ with a newer time",
		"%s has %s against %s, %s had %s", newest.Net, interval(newest), opponent, best.Net, interval(best))
}

// interval is a point in words.
func interval(p Point) string {
	elo := fmt.Sprintf("Elo %+.0f", p.Elo)
	if math.IsInf(p.Elo, 0) {
		elo = "all or no points"
	}
	return fmt.Sprintf("%s (95 %%: %+.0f to %+.0f)", elo, p.Low, p.High)
}
