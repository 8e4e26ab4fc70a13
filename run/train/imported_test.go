package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/replay/importer"
	"github.com/chessbrain/chessbrain/run/alarms"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// importGames imports so many games of three openings without any evaluation, in
// files for `train --source dir`, and returns their directory.
func importGames(t *testing.T, games int) string {
	t.Helper()
	dir := t.TempDir()
	im, err := importer.Open(t.Context(), importer.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	moves := []string{"1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 1-0", "1. d4 d5 2. c4 e6 3. Nc3 Nf6 0-1", "1. c4 c5 2. Nf3 Nf6 1/2-1/2"}
	var text strings.Builder
	for i := range games {
		fmt.Fprintf(&text, "[Round \"%d\"]\n\n%s\n\n", i+1, moves[i%len(moves)])
	}
	if err := errors.Join(im.Read(t.Context(), "games.pgn", strings.NewReader(text.String())), im.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// checkpointNet is the net of the newest checkpoint of a run.
func checkpointNet(t *testing.T, dir string) *nn.Net {
	t.Helper()
	d, _ := jobOf(t, dir)
	c, err := checkpoint.Load(fsx.OS, d.Checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	net, err := setup.CheckpointNet(c)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func param(t *testing.T, net *nn.Net, name string) []float32 {
	t.Helper()
	for _, p := range net.Params {
		if p.Name == name {
			return p.Data
		}
	}
	t.Fatalf("the net has no %s", name)
	return nil
}

// trainImported trains steps on imported games and returns the summary's text, the
// last value loss and the alarms. losses nil means the default ones.
func trainImported(t *testing.T, dir, source string, steps int, losses []*config.Loss) (summary string, valueLoss float64, told []*monitor.Alarm) {
	t.Helper()
	valueLoss = math.NaN()
	reader := monitor.SinkFunc(func(e monitor.Event) error {
		switch e := e.(type) {
		case *monitor.Step:
			valueLoss = float64(e.Losses["value_loss"])
		case *monitor.Alarm:
			told = append(told, e)
		}
		return nil
	})
	e := runtest.Resolve(t, dir, fmt.Sprintf("--source=dir --source-dir=%s --steps=%d", source, steps))
	if losses != nil {
		e.Config.Training.Losses = losses
	}
	var log, text strings.Builder
	s, err := Train(t.Context(), Options{Training: setup.TrainingOf(e), Command: "test", Version: "test", Log: runtest.LogTo(&log), Readers: []monitor.Sink{reader}})
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	if err := s.Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.String(), valueLoss, told
}

// TestImportedGamesTrainValue: games without a search have a result only, and the
// default blend of result and root value takes it.
func TestImportedGamesTrainValue(t *testing.T) {
	dir := t.TempDir()
	summary, loss, _ := trainImported(t, dir, importGames(t, 12), 8, nil)
	if math.IsNaN(loss) {
		t.Error("the value loss is not a number: no row had a target")
	}
	if bias := param(t, checkpointNet(t, dir), "value.fc2.bias"); !slices.ContainsFunc(bias, func(x float32) bool { return x != 0 }) {
		t.Error("the value head's bias is 0, as it began")
	}
	if strings.Contains(summary, "Not learnt") {
		t.Errorf("the summary says\n%s", summary)
	}
}

// TestHeadWithoutTarget: a value head that asks for what imported games lack is
// told once while it trains, and at the end of every start.
func TestHeadWithoutTarget(t *testing.T) {
	dir, source := t.TempDir(), importGames(t, 120)
	root := []*config.Loss{
		{Head: config.Loss_POLICY.Enum(), Metric: proto.String("policy_loss")},
		{Head: config.Loss_VALUE.Enum(), Kind: config.Loss_WDL_CROSS_ENTROPY.Enum(), Target: config.Loss_ROOT.Enum(), Metric: proto.String("value_loss")},
	}
	summary, loss, told := trainImported(t, dir, source, 2*untaughtSteps+20, root)
	if !math.IsNaN(loss) {
		t.Errorf("value loss %v of rows without a root value", loss)
	}
	told = slices.DeleteFunc(told, func(a *monitor.Alarm) bool { return a.Code != alarms.CodeNoTarget })
	if len(told) != 1 || told[0].Step != untaughtSteps || !strings.Contains(told[0].Message, "the value head") {
		t.Errorf("alarms %+v, want one for the value head at step %d", told, untaughtSteps)
	}
	if !strings.Contains(summary, "\nNot learnt: value (no row had a target)\n") {
		t.Errorf("the summary says\n%s", summary)
	}
	summary, _, _ = trainImported(t, dir, source, 2*untaughtSteps+25, root)
	if want := fmt.Sprintf("\nNot learnt since step %d: value (no row had a target)\n", 2*untaughtSteps+20); !strings.Contains(summary, want) {
		t.Errorf("after a restart the summary says\n%s", summary)
	}
}
