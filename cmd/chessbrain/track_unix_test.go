//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// TestTrackKilled holds that MLflow's and W&B's files have every step of a run once after
// the run was killed and went on, that both keep the run's id, and that chessbrain report
// writes the same again.
func TestTrackKilled(t *testing.T) {
	dir := t.TempDir()
	tracked := []string{"--mlflow", "mlruns", "--wandb", "wandb"}
	train := append([]string{"train", "a", "--net", "16x1", "--mcts-simulations", "2", "--max-plies", "12",
		"--train-steps-per-episode", "1", "--checkpoint-interval", "3", "--log-level", "info", "--episodes"}, "100000")
	train = append(train, tracked...)
	p := start(t, dir, train...)
	p.waitFor("checkpoint")
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // both have some of the run
		metrics, _ := filepath.Glob(filepath.Join(dir, "mlruns/*/*/metrics/train/loss"))
		logs, _ := filepath.Glob(filepath.Join(dir, "wandb/*/run-*.wandb"))
		if len(metrics) > 0 && len(logs) > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("nothing was written of the run in a minute")
		}
	}
	p.signal(syscall.SIGKILL)
	p.exit()
	saved, err := filepath.Glob(filepath.Join(dir, "a/train/main/checkpoints/a_step*"))
	if err != nil || len(saved) == 0 {
		t.Fatalf("checkpoints: %v, %v", saved, err)
	}
	step := 0
	if _, err := fmt.Sscanf(filepath.Base(saved[len(saved)-1]), "a_step%d", &step); err != nil {
		t.Fatalf("%s: %v", saved, err)
	}
	for i, word := range train { // a few more
		if word == "100000" {
			train[i] = fmt.Sprint(max(step+8, 12))
		}
	}
	ended(t, start(t, dir, train...))

	in, err := os.Open(filepath.Join(dir, "a", "metrics", "a", monitor.MetricsName))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	want := ""
	if _, err := monitor.Replay(in, func(e monitor.Event) error {
		if s, ok := e.(*monitor.Step); ok {
			want += fmt.Sprintf("%d %v %d\n", s.Time.UnixMilli(), float64(s.Loss), s.Step)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	loss := glob(t, dir, "mlruns/*/*/metrics/train/loss", 1)[0]
	got, err := os.ReadFile(loss)
	if err != nil || string(got) != want || strings.Count(want, "\n") < 10 {
		t.Errorf("%v: MLflow has\n%swant\n%s", err, got, want)
	}
	if nets := glob(t, dir, "mlruns/*/*/artifacts/nets/*.safetensors", 2); len(nets) == 2 {
		a, errA := os.Stat(nets[1])
		b, errB := os.Stat(filepath.Join(dir, "a", "models", filepath.Base(nets[1])))
		if errA != nil || errB != nil || !os.SameFile(a, b) {
			t.Errorf("%s is no link to the run's: %v, %v", nets[1], errA, errB)
		}
	}
	var logs [2][]byte
	for i := range logs {
		ended(t, start(t, dir, append([]string{"report", "a"}, tracked...)...))
		logs[i] = filetest.Read(t, glob(t, dir, "wandb/offline-run-*/run-*.wandb", 1)[0])
		if again, err := os.ReadFile(glob(t, dir, "mlruns/*/*/metrics/train/loss", 1)[0]); err != nil || string(again) != want {
			t.Errorf("%v: report writes another run of MLflow", err)
		}
	}
	if len(logs[0]) == 0 || !bytes.Equal(logs[0], logs[1]) {
		t.Errorf("report writes %d and %d bytes for W&B", len(logs[0]), len(logs[1]))
	}
}

// ended wants a process to end well.
func ended(t *testing.T, p *process) {
	t.Helper()
	if code, rest := p.exit(); code != exitOK {
		t.Fatalf("exit code %d: %s", code, rest)
	}
}
