package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
)

// tryInit makes a tiny run in dir.
func tryInit(t *testing.T, dir, more string, b Beginning) (string, error) {
	t.Helper()
	var log strings.Builder
	return Init(context.Background(), Options{Training: setup.TrainingOf(runtest.Resolve(t, dir, more)), Command: "test", Version: "test", Log: runtest.LogTo(&log)}, b)
}

// A run that was made first and trained then is the run that was trained at once.
func TestInitThenTrain(t *testing.T) {
	at, made := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "a")
	train(t, at, "--episodes=4")
	path, err := tryInit(t, made, "--episodes=4", Beginning{})
	if err != nil || filepath.Base(path) != "a_step00000000" {
		t.Fatalf("%s: %v", path, err)
	}
	train(t, made, "--episodes=4")
	if checkRun(t, at, 4, 12) != checkRun(t, made, 4, 12) {
		t.Error("init has changed what was learnt")
	}
}

// A net from elsewhere is what the run begins with, also where the configuration
// says nothing of its form, and a run that is there is refused.
func TestInitNet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	arch := nntest.Named("8x2")
	net := nn.Init(arch, 77)
	const plain = "other net"
	e := runtest.Resolve(t, dir, "")
	b := Beginning{Net: net, From: plain}
	_, err := Init(context.Background(), Options{Training: setup.TrainingOf(e), Command: "test", Version: "test", Log: runtest.LogTo(&strings.Builder{})}, b)
	var coded interface{ ExitCode() int }
	if !errors.As(err, &coded) || coded.ExitCode() != 2 || !strings.Contains(err.Error(), "wants a net 8x1") {
		t.Fatalf("another architecture: %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("something was created: %v", err)
	}
	same := runtest.Resolve(t, dir, "")
	if net, err = setup.InitialNet(same, 5); err != nil {
		t.Fatal(err)
	}
	path, err := tryInit(t, dir, "", Beginning{Net: net, From: plain})
	if err != nil {
		t.Fatal(err)
	}
	c, err := setup.FindCheckpoint(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := setup.CheckpointNet(c); err != nil || got.ID() != net.ID() {
		t.Errorf("the first checkpoint has another net: %v", err)
	}
	if _, err = tryInit(t, dir, "", Beginning{}); !errors.As(err, &coded) || coded.ExitCode() != 2 || !strings.Contains(err.Error(), "is a run already") {
		t.Errorf("a run that is there: %v", err)
	}
	s, _ := train(t, dir, "--episodes=2")
	if s.Steps != 6 {
		t.Errorf("%d steps", s.Steps)
	}
	if kept, err := setup.ReadNet(filepath.Join(dir, "initial.safetensors")); err != nil || kept.ID() != net.ID() {
		t.Errorf("the initial net: %v", err)
	}
}
