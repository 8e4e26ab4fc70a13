package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// TestTrain plays a run to its end, starts the finished run again and lets it go
// on with a larger number, in a path with spaces.
func TestTrain(t *testing.T) {
	dir := t.TempDir() + "/a run"
	s, _ := train(t, dir, "--episodes=5")
	if s.Phase != monitor.RunDone || s.Episodes != 5 || s.Target != 5 {
		t.Errorf("summary %+v", s)
	}
	id := checkRun(t, dir, 5, s.Steps)
	if got := netID(t, s.Net); got != id {
		t.Errorf("published net %s, checkpoint %s", got, id)
	}
	again, _ := train(t, dir, "--episodes=5")
	if again.Steps != s.Steps || again.Episodes != 5 || again.Net != s.Net {
		t.Errorf("a finished run started again: %+v", again)
	}
	if checkRun(t, dir, 5, s.Steps) != id {
		t.Error("a finished run changed its weights")
	}
	fewer, _ := train(t, dir, "--episodes=3")
	if fewer.Episodes != 5 {
		t.Errorf("asked for fewer episodes than it has: %+v", fewer)
	}
	more, _ := train(t, dir, "--episodes=9 --producer-workers=2")
	checkRun(t, dir, 9, more.Steps)
	if more.First == nil || more.Last == nil || more.First.Rows != more.Last.Rows {
		t.Errorf("first and last net are not held against each other: %+v", more)
	}
	var page bytes.Buffer
	if err := more.Write(&page); err != nil || !strings.Contains(page.String(), "Done: 9 of 9 episodes") {
		t.Errorf("%v: %s", err, page.String())
	}
	if left := runtest.Temps(t, dir); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// TestConfigAtResume: what must not change is refused before anything is
// touched, the rest is logged.
func TestConfigAtResume(t *testing.T) {
	dir := t.TempDir() + "/run"
	s, _ := train(t, dir, "--episodes=2")
	for _, more := range []string{"--net=16x1", "--optimizer=adamw", "--deterministic=true", "--job-id=other"} {
		_, _, err := tryTrain(t, t.Context(), dir, more)
		var coded interface{ ExitCode() int }
		if !errors.As(err, &coded) || coded.ExitCode() != 2 {
			t.Errorf("%s: %v", more, err)
		}
	}
	checkRun(t, dir, 2, s.Steps)
	s, log := train(t, dir, "--episodes=3 --lr=0.001")
	if !strings.Contains(log, "training.lr: ") {
		t.Errorf("the change is not in the log:\n%s", log)
	}
	checkRun(t, dir, 3, s.Steps)
	history, err := os.ReadDir(filepath.Join(dir, "config-history"))
	if err != nil || len(history) != 2 {
		t.Errorf("history has %d entries, want one of each start: %v", len(history), err)
	}
}

// TestCheckConfig: nothing that a user can set is ignored without a word.
func TestCheckConfig(t *testing.T) {
	for text, field := range map[string]string{
		`mcts { leaves_per_game: 2 }`:                              "mcts.leaves_per_game",
		`training { steps: 5 }`:                                    "training.steps",
		`training { source_dir: "x" }`:                             "training.source_dir",
		`deterministic: true training { source: DIR }`:             "deterministic",
		`export { weights: SWA }`:                                  "export.weights",
		`export { path: "nets/" }`:                                 "export.path",
		`export { path: "nets/.x" }`:                               "export.path",
		`training { source: DIR steps: 5 source_dir: "x" }`:        "",
		`training { swa { period: 2 } } export { weights: SWA }`:   "",
		`selfplay { temperature { plies: 4 floor: 0 } resign {} }`: "",
		`data_loader { stage { name: "x" join_positions {} } }`:    "data_loader",
		`training { source: LOADER source_dir: "x" }`:              "training.source_dir",
	} {
		file, err := config.Parse("x.textproto", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		e, err := config.Resolve(config.Input{File: file})
		if err == nil { // else config has refused it itself
			err = setup.CheckConfig(e)
		}
		bad, refused := errors.AsType[*config.Error](err)
		if refused != (field != "") || refused && bad.Field != field {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCorruptCheckpoint falls back to the one before, loudly, and ends as asked.
func TestCorruptCheckpoint(t *testing.T) {
	dir := t.TempDir() + "/run"
	const more = "--deterministic=true --episodes=6"
	s, _ := train(t, dir, more)
	want := checkRun(t, dir, 6, s.Steps)
	path := filepath.Join(s.Checkpoint, "trainer.section")
	data := filetest.Read(t, path)
	data[len(data)/2] ^= 1
	filetest.Write(t, path, data)
	s, log := train(t, dir, more)
	if !strings.Contains(log, "cannot be used") || !strings.Contains(log, "going on from checkpoint") {
		t.Errorf("no warning:\n%s", log)
	}
	if got := checkRun(t, dir, 6, s.Steps); got != want {
		t.Errorf("weights %s, before the damage %s", got, want)
	}
}

// TestDamagedChunk: lost games are reported and the run goes on without them,
// whether they had been counted or not.
func TestDamagedChunk(t *testing.T) {
	dir := t.TempDir() + "/run"
	train(t, dir, "--episodes=6")
	d, _ := jobOf(t, dir)
	chunks, err := filepath.Glob(filepath.Join(d.Selfplay(), "*", trainProcess, "*.games"))
	if err != nil || len(chunks) < 2 {
		t.Fatal(chunks, err)
	}
	data := filetest.Read(t, chunks[0])
	for i := len(data) / 3; i < len(data)/2; i++ {
		data[i] = 0xff
	}
	filetest.Write(t, chunks[0], data)
	before := journalIDs(t, d)
	s, log := train(t, dir, "--episodes=9")
	for _, want := range []string{"damaged games were left out", chunks[0], "games are lost"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	after := journalIDs(t, d)
	if s.Episodes != 9 || len(after) != 9 || !slices.Equal(after[:6], before) {
		t.Errorf("%d episodes; journal %v, was %v", s.Episodes, after, before)
	}
	checkMetrics(t, d, 9, s.Steps)
}

// TestGamesGone: a run whose games are all gone, or cannot be read, does not go on with
// an empty window as if it were a new one, not even to sum up, and keeps nothing of the start.
func TestGamesGone(t *testing.T) {
	dir := t.TempDir() + "/run"
	train(t, dir, "--episodes=6")
	d, _ := jobOf(t, dir)
	if err := os.Rename(d.Selfplay(), dir+".moved"); err != nil {
		t.Fatal(err)
	}
	kept := func() (all string) {
		history, _ := filepath.Glob(d.History() + "/*")
		for _, path := range append(history, d.RunFile(), d.ConfigFile(), d.TrainingConfig()) {
			data, err := os.ReadFile(path)
			all += fmt.Sprintln(path, err, string(data))
		}
		return all
	}
	before := kept()
	for _, more := range []string{"--episodes=6", "--episodes=9"} {
		_, _, err := tryTrain(t, t.Context(), dir, more)
		if kept() != before {
			t.Errorf("%s: the refused start changed %s\n%s", more, before, kept())
		}
		if bad, ok := errors.AsType[*checkpoint.CorruptError](err); !ok || bad.Path != d.Selfplay() || !strings.Contains(bad.Reason, "put them back") {
			t.Errorf("%s: %v", more, err)
		}
	}
	if err := errors.Join(os.RemoveAll(d.Selfplay()), os.Rename(dir+".moved", d.Selfplay())); err != nil {
		t.Fatal(err)
	}
	s, log := train(t, dir, "--episodes=9")
	if s.Episodes != 9 || strings.Contains(log, "lost") {
		t.Errorf("%d episodes\n%s", s.Episodes, log)
	}
}

// TestRunFileGone: the refusal of a run without its run.json says how to make it anew.
func TestRunFileGone(t *testing.T) {
	dir := t.TempDir() + "/run"
	first, _ := train(t, dir, "--episodes=2")
	d, _ := jobOf(t, dir)
	if err := os.Remove(d.RunFile()); err != nil {
		t.Fatal(err)
	}
	_, _, err := tryTrain(t, t.Context(), dir, "--episodes=3")
	if err == nil || !strings.Contains(err.Error(), d.RunFile()+" is missing") {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`\{.*\}`).FindString(err.Error())
	filetest.Write(t, d.RunFile(), line)
	if s, log := train(t, dir, "--episodes=3"); s.Episodes != 3 || s.Steps <= first.Steps {
		t.Errorf("%+v\n%s", s, log)
	}
}

// TestJournalDamaged: a journal that the checkpoint contradicts is refused as
// corrupt, not guessed at.
func TestJournalDamaged(t *testing.T) {
	dir := t.TempDir() + "/run"
	train(t, dir, "--episodes=2")
	d, _ := jobOf(t, dir)
	whole := filetest.Read(t, d.Journal())
	first := whole[:bytes.IndexByte(whole, '\n')+1]
	for name, data := range map[string][]byte{
		"cut off": first, "a line twice": append(slices.Clone(first), first...), "nonsense": []byte("x\n{}\n"),
		"other game": bytes.ReplaceAll(whole, []byte(`"game":"`), []byte(`"game":"z`)),
	} {
		filetest.Write(t, d.Journal(), data)
		_, _, err := tryTrain(t, t.Context(), dir, "--episodes=2")
		if _, ok := errors.AsType[*checkpoint.CorruptError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	filetest.Write(t, d.Journal(), whole)
	s, _ := train(t, dir, "--episodes=4")
	checkRun(t, dir, 4, s.Steps)
}

// TestForeignCheckpoints: two runs of one job id must not take each other's
// checkpoints for their own.
func TestForeignCheckpoints(t *testing.T) {
	root := t.TempDir()
	more := "--job-id=same --episodes=2 --checkpoint-dir=" + root + "/checkpoints --metrics-dir=" + root + "/metrics"
	train(t, root+"/a", more)
	_, _, err := tryTrain(t, t.Context(), root+"/b", more)
	if bad, ok := errors.AsType[*config.Error](err); !ok || bad.Field != "training.checkpoint.dir" {
		t.Errorf("another run's checkpoints: %v", err)
	}
	train(t, root+"/a", more+" --episodes=3")
	// Nor is a run without its run.json a new one: it is refused, and gets no other.
	file := run.Dir{Root: root + "/a"}.RunFile()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, _, err = tryTrain(t, t.Context(), root+"/a", more+" --episodes=4")
	if bad, ok := errors.AsType[*config.Error](err); !ok || bad.Field != "training.checkpoint.dir" || fsx.IsFile(file) {
		t.Errorf("checkpoints without a run.json: %v, run.json is there: %v", err, fsx.IsFile(file))
	}
}

// TestDryRun prints and creates nothing.
func TestDryRun(t *testing.T) {
	root := t.TempDir()
	var page bytes.Buffer
	if err := setup.DryRun(runtest.Resolve(t, root+"/a/b", ""), &page); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "nothing is created") || !strings.Contains(page.String(), "8x1") {
		t.Error(page.String())
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		t.Errorf("created %v, %v", entries, err)
	}
	for more, want := range map[string]string{
		"--max-plies-schedule=9@0,7@2":         "8 episodes of at most 9 plies -> ",
		"--source=dir --steps=5":               "games: those that other processes write below " + root + "/a/b/selfplay; 3 steps a game, 5 steps\n",
		"--source=loader " + graph(root, ""):   "rows: of the 9 stages of data_loader, until it is stopped\n",
		"--source=shuffled":                    "rows: none yet in " + root + "/a/b/shuffled: ",
		"--source=loader data_loader{stage{}}": "",
	} {
		page.Reset()
		err := setup.DryRun(runtest.Resolve(t, root+"/a/b", more), &page)
		if (err == nil) != (want != "") || !strings.Contains(page.String(), want) {
			t.Errorf("%s: %v\n%s", more, err, page.String())
		}
	}
	if err := setup.DryRun(runtest.Resolve(t, root+"/a/b", "export { weights: SWA }"), &page); err == nil {
		t.Error("a dry run passes what a run refuses")
	}
}

// TestDryRunOfDamage: a dry run refuses what a start would refuse to go on from, in the
// same words.
func TestDryRunOfDamage(t *testing.T) {
	dir := t.TempDir() + "/run"
	train(t, dir, "--episodes=2")
	d, _ := jobOf(t, dir)
	nets, err := filepath.Glob(filepath.Join(d.Checkpoints, "*", "net.safetensors"))
	if err != nil || len(nets) == 0 {
		t.Fatal(nets, err)
	}
	for want, paths := range map[string][]string{"; put it back from a copy, or begin a new run": {d.Journal()}, "put one back from a copy": nets} {
		whole := map[string][]byte{}
		for _, path := range paths {
			whole[path] = filetest.Read(t, path)
			filetest.Write(t, path, "x\n")
		}
		e := runtest.Resolve(t, dir, "--episodes=4")
		dry := setup.DryRun(e, io.Discard)
		_, _, err := tryTrain(t, t.Context(), dir, "--episodes=4")
		if _, ok := errors.AsType[*checkpoint.CorruptError](dry); !ok || err == nil || dry.Error() != err.Error() || !strings.Contains(dry.Error(), want) {
			t.Errorf("dry run: %v\nstart: %v", dry, err)
		}
		for path, data := range whole {
			filetest.Write(t, path, data)
		}
	}
	if err := setup.DryRun(runtest.Resolve(t, dir, "--episodes=4"), io.Discard); err != nil {
		t.Error(err)
	}
}

// TestShortJournal: games that a checkpoint has seen and the journal lost are no new ones.
func TestShortJournal(t *testing.T) {
	dir := t.TempDir() + "/run"
	train(t, dir, "--episodes=2")
	d, _ := jobOf(t, dir)
	filetest.Write(t, d.Journal(), "")
	want := d.Journal() + " is corrupt: 0 lines, but the checkpoint has seen 2 games; put it back from a copy, or begin a new run"
	if _, _, err := tryTrain(t, t.Context(), dir, "--episodes=4"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestDryRunOfFullDisk: dry runs refuse a disk without room as a start does, make nothing,
// and count no room that stays free.
func TestDryRunOfFullDisk(t *testing.T) {
	root := t.TempDir()
	dir := root + "/a/run"
	reserve := fsx.DefaultReserve
	t.Cleanup(func() { fsx.DefaultReserve = reserve })
	fsx.DefaultReserve = fsx.Reserve{Share: 1.1} // no disk has as much free
	for name, what := range map[string]func() error{
		"dry run":              func() error { return setup.DryRun(runtest.Resolve(t, dir, ""), io.Discard) },
		"dry run of self-play": func() error { return setup.DryRunSelfPlay(runtest.Resolve(t, dir, ""), io.Discard) },
		"start":                func() error { _, _, err := tryTrain(t, t.Context(), dir, ""); return err },
	} {
		full, ok := errors.AsType[*fsx.SpaceError](what())
		if !ok || full.Path != root || full.Need != fsx.DefaultReserve.Of(fsx.Space{Total: full.Total})+replay.ChunkBytes || full.Need <= full.Total {
			t.Errorf("%s: %+v", name, full)
		}
		if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
			t.Errorf("%s made %v, %v", name, entries, err)
		}
	}
	var page strings.Builder
	if err := setup.DescribeSpace(&page, dir); err != nil || !strings.HasPrefix(page.String(), "disk: 0 MiB may be used, ") {
		t.Errorf("%v: %s", err, page.String())
	}
}

// TestForeignFiles: a run that is begun among other files says so, once.
func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	// What our scripts, and shuffle, write before a run begins is not foreign: it would be named first.
	if err := errors.Join(os.WriteFile(dir+"/thesis.tex", nil, 0o644), os.Mkdir(dir+"/dated", 0o755), os.Mkdir(dir+"/shuffled", 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, log := train(t, dir, "--episodes=1"); !strings.Contains(log, "is not empty") || !strings.Contains(log, "thesis.tex") {
		t.Errorf("nothing is said of the file:\n%s", log)
	}
	if _, log := train(t, dir, "--episodes=2"); strings.Contains(log, "is not empty") {
		t.Errorf("it is said again:\n%s", log)
	}
	if _, log := train(t, t.TempDir()+"/new", "--episodes=1"); strings.Contains(log, "is not empty") {
		t.Errorf("said of a new directory:\n%s", log)
	}
}

// TestInterruptedAtOnce: a context that is over before the start leaves a run
// with its first checkpoint.
func TestInterruptedAtOnce(t *testing.T) {
	dir := t.TempDir() + "/run"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, _, err := tryTrain(t, ctx, dir, "")
	if !errors.Is(err, run.ErrInterrupted) || s == nil || s.Phase != monitor.RunStopped || s.Episodes != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	s, _ = train(t, dir, "")
	checkRun(t, dir, 8, s.Steps)
}

// TestBrokenDisplay: a terminal that goes away does not end the run.
func TestBrokenDisplay(t *testing.T) {
	dir := t.TempDir() + "/run"
	broken := monitor.SinkFunc(func(monitor.Event) error { return errors.New("no terminal") })
	s, log, err := tryTrain(t, t.Context(), dir, "", broken)
	if err != nil || strings.Count(log, "no terminal") != 1 {
		t.Fatalf("%v\n%s", err, log)
	}
	checkRun(t, dir, 8, s.Steps)
}

// TestWonOnMaterial: the summary says how many of the cut games somebody won, also of
// those that were played before a restart.
func TestWonOnMaterial(t *testing.T) {
	dir := t.TempDir() + "/run"
	const more = "--max-plies=40 --max-plies-material=1 --episodes="
	train(t, dir, more+"6")
	s, _ := train(t, dir, more+"12")
	cut, won := 0, 0
	for _, g := range gamesOf(t, run.Dir{Root: dir}.Selfplay()) {
		if g.End == record.EndMaxPlies {
			cut, won = cut+1, won+int(g.WhiteResult*g.WhiteResult)
		}
	}
	var text strings.Builder
	if err := s.Write(&text); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("max-plies %d (%d won on material)", cut, won); won == 0 || !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, &text)
	}
}
