package tools

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// validations returns the validation events of a metrics file.
func validations(t *testing.T, dir string) (events []*monitor.Validation) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, monitor.MetricsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := monitor.Replay(f, func(e monitor.Event) error {
		if v, ok := e.(*monitor.Validation); ok {
			events = append(events, v)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return events
}

// On the validation games, on as many rows, eval gives bit for bit what the run
// itself has logged at that checkpoint.
func TestEvalIsTheRunsValidation(t *testing.T) {
	dir := sharedRun(t)
	compared := 0
	for _, v := range validations(t, filepath.Join(dir, "metrics", "toy")) {
		if v.Weights != monitor.WeightsRaw || v.Step != 24 {
			continue
		}
		s := openRun(t, dir)
		rows := openRows(t, s, Validation)
		r, err := Eval(context.Background(), s, rows, EvalOptions{Batches: (v.Rows + 3) / 4})
		if err != nil {
			t.Fatal(err)
		}
		if r.Rows != v.Rows || r.Games != v.Games || r.Step != 24 {
			t.Fatalf("%d rows of %d games at step %d, logged %d of %d", r.Rows, r.Games, r.Step, v.Rows, v.Games)
		}
		for _, l := range r.Losses {
			if l.Mean != v.Losses[l.Metric] || l.StdErr != v.StdErrs[l.Metric] {
				t.Errorf("%s: %v +- %v, logged %v +- %v", l.Metric, l.Mean, l.StdErr, v.Losses[l.Metric], v.StdErrs[l.Metric])
			}
			compared++
		}
		if r.PolicyAccuracy != v.PolicyAcc || r.LegalEntropy != v.LegalEntropy {
			t.Errorf("accuracy %v, logged %v", r.PolicyAccuracy, v.PolicyAcc)
		}
	}
	if compared < 4 {
		t.Errorf("only %d losses compared", compared)
	}
}

// The losses are those that float64 arithmetic finds from the answers of the net:
// policy cross entropy, WDL cross entropy against half the result and half the
// root's value, Huber of plies/20 with delta 0.5. Tolerance: fp32 answers.
func TestEvalReference(t *testing.T) {
	dir := sharedRun(t)
	s := openRun(t, dir)
	rows := openRows(t, s, dir)
	d, err := NewDump(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Eval(context.Background(), s, rows, EvalOptions{Keep: d.Keep, BatchSize: 7})
	if err != nil {
		t.Fatal(err)
	}
	if r.Rows != rows.window.Rows() || r.Rows != d.rows || r.Rows < 50 {
		t.Fatalf("%d rows of %d, %d dumped", r.Rows, rows.window.Rows(), d.rows)
	}
	var policy, value, moves, weights, moveWeights float64
	for b, i := range d.all {
		w := float64(b.Weight[i])
		weights += w
		for k, p := range b.PolicyOf(i) {
			if p > 0 {
				policy -= w * float64(p) * math.Log(float64(b.PriorOf(i)[k]))
			}
		}
		res, root := b.Targets[i][encoding.TargetResult], b.Targets[i][encoding.TargetRoot]
		q, draw := float64(res.Q+root.Q)/2, float64(res.D+root.D)/2
		for k, p := range [3]float64{(1 - draw + q) / 2, draw, (1 - draw - q) / 2} {
			if p > 0 {
				value -= w * p * math.Log(float64(b.WDL[i][k]))
			}
		}
		x := math.Abs(float64(b.M[i]-res.M)) / 20
		if x != x { // the game was cut
			continue
		}
		moveWeights += w
		if x <= 0.5 {
			moves += w * x * x / 2
		} else {
			moves += w * 0.5 * (x - 0.25)
		}
	}
	if moveWeights == 0 || moveWeights == weights {
		t.Errorf("of weights %v, %v are of games that were not cut", weights, moveWeights)
	}
	for i, want := range []float64{policy / weights, value / weights, moves / moveWeights} {
		if got := float64(r.Losses[i].Mean); !(math.Abs(got-want) < 2e-4) {
			t.Errorf("%s is %v, float64 says %v", r.Losses[i].Metric, got, want)
		}
	}
}

// Averaged weights, one checkpoint by its path, and RUN@STEP.
func TestSubjects(t *testing.T) {
	dir := sharedRun(t)
	raw := openRun(t, dir+"@12")
	if raw.Checkpoint.Manifest.Step != 12 || raw.Run != dir || raw.Effective.Config.GetTraining().GetBatchSize() != 4 {
		t.Errorf("%+v", raw)
	}
	again := openRun(t, raw.Checkpoint.Path)
	if again.Run != dir || again.Net.ID() != raw.Net.ID() {
		t.Errorf("by its path: run %q, net %s", again.Run, again.Net.ID())
	}
	swa, err := OpenRun(dir, SubjectOptions{Average: true})
	if err != nil || swa.Net.ID() == openRun(t, dir).Net.ID() || swa.Weights != monitor.WeightsSWA {
		t.Errorf("average: %v", err)
	}
	if _, err := OpenRun(dir+"@0", SubjectOptions{Average: true}); !isInput(err) || !strings.Contains(err.Error(), "no averaged weights") {
		t.Errorf("no average: %v", err)
	}
}

func TestRowsRefused(t *testing.T) {
	dir := sharedRun(t)
	s := openRun(t, dir)
	alone := NewSubject("net", s.Net, s.Effective)
	empty := t.TempDir()
	for name, c := range map[string]struct {
		s    *Subject
		data string
		say  string
	}{
		"nothing":       {s, "", "no data"},
		"no run":        {alone, Validation, "belongs to no run"},
		"too early":     {openRun(t, dir+"@0"), Validation, "before there were any"},
		"not there":     {s, filepath.Join(empty, "none"), "no such file"},
		"empty":         {s, empty, "holds no *.gz, *.tar or *.games"},
		"no data":       {s, filepath.Join(dir, "metrics"), "holds no *.gz, *.tar or *.games"},
		"no loader":     {s, Loader, "no stages"},
		"a file, a net": {s, filepath.Join(dir, "run.json"), "neither a Leela chunk"},
	} {
		r, err := OpenRows(context.Background(), c.s, c.data)
		var coded interface{ ExitCode() int }
		if err == nil || !errors.As(err, &coded) || coded.ExitCode() != 2 || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
}
