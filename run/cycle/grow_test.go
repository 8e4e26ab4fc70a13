package cycle

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/verify"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// grows are flags of a loop whose net grows from 8x1 in the training of its second cycle.
const grows = "--seed=5 --required-candidate-win-prop=0 --swa-period=4 --grow=16x1@32,24x2@96"

// grownNet is the net of the newest checkpoint of a run, and that checkpoint.
func grownNet(t *testing.T, dir string) (nn.Arch, *checkpoint.Checkpoint) {
	t.Helper()
	c, err := setup.FindCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, _, err := setup.CheckpointArch(c)
	if err != nil {
		t.Fatal(err)
	}
	return a, c
}

// loopOf runs cycles of real stages and returns their log.
func loopOf(t *testing.T, dir, more string) (log string, err error) {
	t.Helper()
	var out bytes.Buffer
	_, err = Run(t.Context(), Options{Effective: resolve(t, dir, more), Command: "test", Version: "test", Log: logTo(&out)})
	return out.String(), err
}

// TestGrowingLoop: a loop goes on with larger nets where its schedule says so. A start may
// name the net that the run began with or the one that it has, and leave the schedule away.
func TestGrowingLoop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	said, err := loopOf(t, dir, grows+" --cycles=3")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if strings.Count(said, "the net grows") != 2 || !strings.Contains(said, "from=8x1-se to=16x1-se") || !strings.Contains(said, "from=16x1-se to=24x2-se") {
		t.Errorf("the log does not tell of two growths:\n%s", said)
	}
	entries, err := ReadJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	var archs []string
	for _, e := range entries {
		if e.Stage == Train && e.Event == End {
			archs = append(archs, e.Arch)
		}
	}
	if want := []string{"8x1-se", "16x1-se", "24x2-se"}; !slices.Equal(archs, want) {
		t.Errorf("nets of the cycles: %q, want %q", archs, want)
	}
	a, c := grownNet(t, dir)
	if had := c.Manifest.Info[setup.GrownKey]; a.String() != "24x2-se" || len(strings.Fields(had)) != 2 || !setup.HasAverage(c) || c.Manifest.Samples != 160 {
		t.Errorf("%s after %q with %d samples", a, had, c.Manifest.Samples)
	}
	average, err := setup.AveragedNet(c)
	if err != nil || !average.Arch.Equal(a) {
		t.Errorf("average: %v", err)
	}
	if report, err := verify.Path(t.Context(), dir); err != nil || report.NumProblems > 0 {
		t.Errorf("verify: %v, %v", report.Problems, err)
	}
	checkRated(t, dir)

	const heads = "model.arch.value_channels=32,model.arch.value_hidden=128,model.arch.moves_left_channels=8,model.arch.moves_left_hidden=128"
	for i, more := range []string{"--grow=", "--grow= --net=24x2 --override-config=" + heads, grows} {
		before := c.Manifest.Samples
		if said, err := loopOf(t, dir, more+[]string{" --cycles=4", " --cycles=5", " --cycles=6"}[i]); err != nil || strings.Contains(said, "the net grows") {
			t.Fatalf("%s: %v\n%s", more, err, said)
		}
		if a, c = grownNet(t, dir); a.String() != "24x2-se" || c.Manifest.Samples <= before {
			t.Errorf("%s: %s, %d samples", more, a, c.Manifest.Samples)
		}
	}
	info, _, err := run.ReadRunInfo(dir)
	if err != nil || info.Arch != "24x2-se" {
		t.Errorf("run.json has the net %s, %v", info.Arch, err)
	}

	files := filesBelow(t, dir)
	for more, want := range map[string]string{
		"--grow=16x1@900": "loop.grow = \"16x1@900\": net architecture: 24x2-se does not grow to 16x1-se: filters is 16, fewer than 24, blocks is 1, fewer than 2",
		"--net=32x2":      "model.arch.conv_tower.filters: 8 -> 32",
	} {
		_, err := loopOf(t, dir, more+" --cycles=7")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", more, err, want)
		}
		if now := filesBelow(t, dir); !slices.Equal(files, now) {
			t.Errorf("%s: the refused start leaves %q, there was %q", more, now, files)
		}
	}
}

// TestGrowingByElo: the training stage after a rating grows the net where the newest accepted
// one has the Elo of a step, and where it has less it does not.
func TestGrowingByElo(t *testing.T) {
	const grows = "--seed=5 --required-candidate-win-prop=0 --grow=16x1@9000elo"
	begun := filepath.Join(t.TempDir(), "run")
	if said, err := loopOf(t, begun, "--cycles=1 "+grows); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	stage := func(dir string, stage Stage) {
		t.Helper()
		if _, err := Run(t.Context(), Options{Effective: resolve(t, dir, "--cycles=2 "+grows), Command: "test", Version: "test", Log: logTo(t.Output()), Stage: stage}); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []Stage{Gatekeeper, Rating, SelfPlay, Shuffle} {
		stage(begun, s)
	}
	for elo, want := range map[float64]string{8999.9: "8x1-se", 9000: "16x1-se"} {
		dir := copyOf(t, begun)
		c, err := readCatalogue(run.Dir{Root: dir})
		if err != nil || c == nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(c.Ratings, func(r catalogue.Rating) bool { return r.Name == newestNet(run.Dir{Root: dir}) })
		if i < 0 {
			t.Fatalf("the newest net is not in the list %v", c.Ratings)
		}
		c.Ratings[i].Elo = elo
		if _, err := c.Write(fsx.OS, run.Dir{Root: dir}.Catalogue()); err != nil {
			t.Fatal(err)
		}
		stage(dir, Train)
		if a, c := grownNet(t, dir); a.String() != want || c.Manifest.Samples <= 32 {
			t.Errorf("with Elo %v: %s with %d samples, want %s", elo, a, c.Manifest.Samples, want)
		}
	}
}

// filesBelow lists the files of a run but those of locks.
func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Dir(path) != filepath.Join(dir, "locks") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestGrowRefusedBeforeAll: a first start whose schedule cannot be done makes no directory.
func TestGrowRefusedBeforeAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	_, err := loopOf(t, dir, "--grow=16x1@10,12x1@20")
	if err == nil || !strings.Contains(err.Error(), "loop.grow") || !strings.Contains(err.Error(), "16x1-se does not grow to 12x1-se: filters is 12, fewer than 16") {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory: %v", err)
	}
}

// TestKilledGrowth kills the process at events around a growth: the next start comes to the
// net and the weights of a loop that nobody killed.
func TestKilledGrowth(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "run")
	if _, err := loopOf(t, begun, "--cycles=1 "+grows); err != nil {
		t.Fatal(err)
	}
	// All but the training of the second cycle is the same in each copy.
	for _, stage := range []Stage{SelfPlay, Shuffle} {
		if _, err := Run(t.Context(), Options{Effective: resolve(t, begun, "--cycles=2 "+grows), Command: "test", Version: "test", Log: logTo(t.Output()), Stage: stage}); err != nil {
			t.Fatal(err)
		}
	}
	train := func(dir string, dies int) int {
		t.Helper()
		return startChild(t, dir, "--cycles=2 --stage=train "+grows, dies)
	}
	undisturbed := copyOf(t, begun)
	if code := train(undisturbed, 0); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	want, err := setup.CheckpointNet(newest(t, undisturbed))
	if err != nil || want.Arch.String() != "16x1-se" {
		t.Fatalf("%s, %v", want.Arch, err)
	}
	died := 0
	for dies := 1; ; dies++ {
		dir := copyOf(t, begun)
		if train(dir, dies) != -1 {
			break
		}
		died++
		if a, c := grownNet(t, dir); c.Manifest.Samples > 32 != (a.String() == "16x1-se") || c.Manifest.Samples <= 32 != (a.String() == "8x1-se") {
			t.Errorf("killed at event %d: a net %s with %d samples", dies, a, c.Manifest.Samples)
		}
		if code := train(dir, 0); code != 0 {
			t.Fatalf("killed at event %d, the next start exits with %d", dies, code)
		}
		got, err := setup.CheckpointNet(newest(t, dir))
		if err != nil || got.ID() != want.ID() {
			t.Errorf("killed at event %d: a net %s of id %s, want %s: %v", dies, got.Arch, got.ID(), want.ID(), err)
		}
		dies++
		if testing.Short() {
			dies += 4
		}
	}
	if died < 3 {
		t.Errorf("only %d starts were killed; the test says little", died)
	}
}

func newest(t *testing.T, dir string) *checkpoint.Checkpoint {
	t.Helper()
	_, c := grownNet(t, dir)
	return c
}

// copyOf copies a run into a directory of its own.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
