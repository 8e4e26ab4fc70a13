package cycle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Limit says what holds a run up, and what changes it.
type Limit struct {
	What   string   `json:"what"`
	Change string   `json:"change"`
	Flags  []string `json:"flags"`
}

const (
	bigShare  = 0.5 // of the time: a stage that takes so much is named
	smallGate = 0.3 // the same of matches
	idleShare = 0.05
)

// limits returns what limits the run, what stops it before what slows it down.
func limits(s *Status, state *State) (all []Limit) {
	add := func(what, change string, flags ...string) { all = append(all, Limit{what, change, flags}) }
	if free, keep := s.Disk.Free, s.Disk.Keep; free < 2*keep {
		add(fmt.Sprintf("the disk: %s free, players stop at %s", size(int64(free)), size(int64(keep))), "make room, or keep less",
			"--max-gib", "--keep-game-rows", "--keep-shuffles", "--keep-checkpoints")
	}
	if s.Loop != nil && s.Loop.Stopped != "" {
		add("the run is done: "+s.Loop.Stopped, "raise the limit to go on", "--cycles", "--games", "--hours", "--elo")
		return all
	}
	if s.Rows.Need > 0 && s.Rows.Have < s.Rows.Need {
		add(fmt.Sprintf("too few rows to train: have %d, need %d", s.Rows.Have, s.Rows.Need), "wait for more games, or train on fewer",
			"--min-rows", "--games-per-cycle")
	}
	if s.Nets.Waiting > 1 {
		add(fmt.Sprintf("%d nets wait for the gatekeeper", s.Nets.Waiting), "start one, or let its matches be shorter", "--gate-games", "--gate-visits")
	}
	if n := s.Nets.ToExport; n > 1 {
		add(fmt.Sprintf("%d nets wait to be exported", n), "start chessbrain export", "--poll")
	}
	if state != nil {
		limitsOfTime(s, state, add)
		limitsOfTraining(s, state, add)
	}
	return all
}

// limitsOfTime names the stages that take most of the time.
func limitsOfTime(s *Status, state *State, add func(what, change string, flags ...string)) {
	total := state.Worked.Seconds()
	if total <= 0 || state.Cycles == 0 { // the first stages of a run are not typical
		return
	}
	percent := func(stage Stage) string { return fmt.Sprintf("%.0f %% of the time", 100*state.Stages[stage]/total) }
	share := func(stage Stage) float64 { return state.Stages[stage] / total }
	if share(SelfPlay) > bigShare {
		add("self-play takes "+percent(SelfPlay), "fewer or cheaper games a cycle, a smaller net, or more cores", "--games-per-cycle", "--mcts-simulations",
			"--cheap-simulations", "--net", "--producer-workers")
	}
	if share(Train) > bigShare {
		add("training takes "+percent(Train), "train less on each row, or play more", "--max-train-bucket-per-new-data", "--samples-per-cycle", "--games-per-cycle")
	}
	if share(Gatekeeper) > smallGate {
		add("the gatekeeper takes "+percent(Gatekeeper), "shorter or faster matches, or none", "--gate-games", "--gate-visits", "--gating")
	}
	if share(Rating) > smallGate {
		add("rating matches take "+percent(Rating), "fewer games and opponents", "--rating-games", "--rating-opponents", "--rating-visits")
	}
	if s.Loop.Overhead > idleShare {
		add(fmt.Sprintf("%.1f %% of a cycle is neither playing, training nor matching", 100*s.Loop.Overhead), "longer cycles, or a smaller window",
			"--games-per-cycle", "--keep-target-rows", "--max-rows")
	}
}

// limitsOfTraining says whether the rows or the settings bound the last training.
func limitsOfTraining(s *Status, state *State, add func(what, change string, flags ...string)) {
	last, ok := state.Last[Train]
	if !ok {
		return
	}
	if last.Event == Skip {
		add("the last training had nothing to do: "+last.Reason, "more games a cycle, or more training on each row", "--games-per-cycle", "--max-train-bucket-per-new-data")
	} else if up := last.Figures[FigureUpTo]; up > 0 {
		done := last.Figures[FigureSamples] - last.Figures[FigureFrom]
		if done < 0.99*up {
			add(fmt.Sprintf("the train bucket: %.0f of the cycle's %.0f samples were trained on", done, up), "let each new row pay for more, or play more games",
				"--max-train-bucket-per-new-data", "--games-per-cycle")
		} else {
			add(fmt.Sprintf("the cycle's samples: all %.0f were trained on", up), "allow more, if the new rows pay for it", "--samples-per-cycle")
		}
	}
	if g := s.Nets.Gate; g != nil && !g.Accepted && g.Games > 0 && s.Nets.Rejected > s.Nets.Accepted {
		add(fmt.Sprintf("most nets are rejected (%d of %d), the last one by %.1f of %d points", s.Nets.Rejected, s.Nets.Rejected+s.Nets.Accepted, g.Points, g.Games),
			"more games between two nets, another learning rate, or a milder gate", "--games-per-cycle", "--lr", "--required-candidate-win-prop")
	}
}

// size writes bytes in binary units.
func size(n int64) string { return fsx.FormatBytes(uint64(max(0, n))) }

// shares writes the time of a state's measured cycles.
func shares(s *State) string {
	text := ""
	for _, stage := range sortedStages(s.Parts) {
		text += fmt.Sprintf("%s %.1f %%, ", stage, 100*s.Parts[stage]/s.Measured)
	}
	return text + fmt.Sprintf("not playing, training or matching %.1f %%", 100*s.Overhead())
}

// partsOf returns the names of the parts of a disk's use, the largest first.
func partsOf(d DiskStatus) []string {
	return slices.SortedFunc(maps.Keys(d.Parts), func(a, b string) int {
		return cmp.Or(cmp.Compare(d.Parts[b], d.Parts[a]), cmp.Compare(a, b))
	})
}
