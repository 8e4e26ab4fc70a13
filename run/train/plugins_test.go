package train

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// TestUnknownStages: a name that nothing has is refused before anything is made,
// with what there is, where it was looked for, and exit code 2; so are settings. A
// dry run leaves the settings of a program to the program, which it does not start.
func TestUnknownStages(t *testing.T) {
	root := t.TempDir()
	putPlugin(t, root+"/programs", "mark", "mark")
	dirs := " --plugin-dir=" + root + "/programs"
	for _, c := range []struct {
		more, field string
		want        []string
	}{
		{"--rescorer=identity,nosuch", "plugins.rescorer[1].name", []string{"--rescorer: ", `unknown rescorer "nosuch"`, "deblunder", "syzygy", "mark", root + "/programs", "--plugin-dir"}},
		{"--sampler=nosuch", "plugins.sampler.name", []string{`unknown sampler "nosuch"`, "uniform", "mark", root + "/programs"}},
		{"--exporter=nosuch", "export.exporter", []string{`unknown exporter "nosuch"`, "safetensors"}},
		{"--source=shuffled --sampler=nosuch", "plugins.sampler.name", []string{"uniform"}},
		{"--source=dir --rescorer=nosuch", "plugins.rescorer[0].name", []string{"deblunder"}},
		{`plugins { rescorer { name: "mark" settings { key: "weight" value: "2" } } }`, "plugins.rescorer[0].name", []string{"test.textproto:", "weight", "0.01 to 1"}},
		{`plugins { rescorer { name: "mark" settings { key: "x" value: "2" } } }`, "plugins.rescorer[0].name", []string{`unknown setting "x"`, "weight"}},
		{`plugins { sampler { name: "uniform" settings { key: "x" value: "2" } } }`, "plugins.sampler.name", []string{`unknown setting "x"`}},
		{`export { settings { key: "x" value: "2" } }`, "export.exporter", []string{`unknown setting "x"`}},
	} {
		e := runtest.Resolve(t, root+"/run", c.more+dirs)
		_, trained := Train(t.Context(), Options{Training: setup.TrainingOf(e), Log: slog.New(slog.DiscardHandler)})
		errs := []error{trained}
		if dry := setup.DryRun(e, &bytes.Buffer{}); !strings.Contains(c.more, `name: "mark"`) {
			errs = append(errs, dry)
		} else if dry != nil {
			t.Errorf("%s: a dry run: %v", c.more, dry)
		}
		for _, err := range errs {
			bad, ok := errors.AsType[*config.Error](err)
			if !ok || bad.ExitCode() != 2 || bad.Field != c.field {
				t.Errorf("%s: %v", c.more, err)
				continue
			}
			for _, want := range append(c.want, "chessbrain plugins list") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %s", c.more, err, want)
				}
			}
		}
	}
	if _, err := os.Stat(root + "/run"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the run directory: %v", err)
	}
	if _, err := playBesideWith(t, t.Context(), runtest.Resolve(t, root+"/run", "--rescorer=nosuch"), 1, 1); err == nil || !strings.Contains(err.Error(), `unknown rescorer "nosuch"`) {
		t.Errorf("a process that plays: %v", err)
	}
	if err := setup.DryRunSelfPlay(runtest.Resolve(t, root+"/run", "--rescorer=nosuch"), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), `unknown rescorer "nosuch"`) {
		t.Errorf("a dry run of such a process: %v", err)
	}
}

// TestDryRunStages: a dry run and the log of a start name each stage and its
// program's hash, the log and a dry run of a built-in stage its version, too.
func TestDryRunStages(t *testing.T) {
	dir := t.TempDir() + "/run"
	putNamed(t, dir+"/plugins", "mark", "mark")
	found, err := host.Discover([]string{dir + "/plugins"})
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	e := runtest.Resolve(t, dir, "--rescorer=mark --episodes=2")
	mark := "rescorer mark 0.1 (" + dir + "/plugins/mark, SHA-256 " + found[0].SHA256 + ")"
	looked := strings.Replace(mark, " 0.1", "", 1) // nobody asked the program
	for name, dry := range map[string]func(*config.Effective, *bytes.Buffer) error{
		"train":    func(e *config.Effective, b *bytes.Buffer) error { return setup.DryRun(e, b) },
		"selfplay": func(e *config.Effective, b *bytes.Buffer) error { return setup.DryRunSelfPlay(e, b) },
	} {
		var page bytes.Buffer
		if err := dry(e, &page); err != nil || !strings.Contains(page.String(), "\nstage: "+looked+"\n") {
			t.Errorf("%s: %v\n%s", name, err, page.String())
		}
		if plays := !strings.Contains(page.String(), "\nstage: sampler uniform 1.0.0 (built in)\n"); plays != (name == "selfplay") {
			t.Errorf("%s:\n%s", name, page.String())
		}
	}
	_, log := train(t, dir, "--rescorer=mark --episodes=2")
	for _, want := range []string{"kind=rescorer name=mark version=0.1 program=" + dir + "/plugins/mark sha256=" + found[0].SHA256, `kind=sampler name=uniform version=1.0.0 program="built in"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	stages, err := openStages(t.Context(), e, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if infos := stages.Infos(); len(infos) != 3 || infos[0].String() != mark || stages.Rescorers.Name() != "mark" || stages.Sampler.Name() != "uniform" || stages.Exporter.Name() != "safetensors" {
		t.Errorf("%v", infos)
	}
	if err := errors.Join(stages.Close(), stages.Close()); err != nil {
		t.Error(err)
	}
}

// TestOnFailure: a program that fails for good ends the run, whose state is saved,
// or the run goes on without it, as configured.
func TestOnFailure(t *testing.T) {
	for _, c := range []struct {
		flag, mode string
		kind       stage.Kind
	}{{"rescorer", "dies", stage.KindRescorer}, {"sampler", "stops", stage.KindSampler}, {"exporter", "breaks", stage.KindExporter}} {
		t.Run(c.flag, func(t *testing.T) {
			dir := t.TempDir() + "/run"
			putNamed(t, dir+"/plugins", "faulty", c.mode)
			more := "--episodes=6 plugins { restarts: 2 } --" + c.flag + "="
			_, log, err := tryTrain(t, t.Context(), dir, more+"faulty")
			bad, ok := errors.AsType[*host.Error](err)
			if !ok || bad.Kind != c.kind || bad.Name != "faulty" {
				t.Fatalf("stop: %v\n%s", err, log)
			}
			if c.kind != stage.KindExporter && !errors.Is(err, host.ErrGivenUp) {
				t.Errorf("stop: %v", err)
			}
			d, _ := jobOf(t, dir)
			counted := journalIDs(t, d)
			s, log, err := tryTrain(t, t.Context(), dir, more+"faulty --on-plugin-failure=continue")
			if err != nil || s.Phase != monitor.RunDone {
				t.Fatalf("continue: %v\n%s", err, log)
			}
			checkRun(t, dir, 6, s.Steps)
			if after := journalIDs(t, d); !slices.Equal(after[:len(counted)], counted) {
				t.Errorf("games %v were counted, now %v", counted, after)
			}
			rows, sampler := rowsOfSource(t, dir)
			if rows != s.Samples || sampler != "uniform" {
				t.Errorf("%d rows handed out at the end by %s, %d trained on", rows, sampler, s.Samples)
			}
			if marks := marksBelow(t, d.Selfplay()); len(marks) != 1 || marks[1] < 6 {
				t.Errorf("games by weight of their rows: %v", marks)
			}
		})
	}
}

// TestQuarantine: a game that kills a rescorer goes on as it is and is kept; the
// others are rescored.
func TestQuarantine(t *testing.T) {
	dir := t.TempDir() + "/run"
	putNamed(t, dir+"/plugins", "deadly", "dies-at")
	l := startLive(t, dir, Options{Training: setup.TrainingOf(runtest.Resolve(t, dir, "--rescorer=deadly --episodes=8 --cohort-size=8"))})
	<-l.done
	if l.err != nil {
		t.Fatalf("%v\n%s", l.err, l.log.String())
	}
	checkRun(t, dir, 8, l.summary.Steps)
	for _, g := range gamesOf(t, run.Dir{Root: dir}.Selfplay()) {
		if mark := markOf(t, g); (mark == 1) != (g.Ordinal == 3) || mark != 1 && mark != 0.5 {
			t.Errorf("game %d has rows of weight %v", g.Ordinal, mark)
		}
	}
	kept := gamesOf(t, dir+"/quarantine/plugins")
	if len(kept) != 1 || kept[0].Ordinal != 3 || markOf(t, kept[0]) != 1 {
		t.Errorf("%d games are kept: %+v", len(kept), kept)
	}
	files, err := filepath.Glob(dir + "/quarantine/plugins/train/*.games")
	if err != nil || len(files) != 1 {
		t.Errorf("%v %v", files, err)
	}
	if n := l.numbers("deadly"); n.Quarantined != 1 || n.Restarts < 2 {
		t.Errorf("%+v", n)
	}
	if states := l.states("deadly"); !slices.Contains(states, host.Quarantined) || !slices.Contains(states, host.Failed) {
		t.Errorf("%v", states)
	}
	if !strings.Contains(l.log.String(), "games killed a plugin; copies of them are kept") || !strings.Contains(l.log.String(), dir+"/quarantine/plugins/train") {
		t.Errorf("log:\n%s", l.log.String())
	}
}

// TestLoaderProgram: a loader passes its chunks through a program in a stage of
// its own; one that fails for good ends the run.
func TestLoaderProgram(t *testing.T) {
	games := t.TempDir() + "/games"
	train(t, games, "")
	section := func(name string) string {
		text := graph(run.Dir{Root: games}.Selfplay(), "epochs: 1")
		text = strings.Replace(text, `stage { name: "unpack" input: "pool"`, `stage { name: "program" input: "pool" plugin { name: "`+name+`" threads: 2 batch: 3 } }
  stage { name: "unpack" input: "program"`, 1)
		return "--source=loader plugins { restarts: 1 } " + text
	}
	dir := t.TempDir() + "/run"
	putNamed(t, dir+"/plugins", "mark", "mark")
	putNamed(t, dir+"/plugins", "faulty", "dies")
	plain, _ := train(t, t.TempDir()+"/plain", "--source=loader "+graph(run.Dir{Root: games}.Selfplay(), "epochs: 1"))
	s, log := train(t, dir, section("mark"))
	if s.Samples != plain.Samples || !strings.Contains(log, "all rows were trained on") {
		t.Errorf("%d rows, without the program %d\n%s", s.Samples, plain.Samples, log)
	}
	other := t.TempDir() + "/run"
	putNamed(t, other+"/plugins", "faulty", "dies")
	_, log, err := tryTrain(t, t.Context(), other, section("faulty"))
	if !errors.Is(err, host.ErrGivenUp) || !strings.Contains(err.Error(), `loader stage "program"`) {
		t.Errorf("a program that dies: %v\n%s", err, log)
	}
}

// TestStateOf: the numbers of an event are those of the host, with its rates.
func TestStateOf(t *testing.T) {
	e := setup.StateOf(&host.Stats{Kind: stage.KindRescorer, Name: "x", Version: "2", PID: 9, Calls: 4, Games: 40, Rows: 3000, Bytes: 7, Seconds: 0.5, Restarts: 3, Quarantined: 2})
	want := monitor.PluginNumbers{Version: "2", PID: 9, Calls: 4, Games: 40, Rows: 3000, Bytes: 7, Seconds: 0.5, RowsPerSecond: 6000, MeanLatency: 0.125, Restarts: 3, Quarantined: 2}
	if e.PluginNumbers != want || e.Name != "x" || e.Kind != "rescorer" || e.State != monitor.PluginRunning {
		t.Errorf("%+v", e)
	}
	if e := setup.StateOf(&host.Stats{}); e.RowsPerSecond != 0 || e.MeanLatency != 0 {
		t.Errorf("of nothing: %+v", e)
	}
}

// openStages opens all stages that a configuration names.
func openStages(ctx context.Context, e *config.Effective, dir string, log *slog.Logger) (*setup.Stages, error) {
	return setup.OpenKinds(ctx, e, dir, log, stage.KindRescorer, stage.KindSampler, stage.KindExporter)
}
