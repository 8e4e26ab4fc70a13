package cycle

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run/gate"
)

// Limit says what holds a run up, and what changes it.
type Limit struct {
	What   string   `json:"what"`
	Change string   `json:"change"`
	Flags  []string `json:"flags"`
}

// rule is a limit that may hold.
type rule struct {
	holds               bool
	what, change, flags string
}

const (
	bigShare  = 0.5 // of the time: a stage that takes so much is named
	smallGate = 0.3 // the same of matches
	idleShare = 0.05
)

// limits returns what limits the run, what stops it before what slows it down.
func limits(s *Status, state *State) (all []Limit) {
	n, r, disk := s.Nets, s.Rows, s.Disk
	full := rule{disk.Free <= disk.Keep, fmt.Sprintf("the disk: %s free, players stop at %s", fsx.FormatBytes(disk.Free), fsx.FormatBytes(disk.Keep)),
		"make room, or keep less", "--max-gib --keep-game-rows --keep-shuffles --keep-checkpoints"}
	soon := full
	soon.holds, soon.what = !full.holds && disk.Free < 2*disk.Keep, "soon "+full.what
	rules := []rule{full}
	if s.Loop != nil && s.Loop.Stopped != "" {
		rules = append(rules, rule{true, "the run is done: " + s.Loop.Stopped, "raise the limit to go on", "--cycles --games --hours --elo"})
	} else {
		rules = append(rules,
			rule{r.Need > 0 && r.Have < r.Need, fmt.Sprintf("too few rows to train: have %d, need %d", r.Have, r.Need),
				"wait for more games, or train on fewer", "--min-rows --games-per-cycle"},
			rule{n.Waiting > 1, fmt.Sprintf("%d nets wait for the gatekeeper", n.Waiting), "start one, or let its matches be shorter", "--gate-games --gate-visits"},
			rule{n.ToExport > 1, fmt.Sprintf("%d nets wait to be exported", n.ToExport), "start chessbrain export", "--poll"})
		if state != nil {
			rules = append(append(rules, rulesOfTime(s)...), rulesOfTraining(n, state)...)
		}
	}
	for _, r := range append(rules, soon) {
		if r.holds {
			all = append(all, Limit{r.what, r.change, strings.Fields(r.flags)})
		}
	}
	return all
}

// rulesOfTime name the stages that take most of the time.
func rulesOfTime(s *Status) []rule {
	takes := func(stage Stage, least float64, what, change, flags string) rule {
		share := s.Loop.Shares[stage]
		return rule{share > least, fmt.Sprintf("%s %.0f %% of the time", what, 100*share), change, flags}
	}
	return []rule{
		takes(SelfPlay, bigShare, "self-play takes", "fewer or cheaper games a cycle, a smaller net, or more cores",
			"--games-per-cycle --mcts-simulations --cheap-simulations --net --producer-workers"),
		takes(Train, bigShare, "training takes", "train less on each row, or play more", "--max-train-bucket-per-new-data --samples-per-cycle --games-per-cycle"),
		takes(Gatekeeper, smallGate, "the gatekeeper takes", "shorter or faster matches, or none", "--gate-games --gate-visits --gating"),
		takes(Rating, smallGate, "rating matches take", "fewer games and opponents", "--rating-games --rating-opponents --rating-visits"),
		{s.Loop.Overhead > idleShare, fmt.Sprintf("%.1f %% of a cycle is neither playing, training nor matching", 100*s.Loop.Overhead),
			"longer cycles, or a smaller window", "--games-per-cycle --keep-target-rows --max-rows"},
	}
}

// rulesOfTraining say whether the rows or the settings bound the last training.
func rulesOfTraining(n NetStatus, state *State) []rule {
	last, trained := state.Last[Train]
	if !trained {
		return nil
	}
	skipped, up := last.Event == Skip, last.Figures[FigureUpTo]
	done := last.Figures[FigureSamples] - last.Figures[FigureFrom]
	short := done < 0.99*up
	g := cmp.Or(n.Gate, &gate.Result{Accepted: true})
	return []rule{
		{skipped, "the last training had nothing to do: " + last.Reason,
			"more games a cycle, or more training on each row", "--games-per-cycle --max-train-bucket-per-new-data"},
		{!skipped && up > 0 && short, fmt.Sprintf("the train bucket: %.0f of the cycle's %.0f samples were trained on", done, up),
			"let each new row pay for more, or play more games", "--max-train-bucket-per-new-data --games-per-cycle"},
		{!skipped && up > 0 && !short, fmt.Sprintf("the cycle's samples: all %.0f were trained on", up),
			"allow more, if the new rows pay for it", "--samples-per-cycle"},
		{!g.Accepted && g.Games > 0 && n.Rejected > n.Accepted,
			fmt.Sprintf("most nets are rejected (%d of %d), the last one by %.1f of %d points", n.Rejected, n.Rejected+n.Accepted, g.Points, g.Games),
			"more games between two nets, another learning rate, or a milder gate", "--games-per-cycle --lr --required-candidate-win-prop"},
	}
}
