//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a chessbrain of its own.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner // of stderr
}

// start runs the program (this test binary, see TestMain) in a directory.
func start(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	// A process that hangs is ended, so that the test fails and does not hang too.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "chessbrain", args...)
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{t, cmd, bufio.NewScanner(stderr)}
}

// waitFor reads stderr up to a line with the text.
func (p *process) waitFor(text string) {
	p.t.Helper()
	var seen []string
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), text) {
			return
		}
		seen = append(seen, p.lines.Text())
	}
	p.cmd.Wait()
	p.t.Fatalf("ended (%v) without %q; it said:\n%s", p.cmd.ProcessState, text, strings.Join(seen, "\n"))
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// exit reads the rest and returns it with the exit code.
func (p *process) exit() (code int, rest string) {
	p.t.Helper()
	var b strings.Builder
	for p.lines.Scan() {
		b.WriteString(p.lines.Text() + "\n")
	}
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode(), b.String()
}

// endless are arguments of a run of quick games and steps that does not end by
// itself and saves only when it is stopped.
var endless = []string{"train", "--episodes", "1000000", "--checkpoint-interval", "1000000", "--net", "16x1",
	"--mcts-simulations", "2", "--max-plies", "12", "--train-steps-per-episode", "1"}

// TestInterrupt stops a run with each signal: it saves, exits with 5 and goes on
// with the same command.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		p := start(t, dir, endless...)
		p.waitFor("training phase=")
		p.signal(s)
		p.waitFor("finishing the current step, then saving; press Ctrl-C again to end at once")
		code, rest := p.exit()
		if code != exitInterrupted || !strings.Contains(rest, "chessbrain: interrupted and saved; the same command goes on") {
			t.Fatalf("%v: exit code %d, want %d: %s", s, code, exitInterrupted, rest)
		}
	}
	newest := newestCheckpoint(t, dir)
	p := start(t, dir, endless...)
	p.waitFor("phase=resume")
	p.signal(os.Interrupt)
	if code, rest := p.exit(); code != exitInterrupted {
		t.Fatalf("exit code %d: %s", code, rest)
	}
	if again := newestCheckpoint(t, dir); again < newest {
		t.Errorf("newest checkpoint %s, before it was %s", again, newest)
	}
}

// newestCheckpoint returns the last checkpoint of the run below dir.
func newestCheckpoint(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "runs/chessbrain/train/main/checkpoints/chessbrain_step*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no checkpoint: %v", err)
	}
	return found[len(found)-1]
}

// TestSecondInterrupt ends a run in the middle of a step that takes minutes.
func TestSecondInterrupt(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "train", "--net", "64x6", "--mcts-simulations", "1", "--max-plies", "4", "--batch-size", "1024",
		"--grad-accum-steps", "1000", "--validation-share", "0", "--log-every", "0.001")
	p.waitFor("episode 1/4") // its step follows
	p.signal(os.Interrupt)
	p.waitFor("press Ctrl-C again")
	p.signal(os.Interrupt)
	code, rest := p.exit()
	if code != exitKilled {
		t.Errorf("exit code %d, want %d: %s", code, exitKilled, rest)
	}
	// What was saved before is whole, and nobody holds the run.
	out, err := exec.Command("chessbrain", "describe", filepath.Join(dir, "runs/chessbrain")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "chessbrain_step00000000") {
		t.Errorf("after the end: %v: %s", err, out)
	}
}

// TestRunInUse starts a second trainer on a run: it exits with 2 and says who
// holds it; ctl reaches the first one.
func TestRunInUse(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, endless...)
	p.waitFor("training phase=")
	second := start(t, dir, endless...)
	code, rest := second.exit()
	if code != exitUsage || !strings.Contains(rest, fmt.Sprintf("process %d ", p.cmd.Process.Pid)) {
		t.Errorf("exit code %d, want %d: %s", code, exitUsage, rest)
	}
	for command, want := range map[string]string{"status": `"type":"status"`, "checkpoint-now": `"type":"ok"`} {
		if out, err := ctl(dir, command); err != nil || !strings.Contains(out, want) {
			t.Errorf("ctl %s: %v: %s", command, err, out)
		}
	}
	if out, err := ctl(dir, "swap-plugin"); err == nil || !strings.Contains(out, "chessbrain plugins swap") {
		t.Errorf("ctl swap-plugin: %v: %s", err, out)
	}
	if out, err := ctl(dir, "stop"); err != nil {
		t.Errorf("ctl stop: %v: %s", err, out)
	}
	if code, rest := p.exit(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d: %s", code, exitInterrupted, rest)
	}
}

func ctl(dir, command string) (string, error) {
	out, err := exec.Command("chessbrain", "ctl", filepath.Join(dir, "runs/chessbrain"), command).CombinedOutput()
	return string(out), err
}

// script is the command line of a shell script in a directory, with this test binary as
// the program. One that hangs is ended.
func script(t *testing.T, limit time.Duration, dir, path string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("chessbrain")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here: the script cannot run")
	}
	path, err = filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "bash", append([]string{path}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it takes its processes along
	cmd.WaitDelay = 20 * time.Second
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CHESSBRAIN="+program)
	return cmd
}

// TestDemoScript runs the script with the environment that its users know, and an
// argument that wins over it.
func TestDemoScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := script(t, 5*time.Minute, dir, demoScript, "--episodes", "2", "--net", "16x1", "--max-plies", "8")
	cmd.Env = append(cmd.Env, "EPISODES=1", "BATCH_SIZE=4", "CHECKPOINT_INTERVAL=1", "EXPLORATION_RATE=0.2", "SEED=3",
		"GRAD_ACCUM_STEPS=2", "MCTS_SIMULATIONS=2", "MCTS_CPUCT=1.2", "PRODUCER_WORKERS=1", "PRODUCER_QUEUE_SIZE=2", "PRODUCER_DEVICE=cpu",
		"NO_AMP=1", "MODEL_CHECKPOINT_DIR=checkpoints", "TENSORBOARD_LOG_DIR=tensorboard")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Done: 2 of 2 episodes") {
		t.Fatalf("%v: %s", err, out)
	}
	for _, pattern := range []string{"checkpoints/chessbrain/chessbrain_step*/manifest.json", "tensorboard/chessbrain/metrics.jsonl", "tensorboard/chessbrain/events.out.tfevents.*"} {
		if found, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(found) == 0 {
			t.Errorf("no %s", pattern)
		}
	}
}

// A run goes on to its end without a terminal that breaks, and its log says so.
func TestBrokenTerminal(t *testing.T) {
	dir := t.TempDir()
	reader, broken, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Close()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	train := func(run string, stdout io.Writer) (*exec.Cmd, error) {
		cmd := exec.CommandContext(t.Context(), "chessbrain", "train", run, "--episodes", "3", "--mcts-simulations", "2",
			"--max-plies", "8")
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stdout, broken
		return cmd, cmd.Run()
	}
	var out strings.Builder
	if _, err := train("a", &out); err != nil || !strings.Contains(out.String(), "Done: 3 of 3 episodes") {
		t.Errorf("standard error broken: %v, %q", err, out.String())
	}
	logs, err := filepath.Glob(filepath.Join(dir, "a/logs/*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	if log, err := os.ReadFile(logs[0]); err != nil || strings.Count(string(log), "the terminal could not be written") != 1 {
		t.Errorf("%v; the log:\n%s", err, log)
	}
	// Nothing can be told, but all is done.
	if cmd, _ := train("b", broken); cmd.ProcessState.ExitCode() != exitFailure {
		t.Error("without a summary it ended with", cmd.ProcessState)
	}
	for _, run := range []string{"a", "b"} {
		if _, err := os.Stat(filepath.Join(dir, run, "report", "report.md")); err != nil {
			t.Error("the report:", err)
		}
	}
	if games, err := os.ReadFile(filepath.Join(dir, "b/journal")); err != nil || strings.Count(string(games), "\n") != 3 {
		t.Errorf("%v; the journal:\n%s", err, games)
	}
}
