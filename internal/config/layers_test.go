package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// TestRunKeepsItsValues: what a run wrote is below the file, the environment and the flags
// of the next start; what is of each start is not kept.
func TestRunKeepsItsValues(t *testing.T) {
	begun := mustResolve(t, Input{File: mustParse(t, `
		name: "a" run_dir: "elsewhere" log { quiet: true } metrics { dir: "m" addr: "127.0.0.1:1" }
		mcts { simulations: 9 } selfplay { episodes: 50 models_dir: "d" } plugins { dir: "p" sampler { name: "prioritized" } }
		loop { rating { engine: "/bin/sh" games: 6 } } model { net: "sparse64" }
		training { batch_size: 32 max_epochs_this_instance: 3 lr_rule { duration_steps: 5 lr: 0.1 transition: CONSTANT lr: 0.2 } }`)})
	path := filepath.Join(t.TempDir(), "config.textproto")
	filetest.Write(t, path, Marshal(begun.Config))
	asked := ""
	ofRun := func(e *Effective) (*File, error) { asked = e.Config.GetRunDir(); return LoadRun(path) }
	e := mustResolve(t, Input{File: mustParse(t, `training { batch_size: 64 lr: 0.5 }`), Env: env("EPISODES", "70"),
		Flags: set(t, "--run-dir", "here", "--mcts-cpuct", "2"), OfRun: ofRun})
	c := e.Config
	got := fmt.Sprintln(asked, c.GetRunDir(), c.GetName(), c.GetJobId(), c.GetMcts().GetSimulations(), c.GetMcts().GetCpuct(), c.GetSelfplay().GetEpisodes(),
		c.GetTraining().GetBatchSize(), c.GetTraining().GetLr(), len(c.GetTraining().GetLrRule()), c.GetMetrics().GetDir(),
		c.GetPlugins().GetSampler().GetName(), c.GetLoop().GetRating().GetGames(), c.GetModel().GetArch().GetSparse().GetAccumulators())
	if want := "here here a  9 2 70 64 0.5 0 m prioritized 6 64\n"; got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	got = fmt.Sprintln(c.GetLog().GetQuiet(), c.GetMetrics().GetAddr(), c.GetSelfplay().GetModelsDir(), c.GetPlugins().GetDir(), c.GetLoop().GetRating().GetEngine(),
		c.GetTraining().GetMaxEpochsThisInstance(), c.GetModel().GetNet())
	if want := "false   [] \u0020 0 \n"; strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("kept of each start: %q, want %q", got, want)
	}
	for path, want := range map[string]string{"mcts.simulations": e.run.Where("mcts.simulations"), "selfplay.episodes": "environment variable EPISODES",
		"training.batch_size": "run.textproto:1:12", "mcts.cpuct": "--mcts-cpuct", "plugins.dir": "default", "log.quiet": "default"} {
		if got := e.Origin(path); got != want {
			t.Errorf("%s is from %s, want %s", path, got, want)
		}
	}
	if want := "defaults, " + path + ", run.textproto, EPISODES, --mcts-cpuct"; e.Layers() != want {
		t.Errorf("layers %q, want %q", e.Layers(), want)
	}
	if diff := Compare(begun.Config, c); len(diff.Refused) > 0 {
		t.Errorf("refused: %v", diff.Refused)
	}
}

// TestChanged: what is not the default is all that a file needs to say.
func TestChanged(t *testing.T) {
	e := mustResolve(t, Input{File: mustParse(t, `model { net: "sparse64" } training { batch_size: 16 lr_rule { duration_steps: 5 lr: 0.1 transition: CONSTANT lr: 0.2 } }`), Flags: set(t, "--seed", "3")})
	text := string(e.Changed())
	again, err := Resolve(Input{File: mustParse(t, text)})
	if err != nil || Hash(again.Config) != Hash(e.Config) {
		t.Errorf("%v, another configuration:\n%s", err, text)
	}
	if !strings.Contains(text, "seed: 3  # --seed\n") || strings.Contains(text, "batch_size") || strings.Count(text, "\n") > 25 {
		t.Errorf("not what was changed:\n%s", text)
	}
}

// A value takes the place of a schedule that a weaker layer gave, and of no other.
func TestValueReplacesSchedule(t *testing.T) {
	file := func(text string) *File {
		f, err := Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	const both = `selfplay { simulations_schedule: "8@0" max_plies_schedule: "20@0" max_plies: 30 } mcts { simulations: 5 }`
	for _, c := range []struct {
		run, file, flags, overrides string
		sims, plies                 string // the schedules
	}{
		{file: both, sims: "8@0", plies: "20@0"},
		{file: both, flags: "--mcts-simulations=7 --max-plies=9"},
		{file: both, flags: "--mcts-simulations=7 --simulations-schedule=9@0", sims: "9@0", plies: "20@0"},
		{file: both, overrides: "selfplay.max_plies=9", sims: "8@0"},
		{run: both, file: "mcts { simulations: 7 }", plies: "20@0"},
		{run: both, file: `selfplay { max_plies: 9 max_plies_schedule: "9@0" }`, sims: "8@0", plies: "9@0"},
	} {
		in := Input{Flags: NewFlagSet(TrainGroups...)}
		if in.OfRun = nil; c.run != "" {
			in.OfRun = func(*Effective) (*File, error) { return file(c.run), nil }
		}
		if c.file != "" {
			in.File = file(c.file)
		}
		for _, word := range strings.Fields(c.flags) {
			name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
			if err := in.Flags.Lookup(name).Set(value); err != nil {
				t.Fatal(err)
			}
		}
		if c.overrides != "" {
			in.Overrides = []string{c.overrides}
		}
		e := mustResolve(t, in)
		if s := e.Config.GetSelfplay(); s.GetSimulationsSchedule() != c.sims || s.GetMaxPliesSchedule() != c.plies {
			t.Errorf("%+v: schedules %q and %q", c, s.GetSimulationsSchedule(), s.GetMaxPliesSchedule())
		}
	}
}
