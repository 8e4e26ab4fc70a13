package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
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
		e, err = s.config(r.Trial, s.data, setup.RowUseOf(e).StepsFor(s.table.Samples), made.Validation)
	}
	if err != nil {
		return err
	}
	s.Log.Info("trial begins", "trial", r.Name, "steps", setup.RowUseOf(e).Steps)
	began := time.Now()
	summary, err := train.Train(ctx, train.Options{Training: setup.TrainingOf(e), Command: s.Command, Version: s.Version, Log: s.Log.With("trial", r.Name), Progress: s.Progress})
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
	return prepare.WriteJSON(fsx.OS, filepath.Join(s.Results, r.Name, trialFile), r)
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
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &prepare.ManifestError{Path: path, Reason: err.Error()}
	}
	return nil
}
