//go:build unix

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

// loopScript is the command line of a script of the loop in a directory.
func loopScript(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	return script(t, 2*time.Minute, dir, filepath.Join("../../scripts", name), args...)
}

// runs runs a command and wants an exit code and a text.
func runs(t *testing.T, cmd *exec.Cmd, code int, says string) {
	t.Helper()
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(string(out), says) {
		t.Fatalf("%q: exit code %d, want %d and %q in:\n%s", cmd.Args, got, code, says, out)
	}
}

// glob wants so many paths below dir.
func glob(t *testing.T, dir, pattern string, want int) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != want {
		t.Fatalf("%d paths %s, want %d: %v", len(found), pattern, want, found)
	}
	return found
}

// TestLoopScripts goes through an asynchronous run with one script after the
// other, with arguments and flags as KataGo writes them.
func TestLoopScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	play := exec.Command("chessbrain", append([]string{"selfplay", "--run-dir", "base", "--models-dir", "base/models", "--max-games-total", "20"}, quickGames...)...)
	play.Dir = dir
	runs(t, play, exitOK, "20 games")

	runs(t, loopScript(t, dir, "shuffle.sh", "base", "tmp", "1", "128", "-min-rows", "1000000"), 6, "need 1000000")
	runs(t, loopScript(t, dir, "shuffle.sh", "base", "tmp", "1", "-min-rows", "50"), exitOK, "")
	first := glob(t, dir, "base/shuffled/*/train.json", 1)[0]
	old := time.Now().Add(-3 * time.Hour)
	stranger := filepath.Join(dir, "base/shuffled/2000")
	if err := os.Mkdir(stranger, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{filepath.Dir(first), stranger} {
		if err := os.Chtimes(d, old, old); err != nil {
			t.Fatal(err)
		}
	}
	again := loopScript(t, dir, "shuffle.sh", "base", "tmp", "1", "-min-rows", "50")
	again.Env = append(again.Env, "KEEP=1")
	runs(t, again, exitOK, "")
	if left := glob(t, dir, "base/shuffled/*/train.json", 1)[0]; left == first {
		t.Errorf("the old shuffle %s stayed", left)
	}
	glob(t, dir, "base/shuffled/2000", 1) // chessbrain did not make it
	glob(t, dir, "base/shuffled/.old-*", 0)

	train := loopScript(t, dir, "train.sh", "base", "main", "16x1", "16", "main", "-lr-scale", "0.5", "-use-fp16", "-max-epochs-this-instance", "1", "-samples-per-epoch", "64")
	train.Env = append(train.Env, "NAMEOFRUN=script")
	runs(t, train, exitOK, "")
	glob(t, dir, "base/toexport/script-main-s64-d*", 1)
	runs(t, loopScript(t, dir, "export_model_for_selfplay.sh", "other", "base", "0"), exitUsage, "is called script, not other")
	runs(t, loopScript(t, dir, "export_model_for_selfplay.sh", "script", "base", "0"), exitOK, "1 net exported")
	glob(t, dir, "base/models/script-main-s64-d*.safetensors", 1)
	glob(t, dir, "base/toexport/*", 0)
}

// TestShuffleAndExportLoop starts the loop, sees a shuffle and stops it; a part
// that cannot work ends it.
func TestShuffleAndExportLoop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	play := exec.Command("chessbrain", append([]string{"selfplay", "--run-dir", "base", "--max-games-total", "10"}, quickGames...)...)
	play.Dir = dir
	runs(t, play, exitOK, "10 games")
	cmd := loopScript(t, dir, "shuffle_and_export_loop.sh", "base", "base", "tmp", "1", "128", "1", "-min-rows", "20")
	cmd.Env = append(cmd.Env, "EVERY=0", "POLL=1s")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.Contains(lines.Text(), "works on base") {
		t.Fatalf("said %q", lines.Text())
	}
	waitForText(t, filepath.Join(dir, "base/logs/outshuffle.txt"), "shuffle ended with 0")
	cmd.Process.Signal(syscall.SIGTERM)
	for lines.Scan() {
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		text, _ := os.ReadFile(filepath.Join(dir, "base/logs/outshuffle.txt"))
		t.Errorf("exit code %d, want %d\n%s", code, exitInterrupted, text)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "base/shuffled/*/train.json")); len(found) == 0 {
		t.Error("no shuffle")
	}

	bad := loopScript(t, dir, "shuffle_and_export_loop.sh", "base", "base", "tmp", "1", "128", "0", "-min-rows", "nonsense")
	runs(t, bad, exitUsage, "a part has ended")
}

// TestOneShuffler: a run has one at a time; the second says who holds the role.
func TestOneShuffler(t *testing.T) {
	dir := t.TempDir()
	locks := filepath.Join(dir, "base/locks")
	if err := os.MkdirAll(locks, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := fsx.Acquire(filepath.Join(locks, shuffle.Role), fsx.LockOptions{Command: "a shuffle"})
	if err != nil {
		t.Fatal(err)
	}
	runs(t, loopScript(t, dir, "shuffle.sh", "base", "tmp", "1"), exitUsage, "a shuffle")
	again := loopScript(t, dir, "shuffle.sh", "base", "tmp", "1")
	t.Chdir(filepath.Join(dir, "base/shuffled"))
	_, err = executeLine("shuffle", "--input-dir", "../selfplay", "--output-dir", ".")
	if locked, ok := errors.AsType[*fsx.LockedError](err); !ok || locked.Owner.Command != "a shuffle" {
		t.Errorf("into the working directory: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	runs(t, again, 6, "need")
}

// waitForText waits until a file has a text; the test's own limit ends the wait.
func waitForText(t *testing.T, path, text string) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(time.Minute)
	for {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), text) {
			return
		}
		select {
		case <-ticker.C:
		case <-limit:
			data, _ := os.ReadFile(path)
			t.Fatalf("no %q in %s:\n%s", text, path, data)
		}
	}
}

// TestLoopScriptsRefuse: mistakes in the arguments are named, and nothing is made.
func TestLoopScriptsRefuse(t *testing.T) {
	dir := t.TempDir()
	for line, says := range map[string]string{
		"train.sh":                                           "usage: ",
		"train.sh base main b6c64 128":                       "usage: ",
		"train.sh -x main b6c64 128 main":                    `"-x" is no directory`,
		"train.sh base a/b b6c64 128 main":                   "1 to 40 letters",
		"train.sh base main b6c64 many main":                 `BATCHSIZE "many" is no number`,
		"train.sh base main b6c64 128 all":                   "want main, extra or trainonly",
		"train.sh base main b6c64 128 main -pos-len 19":      "unknown flag: --pos-len",
		"shuffle.sh base tmp":                                "usage: ",
		"shuffle.sh base tmp x":                              `NTHREADS "x" is no number`,
		"export_model_for_selfplay.sh a base":                "usage: ",
		"export_model_for_selfplay.sh a base 2":              `USEGATING "2"`,
		"shuffle_and_export_loop.sh a base tmp 1 128":        "usage: ",
		"shuffle_and_export_loop.sh a! base tmp 1 128 1":     "NAMEOFRUN",
		"shuffle_and_export_loop.sh a base tmp 1 128 maybe":  `USEGATING "maybe"`,
		"shuffle_and_export_loop.sh a base tmp none 128 0":   `NTHREADS "none"`,
		"shuffle_and_export_loop.sh a base tmp 1 128 0 CB=1": "", // below, with an environment
	} {
		words := strings.Fields(line)
		cmd := loopScript(t, dir, words[0], words[1:]...)
		if says == "" {
			cmd.Env, says = append(cmd.Env, "CHESSBRAIN=/nowhere/chessbrain"), "there is no program /nowhere/chessbrain: build it"
		}
		runs(t, cmd, exitUsage, says)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("what was refused left %v", left)
	}
}
