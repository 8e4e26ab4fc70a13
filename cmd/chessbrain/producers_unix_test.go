//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// quickGames are flags of games that take milliseconds.
var quickGames = []string{"--net", "16x1", "--mcts-simulations", "2", "--max-plies", "12"}

// producers is the command line of the script that starts several playing processes.
func producers(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := script(t, 40*time.Second, dir, "../../scripts/producers.sh", args...)
	cmd.Env = append(cmd.Env, "EVERY=1", "FIRST=3")
	return cmd
}

// startProducers starts the script and reads what it says up to a state in which
// each process has games.
func startProducers(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, lines *bufio.Scanner) {
	t.Helper()
	cmd = producers(t, dir, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil { // the test has failed
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
		}
	})
	playing := map[int]bool{}
	var seen []string
	for lines = bufio.NewScanner(out); len(playing) < 2; {
		if !lines.Scan() {
			t.Fatalf("the script ended: %v; it said:\n%s", cmd.Wait(), strings.Join(seen, "\n"))
		}
		seen = append(seen, lines.Text())
		var number, games, positions, evaluations int
		if n, _ := fmt.Sscanf(lines.Text(), "producers: process %d: %d games, %d positions and %d evaluations since its start, net",
			&number, &games, &positions, &evaluations); n == 4 && games > 0 && positions >= games && evaluations > 0 {
			playing[number] = true
		}
	}
	if !playing[3] || !playing[4] {
		t.Errorf("processes %v play, want 3 and 4", playing)
	}
	return cmd, lines
}

// wait reads the rest of what the script says and checks its exit code.
func wait(t *testing.T, cmd *exec.Cmd, lines *bufio.Scanner, code int) {
	t.Helper()
	var rest []string
	for lines.Scan() {
		rest = append(rest, lines.Text())
	}
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d; it said:\n%s", got, code, strings.Join(rest, "\n"))
	}
}

// gamesOnDisk returns how many games a process says it has, and plays none.
func gamesOnDisk(t *testing.T, dir string, process int) (games int) {
	t.Helper()
	cmd := exec.Command("chessbrain", append([]string{"selfplay", "--run-dir", "run", "--process", fmt.Sprint(process), "--max-games", "1"}, quickGames...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if n, _ := fmt.Sscanf(string(out), fmt.Sprintf("Process %d has %%d game", process), &games); n != 1 || err != nil {
		t.Fatalf("process %d: %v: %s", process, err, out)
	}
	return games
}

// TestProducers starts two processes twice, stops them each way, and finds their
// games again.
func TestProducers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := append([]string{"2", "run"}, quickGames...)
	cmd, lines := startProducers(t, dir, args...)
	if out, err := producers(t, dir, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "plays in run already; stop it with") {
		t.Errorf("a second script for the directory: %v: %s", err, out)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	wait(t, cmd, lines, exitInterrupted)
	before := [2]int{gamesOnDisk(t, dir, 3), gamesOnDisk(t, dir, 4)}

	cmd, lines = startProducers(t, dir, args...)
	if out, err := producers(t, dir, "stop", "run").CombinedOutput(); err != nil || string(out) != "producers: stopped in run\n" {
		t.Errorf("stop: %v: %s", err, out)
	}
	wait(t, cmd, lines, exitInterrupted)
	for i, n := range before {
		if after := gamesOnDisk(t, dir, 3+i); n < 1 || after < n {
			t.Errorf("process %d had %d games at its first end, and %d at its second", 3+i, n, after)
		}
	}
	if out, err := producers(t, dir, "stop", "run").CombinedOutput(); err == nil || !strings.Contains(string(out), "nothing that scripts/producers.sh started plays in run") {
		t.Errorf("nothing to stop: %v: %s", err, out)
	}
}

// TestProducersEnd: the script ends when all processes have their games, also after
// one that was killed.
func TestProducersEnd(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(dir, "run", "locks", "producers")
	host, err := exec.Command("uname", "-n").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	// This process is no producers.sh: its number was given out again.
	filetest.Write(t, stale, fmt.Sprintf("%d %s", os.Getpid(), host))
	out, err := producers(t, dir, append([]string{"2", "run", "--max-games", "3"}, quickGames...)...).CombinedOutput()
	for _, want := range []string{"2 processes play in run, 3 to 4", "process 3 ended with 0: ", "process 4 ended with 0: "} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, no %q in:\n%s", err, want, out)
		}
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", stale, err)
	}
}

func TestProducersRefuse(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "file"), "")
	for args, says := range map[string]string{
		"":                                  "usage: ",
		"2":                                 "usage: ",
		"two run":                           `"two" is no number of processes`,
		"0 run":                             `"0" is no number of processes`,
		"2 --net":                           `"--net" is no run directory`,
		"2 file":                            "file is a file, want a run directory",
		"2 run --process 7":                 "--process is given by this script",
		"2 run --run-dir=x":                 "--run-dir=x is given by this script",
		"2 run --dry-run":                   "use it with chessbrain selfplay",
		"2 run --mcts-simulations nonsense": "mcts-simulations",
		"stop none":                         "there is no run directory none",
		"stop .":                            "nothing that scripts/producers.sh started plays in .",
		"stop . now":                        "stop takes a run directory and nothing else",
	} {
		cmd := producers(t, dir, strings.Fields(args)...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(string(out), says) {
			t.Errorf("%q: exit code %d, no %q in: %s", args, code, says, out)
		}
	}
	for variable, says := range map[string]string{
		"CHESSBRAIN=/nowhere/chessbrain": "there is no program /nowhere/chessbrain: build it",
		"FIRST=0":                        "FIRST=0: want 1 to 9999",
		"EVERY=soon":                     "EVERY=soon: want 1 to 9999 seconds",
	} {
		cmd := producers(t, dir, "2", "run")
		cmd.Env = append(cmd.Env, variable)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(string(out), says) {
			t.Errorf("%s: exit code %d, no %q in: %s", variable, code, says, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "run")); !os.IsNotExist(err) {
		t.Errorf("what was refused left a run directory: %v", err)
	}
}
