package pipeline

import (
	"fmt"
	"path/filepath"
)

// DefaultExisting is where a shuffle for all runs of a directory lies.
func DefaultExisting(base string) string { return filepath.Join(base, "processed", "shuffled") }

// Plan is the steps of a run with their directories, none of them done.
func Plan(o Options) []StepState {
	var steps []StepState
	for _, step := range AllSteps() {
		if o.runs(step) {
			steps = append(steps, StepState{Step: step, Dir: o.Dir(step)})
		}
	}
	return steps
}

// Describe says in a few words what a step would do.
func Describe(o Options, step string) string {
	switch step {
	case SelfPlay:
		search := "PUCT"
		if o.Candidates > 0 {
			search = fmt.Sprintf("Gumbel, %d candidates", o.Candidates)
		}
		return fmt.Sprintf("%d games by %d workers, %d visits (%s), seed %d", o.NumGames, o.NumWorkers, o.Visits, search, o.seed())
	case Preprocess:
		return fmt.Sprintf("games of %s without doubles, %d a file", o.games(step), o.ChunkSize)
	case Process:
		return fmt.Sprintf("positions %s of %s", o.Selector, o.games(step))
	case Shuffle:
		return fmt.Sprintf("rows of %s in about %d files", o.games(step), o.Buckets)
	}
	return fmt.Sprintf("at most %d samples", o.MaxSamples)
}
