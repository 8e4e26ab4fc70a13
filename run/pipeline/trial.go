package pipeline

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
	"github.com/chessbrain/chessbrain/trainer"
)

// Result is what became of a trial.
type Result struct {
	Trial
	Status  string  `json:"status"` // done, diverged, or to do
	Steps   int64   `json:"steps"`
	Samples int64   `json:"samples"`
	Rows    int     `json:"validation_rows"`
	Loss    float64 `json:"loss"` // policy and value loss on the validation rows: what trials are compared by
	Policy  float64 `json:"policy_loss"`
	Value   float64 `json:"value_loss"`
	Moves   float64 `json:"moves_left_loss"`
	Correct float64 `json:"policy_accuracy"`
	Seconds float64 `json:"seconds"` // of the start that finished it
	Net     string  `json:"net"`
	Reason  string  `json:"reason,omitempty"` // why it diverged
}

const (
	TrialDone     = "done"
	TrialDiverged = "diverged"
	TrialToDo     = "to do"
)

// one trains and measures a trial.
func (s *sweep) one(ctx context.Context, r *Result) error {
	made, err := shuffle.ReadManifest(fsx.OS, filepath.Join(s.data, prepare.MixName(pinned)))
	if err != nil {
		return err
	}
	e, err := s.config(r.Trial, s.data, 1, made.Validation)
	if err == nil {
		e, err = s.config(r.Trial, s.data, setup.TrainingOf(e).StepsFor(s.table.Samples), made.Validation)
	}
	if err != nil {
		return err
	}
	t := setup.TrainingOf(e)
	s.Log.Info("trial begins", "trial", r.Name, "steps", t.Steps)
	began := time.Now()
	summary, err := train.Train(ctx, train.Options{Training: t, Command: s.Command, Version: s.Version, Log: s.Log.With("trial", r.Name), Progress: s.Progress})
	switch {
	case errors.Is(err, trainer.ErrNonFinite) || errors.Is(err, train.ErrGradients):
		r.Status, r.Reason = TrialDiverged, err.Error()
	case err != nil:
		return err
	default:
		if err := r.measure(summary); err != nil {
			return err
		}
	}
	r.Seconds = time.Since(began).Seconds()
	return replay.WriteJSON(fsx.OS, filepath.Join(s.Results, r.Name, trialFile), r)
}

// measure takes the losses from a run's summary.
func (r *Result) measure(summary *train.Summary) error {
	if summary.Last == nil {
		return errors.New("the net could not be measured on the validation rows; the log says why")
	}
	l := summary.Last.Losses
	r.Status, r.Steps, r.Samples, r.Net, r.Rows = TrialDone, summary.Steps, summary.Samples, summary.Net, summary.Last.Rows
	r.Policy, r.Value, r.Moves = float64(l["policy_loss"]), float64(l["value_loss"]), float64(l["moves_left_loss"])
	r.Correct = float64(summary.Last.PolicyAcc)
	if r.Loss = r.Policy + r.Value; math.IsNaN(r.Loss) || math.IsInf(r.Loss, 0) {
		r.Status, r.Reason = TrialDiverged, "the losses on the validation rows are not finite"
	}
	for _, v := range []*float64{&r.Loss, &r.Policy, &r.Value, &r.Moves, &r.Correct} {
		if math.IsNaN(*v) || math.IsInf(*v, 0) {
			*v = 0 // JSON has no such number; Status says it
		}
	}
	return nil
}

// readJSON reads a file of this package's.
func readJSON(path string, v any) error {
	data, err := fsx.ReadFile(fsx.OS, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &prepare.ManifestError{Path: path, Reason: err.Error()}
	}
	return nil
}

const (
	sweepJSON = "sweep.json"
	sweepCSV  = "sweep.csv"
	trialFile = "trial.json"
	bestLink  = "best"
)

// write writes the table and the link to the best trial.
func (s *sweep) write() error {
	s.table.Best = Best(s.table.Results)
	if err := replay.WriteJSON(fsx.OS, filepath.Join(s.Results, sweepJSON), &s.table); err != nil {
		return err
	}
	err := fsx.WriteFileFunc(fsx.OS, filepath.Join(s.Results, sweepCSV), func(w io.Writer) error {
		return WriteTable(w, s.table.Grid, s.table.Results)
	})
	if err != nil || s.table.Best == "" {
		return err
	}
	return linkBest(s.Results, s.table.Best)
}

// Best is the name of the trial with the least loss, the first of equals; ""
// while none is done.
func Best(results []Result) (best string) {
	least := math.Inf(1)
	for _, r := range results {
		if r.Status == TrialDone && r.Loss < least {
			best, least = r.Name, r.Loss
		}
	}
	return best
}

// linkBest makes dir/best a link to a trial, by one rename. Something else of
// that name is not touched.
func linkBest(dir, trial string) error {
	link, temp := filepath.Join(dir, bestLink), filepath.Join(dir, ".best.tmp")
	have, err := os.Readlink(link)
	if err == nil && have == trial {
		return nil
	}
	if info, statErr := os.Lstat(link); err != nil && statErr == nil && info.Mode()&os.ModeSymlink == 0 {
		return fmt.Errorf("link the best trial: %s is there and is no link; move it away", link)
	}
	if err = os.Remove(temp); err == nil || errors.Is(err, os.ErrNotExist) {
		err = os.Symlink(trial, temp)
	}
	if err == nil {
		err = os.Rename(temp, link)
	}
	if err != nil {
		return fmt.Errorf("link the best trial: %w", err)
	}
	return fsx.SyncDir(fsx.OS, dir)
}

// WriteTable writes the results as CSV with a heading. Losses of a trial that is
// not done are empty.
func WriteTable(w io.Writer, grid []Axis, results []Result) error {
	out := csv.NewWriter(w)
	head := []string{"trial"}
	for _, a := range grid {
		head = append(head, a.Name)
	}
	head = append(head, "status", "steps", "samples", "validation_rows", "loss", "policy_loss", "value_loss", "moves_left_loss",
		"policy_accuracy", "seconds", "net", "best")
	lines, best := [][]string{head}, Best(results)
	for _, r := range results {
		line := append([]string{r.Name}, r.Values...)
		line = append(line, r.Status)
		if r.Status == TrialDone {
			line = append(line, strconv.FormatInt(r.Steps, 10), strconv.FormatInt(r.Samples, 10), strconv.Itoa(r.Rows))
			for _, v := range []float64{r.Loss, r.Policy, r.Value, r.Moves, r.Correct} {
				line = append(line, strconv.FormatFloat(v, 'f', 6, 64))
			}
		} else {
			line = append(line, make([]string, 8)...)
		}
		line = append(line, strconv.FormatFloat(r.Seconds, 'f', 1, 64), r.Net, strconv.FormatBool(r.Name == best))
		lines = append(lines, line)
	}
	return out.WriteAll(lines) // flushes
}
