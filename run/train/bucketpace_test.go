package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// pacedTrain trains with a pause of the test's own between two looks for rows.
func pacedTrain(t *testing.T, ctx context.Context, dir, more string, pause func(context.Context) error) (*Summary, string, error) {
	t.Helper()
	var log strings.Builder
	s, err := Train(ctx, Options{Training: setup.TrainingOf(runtest.Resolve(t, dir, more)), Command: "test", Version: "test", Log: runtest.LogTo(&log), pause: pause})
	return s, log.String(), err
}

// playAndShuffle plays a run of so many episodes and shuffles its games as of a
// time.
func playAndShuffle(t *testing.T, games, out string, episodes int, now int64) *shuffle.Manifest {
	t.Helper()
	train(t, games, fmt.Sprintf("--episodes=%d", episodes))
	return shuffleGames(t, run.Dir{Root: games}.Selfplay(), out, time.Unix(now, 0))
}

// handedOver lists the nets in toexport of a run.
func handedOver(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(run.Dir{Root: dir}.ToExport())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// epochs are the flags of a training whose epochs have ten steps of four rows.
const epochs = " --source=shuffled --samples-per-epoch=40 --export-mode=main --max-train-bucket-per-new-data=1000 --max-train-bucket-size=80 --stop-when-train-bucket-limited=true"

// TestEpochs: the first epoch is free, later ones are paid for by new rows; each
// hands a net over once; a training that is stopped in the middle of an epoch
// comes to the same net.
func TestEpochs(t *testing.T) {
	games, out := t.TempDir()+"/games", t.TempDir()
	first := playAndShuffle(t, games, out, 8, 1000)
	flags := epochs + " --source-dir=" + out
	whole, parts := t.TempDir()+"/whole", t.TempDir()+"/parts"
	name := func(dir string, samples int, m *shuffle.Manifest) string {
		return fmt.Sprintf("%s-main-s%d-d%d", filepath.Base(dir), samples, m.Range[1])
	}

	s, log := train(t, whole, flags)
	one := name(whole, 40, first)
	if s.Steps != 10 || !strings.Contains(log, "training ends") || !slices.Equal(handedOver(t, whole), []string{one}) {
		t.Fatalf("first epoch: %d steps, handed over %v, want %s\n%s", s.Steps, handedOver(t, whole), one, log)
	}
	if _, err := os.Stat(whole + "/models"); err == nil {
		t.Error("a candidate was published")
	}
	path := filepath.Join(run.Dir{Root: whole}.ToExport(), one, setup.NetFile)
	if _, meta, err := setup.ReadNetFile(path); err != nil || meta["net"] != one || meta["samples"] != "40" || meta["weights"] != "raw" {
		t.Errorf("%v, %v", meta, err)
	}

	if s, log = train(t, whole, flags); s.Steps != 10 || len(handedOver(t, whole)) != 1 {
		t.Errorf("without new rows: %d steps, %v\n%s", s.Steps, handedOver(t, whole), log)
	}

	for _, more := range []string{" --steps=4", " --steps=7", ""} {
		train(t, parts, flags+more)
	}
	if two := handedOver(t, parts); len(two) != 1 || netID(t, path) != netID(t, filepath.Join(run.Dir{Root: parts}.ToExport(), two[0], setup.NetFile)) {
		t.Errorf("an epoch in three parts: %v, or another net", two)
	}

	second := playAndShuffle(t, games, out, 16, 2000)
	if s, log = train(t, whole, flags); s.Steps != 30 || !slices.Contains(handedOver(t, whole), name(whole, 120, second)) || len(handedOver(t, whole)) != 3 {
		t.Errorf("two epochs fit into the bucket: %d steps, %v\n%s", s.Steps, handedOver(t, whole), log)
	}
}

// TestEpochLimits: a process ends after its epochs, exports after every second
// one, and DIRECT publishes as ever.
func TestEpochLimits(t *testing.T) {
	games, out := t.TempDir()+"/games", t.TempDir()
	m := playAndShuffle(t, games, out, 8, 1000)
	dir := t.TempDir() + "/run"
	flags := " --source=shuffled --samples-per-epoch=12 --source-dir=" + out
	s, log := train(t, dir, flags+" --max-epochs-this-instance=3 --epochs-per-export=2 --export-mode=extra")
	entries, err := os.ReadDir(run.Dir{Root: dir}.ToExportExtra())
	if want := fmt.Sprintf("run-main-s24-d%d", m.Range[1]); err != nil || s.Steps != 9 || len(entries) != 1 || entries[0].Name() != want {
		t.Fatalf("three epochs: %d steps, %v, want %s, %v\n%s", s.Steps, entries, want, err, log)
	}
	if s, _ = train(t, dir, flags+" --max-epochs-this-instance=1 --export-mode=trainonly"); s.Steps != 12 || s.Net != "" {
		t.Errorf("one more: %d steps, net %q", s.Steps, s.Net)
	}
	s, _ = train(t, dir, flags+" --max-epochs-this-instance=2")
	nets, err := filepath.Glob(dir + "/models/*")
	if err != nil || s.Steps != 18 || len(nets) != 2 {
		t.Errorf("two more, published: %d steps, %v, %v", s.Steps, nets, err)
	}
}

// TestExportAtEnd: with epochs_per_export 0 a training that its pace ends hands over
// one net, and one that is ended in the middle of an epoch none.
func TestExportAtEnd(t *testing.T) {
	games, out := t.TempDir()+"/games", t.TempDir()
	m := playAndShuffle(t, games, out, 8, 1000)
	dir := t.TempDir() + "/run"
	flags := " --source=shuffled --samples-per-epoch=12 --max-epochs-this-instance=2 --epochs-per-export=0 --export-mode=main --source-dir=" + out
	train(t, dir, flags+" --steps=4")
	if _, err := os.Stat(run.Dir{Root: dir}.ToExport()); err == nil {
		t.Errorf("in the middle of an epoch: handed over %v", handedOver(t, dir))
	}
	s, log := train(t, dir, flags)
	if want := fmt.Sprintf("run-main-s36-d%d", m.Range[1]); s.Steps != 9 || !slices.Equal(handedOver(t, dir), []string{want}) {
		t.Errorf("at the end: %d steps, %v, want %s\n%s", s.Steps, handedOver(t, dir), want, log)
	}
}

// TestStopAtEpochEnd: a stop during the last step of an epoch does not lose the
// epoch.
func TestStopAtEpochEnd(t *testing.T) {
	games, out := t.TempDir()+"/games", t.TempDir()
	playAndShuffle(t, games, out, 8, 1000)
	dir := t.TempDir() + "/run"
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	last := monitor.SinkFunc(func(e monitor.Event) error {
		if s, ok := e.(*monitor.Step); ok && s.Step == 10 {
			stop()
		}
		return nil
	})
	s, log, err := tryTrain(t, ctx, dir, epochs+" --source-dir="+out, last)
	if !errors.Is(err, run.ErrInterrupted) || s.Steps != 10 || len(handedOver(t, dir)) != 1 {
		t.Errorf("%v, %+v\n%s", err, s, log)
	}
}

// TestWaitsForRows: without a shuffle, and with an empty bucket, the training
// waits, says for what, and goes on when there is a newer one; a stop ends the
// wait.
func TestWaitsForRows(t *testing.T) {
	games, out := t.TempDir()+"/games", t.TempDir()
	train(t, games, "--episodes=8")
	looks := 0
	pause := func(context.Context) error {
		if looks++; looks == 2 {
			train(t, games, "--episodes=16")
		}
		shuffleGames(t, run.Dir{Root: games}.Selfplay(), out, time.Unix(1000*int64(looks), 0))
		return nil
	}
	flags := strings.ReplaceAll(epochs, "--stop-when-train-bucket-limited=true", "") + " --source-dir=" + out
	dir := t.TempDir() + "/run"
	s, log, err := pacedTrain(t, t.Context(), dir, flags+" --max-epochs-this-instance=3", pause)
	if err != nil || s.Steps != 30 || looks != 2 {
		t.Fatalf("%v, %d looks, %+v\n%s", err, looks, s, log)
	}
	for _, want := range []string{"the first shuffle in", "more rows of self-play in a newer shuffle", "--max-train-bucket-per-new-data", "train bucket filled"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q\n%s", want, log)
		}
	}

	for _, where := range []string{dir, t.TempDir() + "/fresh"} { // in the bucket's wait, and in that for the first shuffle
		ctx, stop := context.WithCancel(t.Context())
		waited := 0
		stopping := func(ctx context.Context) error {
			waited++
			stop()
			return ctx.Err()
		}
		more := flags
		if where != dir {
			more = epochs + " --source-dir=" + t.TempDir()
		}
		if _, log, err := pacedTrain(t, ctx, where, more, stopping); !errors.Is(err, run.ErrInterrupted) || waited == 0 {
			t.Errorf("stopped while it waits: %v after %d pauses\n%s", err, waited, log)
		}
	}
}

// TestNoRepeat: each row once, then a newer shuffle or the end; without any
// shuffle quit_if_no_data ends with the code of too few rows.
func TestNoRepeat(t *testing.T) {
	games, out := t.TempDir()+"/games", t.TempDir()
	m := playAndShuffle(t, games, out, 8, 1000)
	flags := " --source=shuffled --samples-per-epoch=100000 --export-mode=main --no-repeat-files=true --source-dir=" + out
	dir := t.TempDir() + "/run"
	s, log, err := pacedTrain(t, t.Context(), dir, flags+" --quit-if-no-data=true", nil)
	if err != nil || s.Samples != m.TrainRows || !strings.Contains(log, "--no-repeat-files") {
		t.Fatalf("%v: trained on %d of %d rows\n%s", err, s.Samples, m.TrainRows, log)
	}
	ctx, stop := context.WithCancel(t.Context())
	waits, rows := 0, m.TrainRows
	pause := func(ctx context.Context) error {
		if waits++; waits == 1 {
			rows += playAndShuffle(t, games, out, 16, 2000).TrainRows
			return nil
		}
		stop()
		return ctx.Err()
	}
	s, log, err = pacedTrain(t, ctx, dir, flags, pause)
	if !errors.Is(err, run.ErrInterrupted) || s.Samples != rows || waits != 2 {
		t.Errorf("%v: trained on %d of %d rows, %d waits\n%s", err, s.Samples, rows, waits, log)
	}

	empty := t.TempDir()
	_, _, err = pacedTrain(t, t.Context(), t.TempDir()+"/none", " --source=shuffled --quit-if-no-data=true --source-dir="+empty, nil)
	if none, ok := errors.AsType[*NoDataError](err); !ok || none.ExitCode() != 6 || !errors.Is(err, shuffle.ErrNone) || !strings.Contains(err.Error(), empty) {
		t.Errorf("no shuffle: %v", err)
	}
}

// TestExportOwed: a process that was killed after an epoch's checkpoint leaves its
// net to the next one, which hands it over once: not again when somebody has taken
// it away.
func TestExportOwed(t *testing.T) {
	games, out := t.TempDir()+"/games", t.TempDir()
	playAndShuffle(t, games, out, 8, 1000)
	dir := t.TempDir() + "/run"
	flags := epochs + " --swa-period=3 --source-dir=" + out
	train(t, dir, flags)
	nets := handedOver(t, dir)
	if len(nets) != 1 {
		t.Fatalf("handed over %v", nets)
	}
	net := filepath.Join(run.Dir{Root: dir}.ToExport(), nets[0])
	id := netID(t, filepath.Join(net, setup.NetFile))
	if average := netID(t, filepath.Join(net, setup.AverageFile)); average == id {
		t.Error("the average is the raw net")
	}
	if err := os.RemoveAll(net); err != nil {
		t.Fatal(err)
	}
	if train(t, dir, flags); len(handedOver(t, dir)) != 0 {
		t.Errorf("a net that was taken away came again: %v", handedOver(t, dir))
	}
	// A kill before the note, in the middle of the writing.
	d, _ := jobOf(t, dir)
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(d.ToExport(), tempOf(t, nets[0], child.Process.Pid))
	other := filepath.Join(d.ToExport(), ".run-other-s4-d4.77-1.partial")
	if err := errors.Join(os.Remove(d.HandedFile()), os.Mkdir(half, 0o777), os.Mkdir(other, 0o777)); err != nil {
		t.Fatal(err)
	}
	train(t, dir, flags)
	if got := handedOver(t, dir); !slices.Equal(got, []string{filepath.Base(other), nets[0]}) || netID(t, filepath.Join(net, setup.NetFile)) != id {
		t.Errorf("the net that was owed: %v", got)
	}
	// A kill between the net and the note.
	if err := os.Remove(d.HandedFile()); err != nil {
		t.Fatal(err)
	}
	train(t, dir, flags)
	if got := handedOver(t, dir); len(got) != 2 {
		t.Errorf("handed over again: %v", got)
	}
	filetest.Write(t, d.HandedFile(), "{")
	if _, log := train(t, dir, flags); !strings.Contains(log, "cannot be read") || !strings.Contains(log, d.HandedFile()) {
		t.Errorf("a damaged note:\n%s", log)
	}
	if got := handedOver(t, dir); len(got) != 2 { // it stands there already
		t.Errorf("handed over again: %v", got)
	}
}

// TestShuffleGone: in the middle of an epoch the shuffle is removed: the epoch goes
// on with the newest. A training without epochs refuses that.
func TestShuffleGone(t *testing.T) {
	games, out := t.TempDir()+"/games", t.TempDir()
	m := playAndShuffle(t, games, out, 8, 1000)
	paced, plain := t.TempDir()+"/paced", t.TempDir()+"/plain"
	flags := epochs + " --source-dir=" + out
	train(t, paced, flags+" --steps=4")
	train(t, plain, "--source=shuffled --steps=4 --source-dir="+out)
	newer := shuffleGames(t, run.Dir{Root: games}.Selfplay(), out, time.Unix(2000, 0))
	if err := os.RemoveAll(filepath.Join(out, m.Name)); err != nil {
		t.Fatal(err)
	}
	if s, log := train(t, paced, flags); s.Steps != 10 || !strings.Contains(log, "going on with the newest shuffle") || !strings.Contains(log, newer.Name) {
		t.Errorf("%d steps\n%s", s.Steps, log)
	}
	var gone *shuffle.GoneError
	if _, _, err := tryTrain(t, t.Context(), plain, "--source=shuffled --steps=9 --source-dir="+out); !errors.As(err, &gone) {
		t.Errorf("without epochs: %v", err)
	}
}

// TestPaceBeginsLater: a run that had no epochs gets them, and loses them again.
func TestPaceBeginsLater(t *testing.T) {
	games, out := t.TempDir()+"/games", t.TempDir()
	playAndShuffle(t, games, out, 8, 1000)
	dir := t.TempDir() + "/run"
	train(t, dir, "--source=shuffled --steps=4 --source-dir="+out)
	if s, log := train(t, dir, epochs+" --source-dir="+out); s.Steps != 14 || !strings.Contains(log, "begins its counts anew") {
		t.Errorf("%d steps\n%s", s.Steps, log)
	}
	if s, log := train(t, dir, "--source=shuffled --steps=16 --source-dir="+out); s.Steps != 16 || !strings.Contains(log, "nobody reads") {
		t.Errorf("%d steps\n%s", s.Steps, log)
	}
}

// TestPaceRefused: what the source cannot honour is no silence. A process
// that only plays may have it all: it trains nothing.
func TestPaceRefused(t *testing.T) {
	for flags, want := range map[string]string{
		"--max-train-bucket-per-new-data=4":                                             "--max-train-bucket-per-new-data: training.bucket.per_new_row = 4: has no meaning with source SELFPLAY",
		"--source=shuffled --max-train-bucket-per-new-data=4":                           "has no meaning without epochs; set training.samples_per_epoch",
		"--source=shuffled --no-repeat-files=true":                                      "training.no_repeat_files = true: has no meaning without epochs",
		"--source=dir --samples-per-epoch=100":                                          "training.samples_per_epoch = 100: has no meaning with source DIR",
		"--source=dir --quit-if-no-data=true":                                           "training.quit_if_no_data = true: has no meaning with source DIR",
		"--source=shuffled --steps-per-network=5":                                       "training.schedule.steps_per_network = 5: has no meaning with source SHUFFLED",
		"--source=loader --chunks-per-network=5":                                        "training.schedule.chunks_per_network = 5: has no meaning without steps_per_network",
		"--source=shuffled --samples-per-epoch=9 --stop-when-train-bucket-limited=true": "training.bucket.stop_when_limited = true: a bucket without a limit never limits",
	} {
		e := runtest.Resolve(t, t.TempDir(), flags)
		if err := setup.CheckConfig(e); err != nil {
			t.Errorf("%s, without a trainer: %v", flags, err)
		}
		err := setup.CheckTrains(e)
		if _, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", flags, err, want)
		}
	}
}
