package cycle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

// TestStatusOfRun reads the page of a run of two real cycles, as text and as JSON.
func TestStatusOfRun(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	s, err := Run(t.Context(), Options{Effective: resolve(t, root, "--cycles=2 --required-candidate-win-prop=0"), Command: "test", Version: "test", Log: logTo(t.Output())})
	if err != nil || s.Cycles != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	status, err := ReadStatus(t.Context(), root)
	if err != nil || len(status.Warnings) > 0 {
		t.Fatalf("%v, warnings %q", err, status.Warnings)
	}
	at, _, err := trained(run.NewDir(root, "main", "run", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	if status.Job != "run" || status.Loop.Cycles != 2 || status.Loop.Games != s.Games || status.Nets.Accepted != 2 || status.Nets.Newest != s.Net ||
		status.Rows.Samples != at.Samples || at.Samples < 64 || status.Nets.Gate == nil || status.Nets.Gate.Candidate != s.Net {
		t.Errorf("status %+v, nets %+v, rows %+v", status.Loop, status.Nets, status.Rows)
	}
	sum := int64(0)
	for _, n := range status.Disk.Parts {
		sum += n
	}
	if sum != status.Disk.Used || status.Disk.Parts["selfplay"] == 0 || status.Disk.Free == 0 ||
		status.Disk.Keep != fsx.DefaultReserve.Of(fsx.Space{Total: status.Disk.Total})+replay.ChunkBytes {
		t.Errorf("disk %+v", status.Disk)
	}
	if err := os.Link(filepath.Join(root, run.CyclesName), filepath.Join(root, "models", "second name")); err != nil {
		t.Log("no hard links here: ", err)
	} else if again, err := readDisk(root); err != nil || again.Used != status.Disk.Used {
		t.Errorf("%v, with a second name of a file %d bytes, before %d", err, again.Used, status.Disk.Used)
	}
	if !slices.ContainsFunc(status.Ratings, func(r RatingStatus) bool { return r.Name == s.Net && r.Games > 0 }) {
		t.Errorf("ratings %+v", status.Ratings)
	}
	var text strings.Builder
	if err := status.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"done: 2 cycles done (--cycles 2)", " of work\n", s.Net + " is the newest; 2 accepted, 0 rejected", "last gate", "samples for each row of self-play",
		"of a cycle is neither playing, training nor matching", "processes  none", "raise the limit to go on: --cycles"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, text.String())
		}
	}
	data, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var again Status
	if err := json.Unmarshal(data, &again); err != nil || again.Loop.Stopped != status.Loop.Stopped || again.Nets.Newest != s.Net {
		t.Errorf("%v, JSON %s", err, data)
	}
	// The end of the run has the same shares of its time as the page.
	var end strings.Builder
	if err := s.Write(&end); err != nil {
		t.Fatal(err)
	}
	for _, line := range status.Loop.times() {
		if !strings.Contains(line, "%") || !strings.Contains(end.String(), line) || !strings.Contains(text.String(), line) {
			t.Errorf("%q is not in the page or not in the summary:\n%s", line, end.String())
		}
	}
	// What was settled is what the stages used: the run does not see another
	// configuration at each stage.
	info, _, err := run.ReadRunInfo(root)
	if err != nil || info.Starts != 1 {
		t.Errorf("%d starts are written down, want 1: %v", info.Starts, err)
	}
	// As it was when its second self-play, and its first one, were interrupted behind their last game.
	path := filepath.Join(root, run.CyclesName)
	if err := os.Remove(run.LastCycleFile(root)); err != nil { // written after the lines that go
		t.Fatal(err)
	}
	for cycles := int64(1); cycles >= 0; cycles-- {
		journal := filetest.Read(t, path)
		lines := strings.SplitAfter(string(journal), "\n")
		begin := slices.IndexFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, fmt.Sprintf(`{"cycle":%d,"stage":"selfplay","event":"begin"`, cycles+1))
		})
		write(t, path, strings.Join(lines[:begin+1], ""))
		status, err := ReadStatus(t.Context(), root)
		if err != nil || len(status.Warnings) > 0 || status.Loop.Cycles != cycles || cycles == 1 && status.Loop.Games+status.Loop.MoreGames != s.Games ||
			status.Loop.MoreGames < 12 || status.Loop.MoreWorked <= 0 || status.Loop.MoreWorked > 60 {
			t.Fatalf("interrupted in cycle %d: %v, %+v of %d games", cycles+1, err, status.Loop, s.Games)
		}
		text.Reset()
		if err := status.Write(&text); err != nil || !strings.Contains(text.String(), fmt.Sprintf("; and %d games, ", status.Loop.MoreGames)) ||
			cycles == 0 && strings.Contains(text.String(), "%") {
			t.Errorf("interrupted in cycle %d: %v, page\n%s", cycles+1, err, text.String())
		}
	}
}

// TestTrainingsBesideLoop: trainings of other sizes over the games of a loop, whose nets never
// play, stand beside its own on the page. The loop goes on with its own.
func TestTrainingsBesideLoop(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	s, err := Run(t.Context(), Options{Effective: resolve(t, root, "--cycles=1 --required-candidate-win-prop=0"), Command: "test", Version: "test", Log: logTo(t.Output())})
	if err != nil {
		t.Fatal(err)
	}
	before := filetest.Read(t, run.Dir{Root: root}.ConfigFile())
	for name, more := range map[string]string{"wide": "--net=12x1 --export-mode=extra --steps=24", "only": "--net=16x1 --export-mode=trainonly --steps=8"} {
		e, err := runtest.ResolveText(root, "--source=shuffled --samples-per-epoch=32 --batch-size=8 --training-name="+name+" "+more)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := train.Train(t.Context(), train.Options{Training: setup.TrainingOf(e), Command: "test", Version: "test", Log: logTo(t.Output())}); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := os.ReadFile(run.Dir{Root: root}.ConfigFile()); err != nil || string(after) != string(before) {
		t.Errorf("the run's configuration is another training's: %v", err)
	}
	own, _, err := trained(run.NewDir(root, "main", "run", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	status, err := ReadStatus(t.Context(), root)
	if err != nil || len(status.Warnings) > 0 || len(status.Trainings) != 3 || status.Rows.Samples != own.Samples {
		t.Fatalf("%v, warnings %q, trainings %+v, %d samples", err, status.Warnings, status.Trainings, status.Rows.Samples)
	}
	for i, want := range []TrainingStatus{{Name: "main", Steps: own.Step, Samples: own.Samples, Nets: 1, Newest: s.Net},
		{Name: "only", Arch: "16x1", Steps: 8, Samples: 64}, {Name: "wide", Arch: "12x1", Steps: 24, Samples: 192, Nets: 6, Newest: "run-wide-s192-d"}} {
		got := status.Trainings[i]
		if got.Name != want.Name || !strings.HasPrefix(got.Arch, want.Arch) || got.Steps != want.Steps || got.Samples != want.Samples || got.AtWork ||
			got.Nets != want.Nets || !strings.HasPrefix(got.Newest, want.Newest) || got.Losses["policy_loss"] == 0 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	var text strings.Builder
	if err := status.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"trainings  main: ", "only: 16x1", "wide: 12x1", "24 steps, 192 samples", "6 nets, the newest run-wide-s192-d", "policy loss "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, text.String())
		}
	}
	// At work, each is named.
	status.Processes = []Process{{Role: "trainer-main", Page: []byte(`{"step": 8}`)}, {Role: "trainer-wide", Page: []byte(`{"losses": {"policy_loss": 1.5}, "rates": {"rows_s": 99}}`)}}
	status.Progress, status.Trainings = nil, nil
	if err := status.readTrainings(); err != nil || !status.Trainings[2].AtWork || status.Trainings[2].Steps != 24 || status.Trainings[2].Losses["policy_loss"] != 1.5 || status.Trainings[2].Rate != 99 || status.Trainings[1].AtWork {
		t.Errorf("%v, trainings %+v", err, status.Trainings)
	}
	// The trainer's own players take nets that are in no file; one that only trains has none.
	for _, c := range [][2]string{{`"net": "run-main-s99999-d9"`, s.Net}, {`"net": "run-main-s99999-d9", "episodes": 7`, "run-main-s99999-d9"}, {`"net": "run-main-s1-d9", "episodes": 7`, "run-main-s99999-d9"}} {
		status.Processes[0].Page = []byte(`{"losses": {"policy_loss": 1.5}, ` + c[0] + `}`)
		if err := status.readTrainings(); err != nil || status.Nets.Newest != c[1] {
			t.Errorf("%v, with %s the newest net is %s, want %s", err, c[0], status.Nets.Newest, c[1])
		}
	}
	status.Trainings = status.Trainings[len(status.Trainings)-3:] // of the last reading
	text.Reset()
	if err := status.Write(&text); err != nil || !strings.Contains(text.String(), "run-main-s99999-d9 playing;") || strings.Count(text.String(), "in checkpoints") != 2 || !strings.Contains(text.String(), "for each row) in checkpoints, policy loss 1.5") {
		t.Errorf("%v: steps of the trainings at work are not told to be those of its checkpoints:\n%s", err, text.String())
	}
	alone := Status{Trainings: []TrainingStatus{{Name: "main", AtWork: true}}}
	if err := alone.Write(&text); err != nil || !strings.Contains(text.String(), "0 steps, 0 samples (in checkpoints)") {
		t.Errorf("%v, one training:\n%s", err, text.String())
	}
	if status.addProgress(nil); len(status.Progress) != 2 || status.Progress[0].What != "training main" || status.Progress[1].What != "training wide" {
		t.Errorf("progress %+v", status.Progress)
	}
	if next, err := setup.OfLoop(resolve(t, root, "")); err != nil || next.Config.GetTraining().GetTrainingName() != "main" || next.Config.GetModel().GetArch().GetConvTower().GetFilters() != 8 {
		t.Errorf("the loop would go on with %v, %v", next.Config.GetTraining(), err)
	}
}

// TestStatusOfNothing: a run has a page from its first moment; an empty directory, a file and nothing have none.
func TestStatusOfNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadStatus(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is not a run directory (no run.json)") {
		t.Errorf("an empty directory: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil { // as at a run's first moment
		t.Fatal(err)
	}
	s, err := ReadStatus(t.Context(), dir)
	if err != nil || len(s.Warnings) > 0 || s.Loop != nil || s.Nets.Newest != "random" {
		t.Errorf("%+v, %v", s, err)
	}
	var text strings.Builder
	if err := s.Write(&text); err != nil || !strings.Contains(text.String(), "nothing is trained yet") || strings.Contains(text.String(), "playing") || !strings.Contains(text.String(), "0 accepted") {
		t.Errorf("%v, page:\n%s", err, text.String())
	}
	write(t, filepath.Join(dir, "file"), "")
	for _, path := range []string{filepath.Join(dir, "file"), filepath.Join(dir, "nothing")} {
		if _, err := ReadStatus(t.Context(), path); err == nil {
			t.Errorf("%s has a status", path)
		}
	}
	if _, err := ReadStatus(t.Context(), filepath.Join(dir, "nothing")); err == nil || !strings.Contains(err.Error(), "is not a run directory (no run.json)") {
		t.Errorf("what is not there: %v", err)
	}
}

// TestStatusDamaged: what cannot be read is a warning, and the rest is shown.
func TestStatusDamaged(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, run.CyclesName), "nonsense\n")
	write(t, filepath.Join(dir, "run.json"), "{")
	if err := os.Mkdir(filepath.Join(dir, "models"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "models", "a-main-s1-d1.safetensors"), "")
	s, err := ReadStatus(t.Context(), dir)
	if err != nil || len(s.Warnings) < 2 || s.Nets.Accepted != 1 || s.Nets.Newest != "a-main-s1-d1" {
		t.Errorf("%v, warnings %q, nets %+v", err, s.Warnings, s.Nets)
	}
}

// TestLimits: each situation names its flag.
func TestLimits(t *testing.T) {
	trained := func(up, done float64) map[Stage]Entry {
		return map[Stage]Entry{Train: {Stage: Train, Event: End, Figures: map[string]float64{FigureFrom: 100, FigureSamples: 100 + done, FigureUpTo: up}}}
	}
	for _, c := range []struct {
		name   string
		change func(*Status, *State)
		want   string // a flag, or "" for no limit
	}{
		{"nothing", func(*Status, *State) {}, ""},
		{"few rows", func(s *Status, _ *State) { s.Rows.Have, s.Rows.Need = 10, 20 }, "--min-rows"},
		{"full disk", func(s *Status, _ *State) { s.Disk.Free = s.Disk.Keep }, "--max-gib"},
		{"disk fills", func(s *Status, _ *State) { s.Disk.Free = s.Disk.Keep + 1 }, "--max-gib"},
		{"stopped", func(s *Status, _ *State) { s.Loop.Stopped = "enough" }, "--cycles"},
		{"candidates", func(s *Status, _ *State) { s.Nets.Waiting = 2 }, "--gate-games"},
		{"self-play", func(s *Status, _ *State) { s.Loop.Shares = map[Stage]float64{SelfPlay: 0.6} }, "--mcts-simulations"},
		{"training", func(s *Status, _ *State) { s.Loop.Shares = map[Stage]float64{Train: 0.6} }, "--samples-per-cycle"},
		{"gatekeeper", func(s *Status, _ *State) { s.Loop.Shares = map[Stage]float64{Gatekeeper: 0.4} }, "--gate-visits"},
		{"rating", func(s *Status, _ *State) { s.Loop.Shares = map[Stage]float64{Rating: 0.4} }, "--rating-games"},
		{"overhead", func(s *Status, _ *State) { s.Loop.Overhead = 0.06 }, "--keep-target-rows"},
		{"bucket", func(_ *Status, st *State) { st.Last = trained(1000, 500) }, "--max-train-bucket-per-new-data"},
		{"samples", func(_ *Status, st *State) { st.Last = trained(1000, 1000) }, "--samples-per-cycle"},
	} {
		s := &Status{Loop: &LoopStatus{}, Disk: DiskStatus{Free: 1 << 40, Keep: 1 << 30}}
		st := NewState(nil)
		c.change(s, st)
		all := limits(s, st)
		found := c.want == "" && len(all) == 0
		for _, l := range all {
			found = found || slices.Contains(l.Flags, c.want)
		}
		if c.name == "disk fills" && !strings.HasPrefix(all[0].What, "soon the disk: ") {
			t.Errorf("%s: limits %+v", c.name, all)
		}
		if !found {
			t.Errorf("%s: limits %+v, want %q", c.name, all, c.want)
		}
		for _, l := range all {
			checkFlags(t, l.Flags)
		}
	}
}

// checkFlags wants flags that some command has: what the page tells can be done.
func checkFlags(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		found := name == "--poll" // of chessbrain export
		for _, v := range config.NewFlagSet(config.RunGroups...).Values() {
			found = found || "--"+v.Flag().Name == name
		}
		if !found {
			t.Errorf("chessbrain run has no flag %s", name)
		}
	}
}
