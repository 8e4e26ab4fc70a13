package train

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// auxiliaryLosses are what the default losses stand beside.
const auxiliaryLosses = `training {
	losses { head: POLICY kind: CROSS_ENTROPY metric: 'policy_loss' } losses { head: POLICY kind: SOFT_CROSS_ENTROPY metric: 'soft_loss' }
	losses { head: POLICY kind: OPTIMISTIC_CROSS_ENTROPY target: ROOT metric: 'optimistic_loss' }
	losses { head: VALUE kind: WDL_CROSS_ENTROPY metric: 'value_loss' } losses { head: SURVIVAL kind: BINARY_CROSS_ENTROPY metric: 'survival_loss' }
	losses { head: MATERIAL kind: HUBER metric: 'material_loss' } losses { head: REPLY kind: CROSS_ENTROPY metric: 'reply_loss' }
	losses { head: POLICY head_name: 'opponent' kind: CROSS_ENTROPY metric: 'opponent_loss' } losses { head: SHORT_TERM kind: MSE target: ROOT metric: 'short_loss' } }`

// auxiliaryTraining is a tiny training with them.
func auxiliaryTraining(t *testing.T, dir, more string) *setup.Training {
	t.Helper()
	file, err := config.Parse("losses.textproto", []byte(auxiliaryLosses))
	if err != nil {
		t.Fatal(err)
	}
	e := runtest.Resolve(t, dir, more)
	e.Config.Training.Losses = file.Config.GetTraining().GetLosses()
	return setup.TrainingOf(e)
}

// trainAuxiliary runs it to the end.
func trainAuxiliary(t *testing.T, dir, more string, readers ...monitor.Sink) error {
	t.Helper()
	var log strings.Builder
	_, err := Train(t.Context(), Options{Training: auxiliaryTraining(t, dir, more), Command: "test", Version: "test", Log: runtest.LogTo(&log), Readers: readers})
	t.Log(&log)
	return err
}

// learnt trains with the auxiliary losses and checks that each had targets and that each
// part of the head learnt.
func learnt(t *testing.T, dir, more string) {
	t.Helper()
	known := map[string]bool{}
	reader := monitor.SinkFunc(func(e monitor.Event) error {
		if e, ok := e.(*monitor.Step); ok {
			for name, loss := range e.Losses {
				known[name] = known[name] || !math.IsNaN(float64(loss))
			}
		}
		return nil
	})
	if err := trainAuxiliary(t, dir, more, reader); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"policy_loss", "soft_loss", "optimistic_loss", "value_loss", "survival_loss", "material_loss", "reply_loss", "opponent_loss", "short_loss"} {
		if !known[name] {
			t.Errorf("no row had a target of %s, of %v", name, known)
		}
	}
	bias := param(t, checkpointNet(t, dir), "auxiliary.fc2.bias")
	for _, at := range []int{nn.AuxSurvive, nn.AuxFrom, nn.AuxTo, nn.AuxMaterial, nn.AuxValue, nn.AuxError} {
		if bias[at] == 0 {
			t.Errorf("output %d of the auxiliary head is as it began", at)
		}
	}
}

// TestAuxiliaryLosses: a loss line is all that an auxiliary target needs, with own games
// and with shuffles of them that have these targets; others are refused, as is a run that
// began without the head.
func TestAuxiliaryLosses(t *testing.T) {
	games, out := t.TempDir()+"/games", t.TempDir()
	learnt(t, games, "")
	if err := trainAuxiliary(t, games, "--episodes=10"); err != nil {
		t.Errorf("going on: %v", err)
	}
	rows := "--source=shuffled --steps=6 --source-dir=" + out
	shuffleGames(t, run.Dir{Root: games}.Selfplay(), out, time.Unix(1000, 0))
	if err := trainAuxiliary(t, t.TempDir()+"/run", rows); err == nil || !strings.Contains(err.Error(), "shuffle it again with --ahead") {
		t.Errorf("rows without the targets: %v", err)
	}
	s := shuffle.DefaultSettings()
	s.Window.MinRows, s.Ahead = 1, true
	if _, err := shuffle.Run(t.Context(), shuffle.Options{InputDirs: []string{run.Dir{Root: games}.Selfplay()}, OutputDir: out, Settings: s, Now: time.Unix(2000, 0)}); err != nil {
		t.Fatal(err)
	}
	learnt(t, t.TempDir()+"/run", rows)

	if err := auxiliaryTraining(t, t.TempDir(), "--source=loader").Check(); err == nil || !strings.Contains(err.Error(), "rows of source LOADER have no targets") {
		t.Errorf("source LOADER: %v", err)
	}
	plain := t.TempDir() + "/plain"
	train(t, plain, "")
	if err := trainAuxiliary(t, plain, "--episodes=10"); err == nil || !strings.Contains(err.Error(), "this start wants 8x1-se-opponent-aux") {
		t.Errorf("a run without the head: %v", err)
	}
}
