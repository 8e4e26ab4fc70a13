package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
)

// rowsOfSource returns what the newest checkpoint says of the rows handed out and
// of the sampler that drew them.
func rowsOfSource(t *testing.T, dir string) (rows int64, sampler string) {
	t.Helper()
	d, _ := jobOf(t, dir)
	f, err := checkpointOf(t, d).Open("source.section")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var state struct {
		Rows    int64  `json:"rows"`
		Sampler string `json:"sampler"`
	}
	if err := json.NewDecoder(f).Decode(&state); err != nil {
		t.Fatal(err)
	}
	return state.Rows, state.Sampler
}

// effectiveOf reads the configuration on disk of a run.
func effectiveOf(t *testing.T, dir string) *config.Config {
	t.Helper()
	file, err := config.Load(run.Dir{Root: dir}.ConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	return file.Config
}

// TestSwap exchanges all kinds of stages of a run under load, built-in ones and
// programs. Every game is there once and was rescored by one of the rescorers;
// every row is counted once; the configuration on disk follows.
func TestSwap(t *testing.T) {
	dir := t.TempDir() + "/run"
	putNamed(t, dir+"/plugins", "mark", "mark")
	putNamed(t, dir+"/plugins", "draws", "draws")
	more := "--episodes=100000 --producer-workers=2 --checkpoint-interval=20 --train-steps-per-episode=1 --max-plies=6 export { path: \"models/{step}\" every_checkpoints: 1 }"
	l := startLive(t, dir, Options{Training: setup.TrainingOf(runtest.Resolve(t, dir, more))})
	l.more(t, 5)
	try := func(name string) (run.Message, error) {
		return l.send(t, run.Swap{Kind: "rescorer", Stages: []run.SwapStage{{Name: name}}, DryRun: true}.Message())
	}
	if m, err := try("mark"); err != nil || !strings.Contains(string(m.Payload), "nothing was exchanged") {
		t.Errorf("dry run: %v, %s", err, m.Payload)
	}
	var tried Page
	if m, err := l.send(t, run.Message{Type: "status"}); err != nil || json.Unmarshal(m.Payload, &tried) != nil || slices.ContainsFunc(tried.Stages, func(s string) bool { return strings.Contains(s, "mark") }) || len(tried.Plugins) != 0 {
		t.Errorf("after a dry run: %v, %s", err, m.Payload)
	}
	if m, err := try("nobody"); err == nil {
		t.Errorf("dry run of a stage that there is not: %s", m.Payload)
	}
	for i, s := range []struct {
		kind   stage.Kind
		stages []run.SwapStage
	}{
		{stage.KindRescorer, []run.SwapStage{{Name: "mark"}}},
		{stage.KindSampler, []run.SwapStage{{Name: "draws"}}},
		{stage.KindRescorer, []run.SwapStage{{Name: "identity"}, {Name: "mark", Settings: map[string]string{"weight": "0.25"}}}},
		{stage.KindSampler, []run.SwapStage{{Name: "uniform"}}},
		{stage.KindExporter, []run.SwapStage{{Name: "lc0", Settings: map[string]string{"encoding": "float16"}}}},
		{stage.KindSampler, []run.SwapStage{{Name: "draws"}}},
	} {
		if err := l.swap(t, s.kind, s.stages...); err != nil {
			t.Fatalf("swap %d: %v", i, err)
		}
		if s.kind == stage.KindRescorer {
			l.more(t, 2*play.MaxGroup) // games that wait for the trainer went through the old ones
		}
		l.more(t, 21)
	}
	var page Page
	if m, err := l.send(t, run.Message{Type: "status"}); err != nil || json.Unmarshal(m.Payload, &page) != nil {
		t.Fatalf("%v: %s", err, m.Payload)
	}
	if len(page.Stages) != 4 || !strings.HasPrefix(page.Stages[1], "rescorer mark 0.1 ("+dir+"/plugins/mark, SHA-256 ") || page.Stages[3] != "exporter lc0 "+effectiveVersion(t, "lc0")+" (built in)" ||
		len(page.Plugins) != 2 || page.Plugins[0].Name != "mark" || page.Plugins[0].Games == 0 || page.Plugins[1].Rows == 0 {
		t.Errorf("status: %v, %+v", page.Stages, page.Plugins)
	}
	s, log := l.stop(t)
	checkRun(t, dir, s.Episodes, s.Steps)
	if rows, sampler := rowsOfSource(t, dir); rows != s.Samples || s.Samples != 4*s.Steps || sampler != "draws" {
		t.Errorf("%d rows handed out at the end by %s, %d trained on in %d steps", rows, sampler, s.Samples, s.Steps)
	}
	marks := marksBelow(t, run.Dir{Root: dir}.Selfplay())
	if len(marks) != 3 || marks[1] < 5 || marks[0.5] == 0 || marks[0.25] == 0 {
		t.Errorf("games by weight of their rows: %v", marks)
	}
	if !strings.HasSuffix(s.Net, ".pb.gz") {
		t.Errorf("the last net is %s", s.Net)
	}
	c := effectiveOf(t, dir)
	if p := c.GetPlugins(); p.GetSampler().GetName() != "draws" || len(p.GetRescorer()) != 2 || p.GetRescorer()[1].GetSettings()["weight"] != "0.25" ||
		c.GetExport().GetExporter() != "lc0" || c.GetExport().GetSettings()["encoding"] != "float16" {
		t.Errorf("configuration on disk: %v %v", p, c.GetExport())
	}
	if history, err := os.ReadDir(dir + "/config-history"); err != nil || len(history) != 7 {
		t.Errorf("history of one start and six swaps: %v, %v", history, err)
	}
	if strings.Count(log, "stage exchanged") != 6 || strings.Count(log, "begins a state of its own") != 3 {
		t.Errorf("log:\n%s", log)
	}
	if states := l.states("draws"); !slices.Contains(states, monitor.PluginSwapped) || !slices.Contains(states, "started") || !slices.Contains(states, "stopped") {
		t.Errorf("events about draws: %v", states)
	}
	if n := l.numbers("mark"); n.Calls == 0 || n.Games == 0 || n.Rows < n.Games || n.Seconds <= 0 || n.RowsPerSecond <= 0 || n.MeanLatency <= 0 {
		t.Errorf("numbers of mark: %+v", n)
	}
}

// effectiveVersion returns the version of a built-in exporter.
func effectiveVersion(t *testing.T, name string) string {
	t.Helper()
	for _, d := range setup.HostOptions(nil, "", nil).Builtin {
		if d.Kind == stage.KindExporter && d.Name == name {
			return d.Version
		}
	}
	t.Fatalf("no exporter %s", name)
	return ""
}

// TestSwapRefused: a swap that cannot be made says why and leaves all as it was.
func TestSwapRefused(t *testing.T) {
	dir := t.TempDir() + "/run"
	putNamed(t, dir+"/plugins", "mark", "mark")
	putNamed(t, dir+"/plugins", "dead", "dead")
	more := `--episodes=100000 --producer-workers=1 plugins { rescorer { name: "mark" } }`
	l := startLive(t, dir, Options{Training: setup.TrainingOf(runtest.Resolve(t, dir, more))})
	l.more(t, 3)
	before := filetest.Read(t, run.Dir{Root: dir}.ConfigFile())
	for _, c := range []struct {
		kind   stage.Kind
		stages []run.SwapStage
		want   []string
	}{
		{stage.KindRescorer, []run.SwapStage{{Name: "identity"}, {Name: "nosuch"}}, []string{"plugins.rescorer[1].name", `unknown rescorer "nosuch"`, "deblunder", "programs: dead (" + dir + "/plugins/dead), mark (" + dir + "/plugins/mark);", dir + "/plugins"}},
		{stage.KindRescorer, []run.SwapStage{{Name: "mark", Settings: map[string]string{"weight": "7"}}}, []string{"mark", "weight", "0.01 to 1"}},
		{stage.KindRescorer, []run.SwapStage{{Name: "dead"}}, []string{"dead"}},
		{stage.KindSampler, []run.SwapStage{{Name: "mark"}}, []string{`unknown sampler "mark"`, dir + "/plugins/mark is a plugin, but a rescorer"}},
		{stage.KindSampler, nil, []string{"0 stages of kind"}},
		{stage.KindExporter, []run.SwapStage{{Name: "lc0"}, {Name: "onnx"}}, []string{"2 stages of kind"}},
		{"dancer", []run.SwapStage{{Name: "x"}}, []string{`unknown kind "dancer"; there are: rescorer, sampler, exporter`}},
	} {
		err := l.swap(t, c.kind, c.stages...)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %v: %v, want %s", c.kind, c.stages, err, want)
			}
		}
	}
	for _, payload := range []string{"", "7", `{"kind":"sampler","stage":[]}`} {
		if answer, err := l.send(t, run.Message{Type: "swap-plugin", Payload: json.RawMessage(payload)}); err == nil {
			t.Errorf("payload %q: %+v", payload, answer)
		}
	}
	l.more(t, 3)
	s, _ := l.stop(t)
	checkRun(t, dir, s.Episodes, s.Steps)
	after, err := os.ReadFile(run.Dir{Root: dir}.ConfigFile())
	if err != nil || string(after) != string(before) {
		t.Errorf("the configuration on disk has changed: %v", err)
	}
	if marks := marksBelow(t, run.Dir{Root: dir}.Selfplay()); len(marks) != 1 || marks[0.5] == 0 {
		t.Errorf("games by weight of their rows: %v", marks)
	}
}

// TestKillAfterSwap: a run that was killed after a swap goes on with the
// configuration on disk where it was, and with the first one as a run whose
// sampler has changed.
func TestKillAfterSwap(t *testing.T) {
	dir := t.TempDir() + "/run"
	putNamed(t, dir+"/plugins", "draws", "draws")
	c := startChild(t, dir, "--episodes=100000 --checkpoint-interval=2")
	l := &live{dir: dir}
	for e, ok := c.next(t); ok && e.Type != "step"; e, ok = c.next(t) {
	}
	swapped := make(chan error, 1)
	go func() { swapped <- l.swap(t, stage.KindSampler, run.SwapStage{Name: "draws"}) }()
	saves := 0
	for e, ok := c.next(t); ok && saves < 3; e, ok = c.next(t) { // the pipe must be read, or nothing goes on
		select {
		case err := <-swapped:
			if err != nil {
				t.Fatal(err)
			}
			swapped = nil
		default:
		}
		if swapped == nil && e.Type == "net" && e.Action == "checkpoint" {
			saves++ // the first may have begun before the swap, the third may not be complete
		}
	}
	c.signal(t, syscall.SIGKILL)
	if code := c.wait(t, nil); code != -1 {
		t.Fatalf("exit code %d\n%s", code, c.stderr.String())
	}
	rows, sampler := rowsOfSource(t, dir)
	d, _ := jobOf(t, dir)
	if step := checkpointOf(t, d).Manifest.Step; sampler != "draws" || rows != 4*step {
		t.Errorf("the checkpoint has %d rows of %s at step %d", rows, sampler, step)
	}
	goOn := func(path, more string) string {
		t.Helper()
		e, err := config.Resolve(config.Input{Path: path, Overrides: []string{"selfplay.episodes=" + more}})
		if path == "" {
			e = runtest.Resolve(t, dir, "--episodes="+more)
		} else if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		s, err := Train(t.Context(), Options{Training: setup.TrainingOf(e), Command: "test", Log: runtest.LogTo(&log)})
		if err != nil {
			t.Fatalf("%v\n%s", err, log.String())
		}
		checkRun(t, dir, s.Episodes, s.Steps)
		if rows, _ := rowsOfSource(t, dir); rows != s.Samples || s.Samples != 4*s.Steps {
			t.Errorf("%d rows handed out, %d trained on in %d steps", rows, s.Samples, s.Steps)
		}
		return log.String()
	}
	next := func() string { return fmt.Sprint(len(journalIDs(t, d)) + 4) }
	if log := goOn(d.ConfigFile(), next()); strings.Contains(log, "another sampler") {
		t.Errorf("with the configuration on disk:\n%s", log)
	}
	if _, sampler := rowsOfSource(t, dir); sampler != "draws" {
		t.Errorf("it went on with %s", sampler)
	}
	if log := goOn("", next()); !strings.Contains(log, "the state of another sampler: this one begins a state of its own") || !strings.Contains(log, `plugins.sampler.name: \"draws\" -> \"uniform\"`) {
		t.Errorf("with the first configuration:\n%s", log)
	}
}

// TestSamplerProgram: a run whose sampler is a program that draws as the built-in
// one does comes to the same weights, also where it was killed.
func TestSamplerProgram(t *testing.T) {
	const more = "--deterministic=true --episodes=6"
	plain := t.TempDir() + "/run"
	s, _ := train(t, plain, more)
	want := checkRun(t, plain, 6, s.Steps)
	dir := t.TempDir() + "/run"
	putNamed(t, dir+"/plugins", "draws", "draws")
	c := startChild(t, dir, more+" --sampler=draws")
	for e, ok := c.next(t); ok && (e.Type != "step" || e.Step < 7); e, ok = c.next(t) {
	}
	c.signal(t, syscall.SIGKILL)
	c.wait(t, nil)
	train(t, dir, more+" --sampler=draws")
	if got := checkRun(t, dir, 6, s.Steps); got != want {
		t.Errorf("weights %s, with the built-in sampler %s", got, want)
	}
}

// TestReload: a signal reads the file again; plugins and export change, the rest is
// named and waits; a file with a fault changes nothing.
func TestReload(t *testing.T) {
	root := t.TempDir()
	dir, path := root+"/run", root+"/run.textproto"
	putPlugin(t, root+"/programs", "mark", "mark")
	putNamed(t, dir+"/plugins", "draws", "draws")
	write := func(more string) {
		t.Helper()
		text := fmt.Sprintf("run_dir: %q\n%s\n%s", dir, strings.Replace(runtest.Tiny, "episodes: 8", "episodes: 100000 producer_workers: 1", 1), more)
		filetest.Write(t, path, text)
	}
	write("")
	e, err := config.Resolve(config.Input{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	signals := make(chan os.Signal)
	l := startLive(t, dir, Options{Training: setup.TrainingOf(e), Reload: signals})
	l.more(t, 3)
	reload := func() {
		t.Helper()
		for range 2 { // the second is taken when the first was dealt with, and finds nothing new
			select {
			case signals <- syscall.SIGHUP:
			case <-l.done:
				t.Fatalf("%v\n%s", l.err, l.log.String())
			}
		}
	}
	expect := func(what, rescorers, sampler string, keep int32) {
		t.Helper()
		c := effectiveOf(t, dir)
		var names []string
		for _, r := range c.GetPlugins().GetRescorer() {
			names = append(names, r.GetName())
		}
		if got := strings.Join(names, ","); got != rescorers || c.GetPlugins().GetSampler().GetName() != sampler || c.GetExport().GetKeep() != keep || c.GetTraining().GetLr() != 0.02 {
			t.Errorf("%s: rescorers %q, sampler %s, keep %d, lr %v", what, got, c.GetPlugins().GetSampler().GetName(), c.GetExport().GetKeep(), c.GetTraining().GetLr())
		}
	}
	write(`plugins { sampler { name: "draws" } } export { keep: 3 }`)
	reload()
	expect("sampler and export", "", "draws", 3)
	write(fmt.Sprintf(`plugins { sampler { name: "draws" } dir: %q rescorer { name: "mark" } } export { keep: 3 }`, root+"/programs"))
	reload()
	expect("another directory", "mark", "draws", 3)
	l.more(t, 8)
	for fault, text := range map[string]string{
		"unknown name": `plugins { sampler { name: "nosuch" } } export { keep: 9 }`, "no configuration": "plugins {",
		"a fault elsewhere": `export { weights: SWA keep: 9 }`, "settings": `plugins { sampler { name: "uniform" settings { key: "x" value: "1" } } } export { keep: 9 }`,
	} {
		write(text)
		reload()
		expect(fault, "mark", "draws", 3)
	}
	s, log := l.stop(t)
	checkRun(t, dir, s.Episodes, s.Steps)
	if marks := marksBelow(t, run.Dir{Root: dir}.Selfplay()); marks[0.5] < 4 || len(marks) != 2 {
		t.Errorf("games by weight of their rows: %v", marks)
	}
	for _, want := range []string{"export.keep: 0 -> 3", "plugins.rescorer[0].name", "plugins and export are as before", "the configuration file was not applied", "nosuch"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
}

// TestReloadElsewhere: what cannot change in a running process is named, and what
// can changes all the same.
func TestReloadElsewhere(t *testing.T) {
	root := t.TempDir()
	dir, path := root+"/run", root+"/run.textproto"
	write := func(lr, keep string) {
		t.Helper()
		text := strings.NewReplacer("episodes: 8", "episodes: 100000", "training {", "training { lr: "+lr).Replace(runtest.Tiny)
		filetest.Write(t, path, fmt.Sprintf("run_dir: %q\n%s export { keep: %s }", dir, text, keep))
	}
	write("0.01", "0")
	e, err := config.Resolve(config.Input{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	signals := make(chan os.Signal)
	l := startLive(t, dir, Options{Training: setup.TrainingOf(e), Reload: signals})
	l.more(t, 1)
	write("0.5", "2")
	for range 2 {
		select {
		case signals <- syscall.SIGHUP:
		case <-l.done:
			t.Fatal(l.err)
		}
	}
	_, log := l.stop(t)
	c := effectiveOf(t, dir)
	if c.GetTraining().GetLr() != 0.01 || c.GetExport().GetKeep() != 2 || !strings.Contains(log, "left for the next start") || !strings.Contains(log, "training.lr: 0.01 -> 0.5") {
		t.Errorf("lr %v, keep %d\n%s", c.GetTraining().GetLr(), c.GetExport().GetKeep(), log)
	}
}

// TestSelfPlaySwap exchanges the rescorers of a process that only plays, over its
// control socket and by reading its file again: each game is there once.
func TestSelfPlaySwap(t *testing.T) {
	root := t.TempDir()
	dir, path := root+"/run", root+"/run.textproto"
	putNamed(t, dir+"/plugins", "mark", "mark")
	configured := func(more string) *config.Effective {
		t.Helper()
		text := strings.NewReplacer("max_plies: 12", "max_plies: 4", "simulations: 4", "simulations: 1").Replace(runtest.Tiny)
		filetest.Write(t, path, fmt.Sprintf("run_dir: %q\n%s log { every_seconds: 1 } plugins { %s }", dir, text, more))
		e, err := config.Resolve(config.Input{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e, signals := configured(`rescorer { name: "mark" }`), make(chan os.Signal)
	var p *play.PlaySummary
	l := startLiveWith(t, dir, func(ctx context.Context, l *live, events monitor.Sink) (err error) {
		p, err = play.SelfPlay(ctx, play.SelfPlayOptions{Effective: e, Process: 1, Command: "test", Log: runtest.LogTo(&l.log),
			Readers: []monitor.Sink{events}, Reload: signals})
		return err
	})
	l.more(t, 4)
	m := run.Swap{Kind: string(stage.KindRescorer)}.Message()
	if answer, err := l.sendTo("selfplay-p1", m); err != nil || answer.Type != "ok" {
		t.Fatalf("%+v %v", answer, err)
	}
	m = run.Swap{Kind: string(stage.KindSampler), Stages: []run.SwapStage{{Name: "uniform"}}}.Message()
	if _, err := l.sendTo("selfplay-p1", m); err == nil || !strings.Contains(err.Error(), "uses no sampler") {
		t.Errorf("a sampler: %v", err)
	}
	l.more(t, play.MaxGroup+5) // more than the group under way can hold
	configured(`rescorer { name: "identity" } sampler { name: "hidden" }`)
	for range 2 { // the second is taken when the first was dealt with
		select {
		case signals <- syscall.SIGHUP:
		case <-l.done:
			t.Fatalf("%v\n%s", l.err, l.log.String())
		}
	}
	var page play.PlayPage
	if answer, err := l.sendTo("selfplay-p1", run.Message{Type: "status"}); err != nil || json.Unmarshal(answer.Payload, &page) != nil ||
		!slices.Equal(page.Stages, []string{"rescorer identity 1.0.0 (built in)"}) || len(page.Plugins) != 0 {
		t.Errorf("after reading the file again: %v, %v %v", err, page.Stages, page.Plugins)
	}
	l.cancel()
	<-l.done
	if !errors.Is(l.err, run.ErrInterrupted) {
		t.Fatalf("%v\n%s", l.err, l.log.String())
	}
	if n := int64(len(runtest.GamesOnDisk(t, dir))); n != p.Games {
		t.Errorf("%d games on disk, %d counted", n, p.Games)
	}
	if marks := marksBelow(t, run.Dir{Root: dir}.Selfplay()); len(marks) != 2 || marks[0.5] < 4 || marks[1] == 0 {
		t.Errorf("games by weight of their rows: %v", marks)
	}
}
