package train

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Summary is what a run says at its end.
type Summary struct {
	Phase    string // monitor.RunDone or RunStopped
	Episodes int64
	Target   int64 // episodes asked for
	Steps    int64
	Samples  int64
	Rows     int64 // positions played
	Results  monitor.Results
	Ends     map[string]int64
	Skipped  int64 // steps that were not finite
	Elapsed  time.Duration
	Rates    monitor.Rates // means of this process

	Untaught  []trainer.Head // heads that no row of this process's steps had a target for
	FirstStep int64          // steps taken before this process

	First, Last *monitor.Validation // of the untrained and of the newest net on the same rows; nil without validation games
	Checkpoint  string
	Net         string // file
	Metrics     string // directory
}

// summarize gathers what the run came to and measures the first and the newest
// net on the same validation rows.
func (r *training) summarize(phase string) *Summary {
	elapsed := time.Since(r.began)
	s := &Summary{
		Phase: phase, Episodes: r.state.Episodes, Target: r.players.target, Steps: r.trainer.NumSteps(), Samples: r.trainer.NumSamples(),
		Rows: r.state.Rows, Results: r.state.Results, Ends: maps.Clone(r.state.Ends), Skipped: r.trainer.NumSkipped(),
		Elapsed: elapsed, Rates: r.reporter.totals().Over(elapsed),
		Checkpoint: filepath.Join(r.dir.Checkpoints, checkpoint.Name(r.info.Job, r.saver.steps)),
		Net:        r.out.last, Metrics: r.dir.Learning,
		Untaught: r.reporter.heads.untaught(), FirstStep: r.reporter.firstStep,
	}
	// A training of a few epochs is a stage of a cycle, where the gatekeeper tells nets apart.
	if phase != monitor.RunDone || r.opt.Locked || r.cfg.Epochs.Most > 0 {
		return s
	}
	var err error
	if s.First, s.Last, err = r.reporter.compareWithFirst(context.Background()); err != nil {
		r.log.Warn("the first net could not be measured", "error", err)
	}
	return s
}

// summaryBatch bounds the memory that the untrained net takes on a GPU.
const summaryBatch = 256

// summaryRows is the most validation rows that the summary measures.
const summaryRows = 10_000

// shortRun is the number of episodes below which losses say nothing yet.
const shortRun = 50

func (s *Summary) Write(w io.Writer) error {
	var b strings.Builder
	head, took := "Done", "in "+s.Elapsed.Round(time.Second).String()
	if s.FirstStep > 0 { // the counts are of all starts, the time is not
		took = fmt.Sprintf("in all; this start took %s for %s", s.Elapsed.Round(time.Second), monitor.Count(s.Steps-s.FirstStep, "step"))
	}
	if s.Phase == monitor.RunStopped {
		head = "Stopped and saved"
	}
	if s.Target > 0 || s.Episodes > 0 {
		fmt.Fprintf(&b, "%s: %d of %s, %s, %s (%s) %s\n",
			head, s.Episodes, monitor.Count(max(s.Target, s.Episodes), "episode"), monitor.Count(s.Rows, "position"), monitor.Count(s.Steps, "step"), monitor.Count(s.Samples, "sample"), took)
		fmt.Fprintf(&b, "Results: white %d, draw %d, black %d; ends: %s\n", s.Results.White, s.Results.Draw, s.Results.Black,
			record.EndCountsOf(s.Ends, s.Results.White+s.Results.Black))
	} else {
		fmt.Fprintf(&b, "%s: %s (%s) %s\n", head, monitor.Count(s.Steps, "step"), monitor.Count(s.Samples, "sample"), took)
	}
	if s.Rates.PositionsPerSecond > 0 {
		fmt.Fprintf(&b, "Speed: %.0f positions/s, %.0f evaluations/s, mean batch %.1f, cache hits %.0f %%\n",
			float64(s.Rates.PositionsPerSecond), float64(s.Rates.EvaluationsPerSecond), float64(s.Rates.MeanBatch), 100*float64(s.Rates.CacheHitShare))
	}
	if s.Skipped > 0 {
		fmt.Fprintf(&b, "Skipped: %s for numbers that were not finite\n", monitor.Count(s.Skipped, "step"))
	}
	s.writeLearnt(&b)
	s.writeUntaught(&b)
	fmt.Fprintf(&b, "Checkpoint: %s\nNet: %s\nMetrics: %s\n",
		s.Checkpoint, cmp.Or(s.Net, "none was exported"), s.Metrics)
	_, err := io.WriteString(w, b.String())
	return err
}

// short says whether the run is too short for what its losses and heads say.
func (s *Summary) short() bool { return s.Target > 0 && s.Episodes < shortRun }

// writeLearnt says what the validation games show.
func (s *Summary) writeLearnt(b *strings.Builder) {
	if s.First != nil && s.Last != nil {
		of := ""
		if s.Last.Games > 0 {
			of = fmt.Sprintf(" of %s", monitor.Count(s.Last.Games, "game"))
		}
		fmt.Fprintf(b, "Learnt, on %s%s never trained on (untrained net -> now):\n", monitor.Count(s.Last.Rows, "position"), of)
		var worse []string
		for _, name := range []string{"policy_loss", "value_loss", "moves_left_loss"} {
			last, ok := s.Last.Losses[name]
			if !ok || math.IsNaN(float64(last)) { // no such loss, or no row had a target
				continue
			}
			first, deviation := s.First.Losses[name], max(s.First.StdErrs[name], s.Last.StdErrs[name])
			fmt.Fprintf(b, "  %-16s %.4f -> %.4f (standard error %.4f)", name, first, last, deviation)
			if last > first+2*deviation {
				worse = append(worse, name)
			}
			if name == "policy_loss" {
				fmt.Fprintf(b, "; knowing nothing costs %.4f", s.Last.LegalEntropy)
			}
			b.WriteByte('\n')
		}
		if len(worse) > 0 {
			fmt.Fprintf(b, "Worse than untrained: %s. Few games are learnt by heart: take more games, or fewer epochs\n", strings.Join(worse, ", "))
		}
	} else if s.Phase == monitor.RunDone && !s.short() {
		b.WriteString("Learnt: no validation games yet, so nothing can be said\n")
	}
	if s.short() {
		fmt.Fprintf(b, "Too short to judge: %s; try --episodes 200\n", monitor.Count(s.Episodes, "episode"))
	}
}
