//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// TestCheckLoop lets scripts/check_loop.sh kill and check a small closed loop of
// each kind: chessbrain run, and scripts/synchronous_loop.sh.
func TestCheckLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some hundred games")
	}
	t.Parallel()
	for _, tool := range []string{"bash", "setsid", "pkill", "flock"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: there is no %s here, the scripts of the closed loop are NOT TESTED", tool)
		}
	}
	script, err := filepath.Abs("../../scripts/check_loop.sh")
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("chessbrain") // this test binary, see TestMain
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"run", "script"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "with space", mode)
			if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(script, mode, dir)
			cmd.Env = append(os.Environ(), "CHESSBRAIN="+program, "CYCLES=3", "KILLS=2", "LONG_CYCLES=0", "LIMIT_MIB=2000")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), mode+": 2 kills") || !strings.Contains(string(out), "all well") {
				t.Errorf("%v\n%s", err, out)
				log, _ := os.ReadFile(filepath.Join(dir, mode+".txt"))
				t.Logf("it said:\n%s", log[max(0, len(log)-4000):])
			}
		})
	}
}

// TestLoopScriptRefuses: what the script cannot do is said with exit code 2, before
// anything is made.
func TestLoopScriptRefuses(t *testing.T) {
	script, err := filepath.Abs("../../scripts/synchronous_loop.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"a b", "run"}, `NAMEOFRUN "a b"`},
		{[]string{"a", "--cycles"}, `BASEDIR "--cycles"`},
		{[]string{"a", "run", "main", "16x1", "2"}, `USEGATING "2"`},
		{[]string{"a", "run", "main", "16x1", "1", "--cycels", "3"}, "unknown flag: --cycels"},
		{[]string{"a", "run", "main", "b0c0"}, "b0c0"},
		{[]string{"a", "run", "main", "16x1", "1", "--rating-games", "3"}, "loop.rating.games"},
	} {
		dir := t.TempDir()
		cmd := exec.Command(script, c.args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CHESSBRAIN=chessbrain")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), c.want) {
			t.Errorf("%q: %v, want exit code 2 and %q:\n%s", c.args, err, c.want, out)
		}
		if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
			t.Errorf("%q made %v, %v", c.args, made, err)
		}
	}
}

// tinyLoop are flags of a closed loop that takes a second.
var tinyLoop = []string{"--games-per-worker", "4", "--max-plies", "12", "--mcts-simulations", "4", "--games-per-cycle", "12", "--min-rows", "60",
	"--keep-target-rows", "500", "--taper-window-scale", "60", "--samples-per-epoch", "32", "--samples-per-cycle", "64", "--batch-size", "8",
	"--swa-period", "0", "--export-weights", "raw"}

// listing is every path below dir with its size and time of change.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestLoopScriptHoldsTheRun: another net, name or kind of training than that of the
// directory is refused before anything is played or written there, and nothing says
// that the same command would help.
func TestLoopScriptHoldsTheRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, line := range []string{
		"train --run-dir trained --name a --net 16x1 --episodes 1 --mcts-simulations 4 --max-plies 12 --batch-size 8 --quiet",
		"run --run-dir looped --name a --net 16x1 --cycles 1 --gating 0 " + strings.Join(tinyLoop, " "),
	} {
		cmd := exec.Command("chessbrain", strings.Fields(line)...)
		cmd.Dir = dir
		runs(t, cmd, exitOK, "")
	}
	const ofTrain = "synchronous_loop: BASEDIR \"trained\" belongs to a run of chessbrain train, which a closed loop cannot take over: " +
		"name another BASEDIR, or go on with: chessbrain train trained\n"
	for _, c := range []struct{ args, want string }{
		{"a trained main 16x1 0", ofTrain},
		{"a trained other 8x1 0", ofTrain},
		{"b trained main 8x1 0", ofTrain},
		{"b looped other 8x1 0", `name: "a" -> "b"`},
		{"a looped main 8x1 0", "model.arch.conv_tower.filters: 16 -> 8"},
		{"b looped main 16x1 0", `name: "a" -> "b"`},
	} {
		words := strings.Fields(c.args)
		at := filepath.Join(dir, words[1])
		before := listing(t, at)
		cmd := loopScript(t, dir, "synchronous_loop.sh", append(append(words, tinyLoop...), "--cycles", "2")...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "goes on\n") {
			t.Errorf("%s: %v, want exit code 2 and %q:\n%s", c.args, err, c.want, out)
		}
		if c.want == ofTrain && string(out) != ofTrain {
			t.Errorf("%s said more than the script's own words:\n%s", c.args, out)
		}
		if after := listing(t, at); after != before {
			t.Errorf("%s changed the directory:\n%s\nbefore:\n%s", c.args, after, before)
		}
	}
	// A second training of the closed loop is none of these. A check of it plays nothing.
	words := append(strings.Fields("a looped other 8x1 0 --cycles 2"), tinyLoop...)
	before := listing(t, filepath.Join(dir, "looped"))
	runs(t, loopScript(t, dir, "synchronous_loop.sh", append(words, "--dry-run")...), exitOK, "dry run: nothing is created")
	if after := listing(t, filepath.Join(dir, "looped")); after != before {
		t.Errorf("--dry-run changed the directory:\n%s\nbefore:\n%s", after, before)
	}
	runs(t, loopScript(t, dir, "synchronous_loop.sh", words...), exitOK, "")
	glob(t, dir, "looped/train/other/checkpoints/a_step00000004", 1)
}

// stub is a program that does as body says, with "$real" as the real one.
func stub(t *testing.T, dir, body string) string {
	t.Helper()
	program, err := exec.LookPath("chessbrain")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "stub")
	if err := os.WriteFile(path, []byte("#!/usr/bin/env bash\nreal='"+program+"'\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLoopScriptRefusedStage: a stage that refuses what it is given would refuse it
// again.
func TestLoopScriptRefusedStage(t *testing.T) {
	for _, code := range []string{"2", "5"} {
		dir := t.TempDir()
		cmd := loopScript(t, dir, "synchronous_loop.sh", append([]string{"a", "base", "main", "8x1", "0"}, tinyLoop...)...)
		cmd.Env = append(cmd.Env, "CHESSBRAIN="+stub(t, dir, `[[ $* != *"--stage selfplay" ]] || exit `+code+`; exec "$real" "$@"`))
		out, _ := cmd.CombinedOutput()
		if got := fmt.Sprint(cmd.ProcessState.ExitCode()); got != code || !strings.Contains(string(out), "selfplay ended with "+code) {
			t.Errorf("exit code %s, want %s:\n%s", got, code, out)
		}
		if says := strings.Contains(string(out), "the same command goes on"); says != (code == "5") {
			t.Errorf("after exit code %s it said:\n%s", code, out)
		}
	}
}

// TestLoopScriptDefault: without arguments the script works in a directory of its
// own, and not in that of a plain chessbrain train.
func TestLoopScriptDefault(t *testing.T) {
	dir := t.TempDir()
	cmd := loopScript(t, dir, "synchronous_loop.sh")
	cmd.Env = append(cmd.Env, "CHESSBRAIN="+stub(t, dir, `echo "asked: $*" >&2; exit 2`))
	runs(t, cmd, exitUsage, "asked: run --run-dir ./runs/loop --name chessbrain --training-name main --net b6c64 ")
	t.Chdir(dir)
	if out, err := executeLine("run", "--print-config"); err != nil || !strings.Contains(out, "run_dir: \"runs/loop\"") {
		t.Errorf("chessbrain run: %v\n%s", err, out)
	}
	if out, err := executeLine("run", "--help"); err != nil || !strings.Contains(out, "runs/loop") {
		t.Errorf("chessbrain run --help: %v\n%s", err, out)
	}
}

// TestLoopScriptNoRatingGames: RATING_GAMES=0 plays none, with a net that could.
func TestLoopScriptNoRatingGames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := loopScript(t, dir, "synchronous_loop.sh", append([]string{"a", "base", "main", "8x1", "0", "--cycles", "1"}, tinyLoop...)...)
	cmd.Env = append(cmd.Env, "RATING_GAMES=0", "NUM_TRAIN_SAMPLES_PER_SWA=0")
	runs(t, cmd, exitOK, "rating")
	glob(t, dir, "base/models/*.safetensors", 1)
	glob(t, dir, "base/matches/*", 0)
	glob(t, dir, "base/catalogue.json", 1) // the list is made
}

// A bit that a disk flips in a file that the next cycle does not need stops no loop: it
// is told of, and the loop goes on.
func TestLoopGoesOnBesideDamage(t *testing.T) {
	dir := t.TempDir()
	loop := func(cycles string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "chessbrain", "run", "r", "--config", "loop.textproto", "--cycles", cycles)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	config := `selfplay { games_per_worker: 8 max_plies: 20 max_plies_material: 2 }
mcts { simulations: 2 } model { net: "16x1" }
training { batch_size: 16 samples_per_epoch: 64 bucket { per_new_row: 3 size: 2000 } }
loop { games_per_cycle: 12 samples_per_cycle: 64 shuffle { min_rows: 50 keep_target_rows: 1000 taper_window_scale: 50 }
  gating: false rating { games: 2 opponents: 1 visits: 2 random: true } retention { shuffles: 1 } }`
	filetest.Write(t, filepath.Join(dir, "loop.textproto"), config)
	loop("3")
	flipped := 0
	flip := func(pattern string, but int) { // all files but the newest so many
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "r", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, path := range files[:max(0, len(files)-but)] {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			data := filetest.Read(t, path)
			data[len(data)/2] ^= 0x10
			filetest.Write(t, path, data)
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil { // disks that rot leave the time
				t.Fatal(err)
			}
			flipped++
		}
	}
	flip("matches/*.jsonl", 0)
	flip("models/r-main-s64-*.safetensors", 0)
	flip("shuffled/*/train.json", 1)
	flip("train/main/handed.json", 0)
	flip("train/main/checkpoints/*/manifest.json", 1)
	flip("metrics/r/metrics.jsonl", 0)
	if out := loop("4"); flipped < 7 || !strings.Contains(out, "4 cycles done") {
		t.Errorf("%d files were damaged:\n%s", flipped, out)
	}
}
