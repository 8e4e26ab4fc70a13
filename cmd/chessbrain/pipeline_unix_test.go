//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPipelineInterrupt stops a run while it plays: it says with which command it
// goes on, exits with 5, and the same command goes on with the same T.
func TestPipelineInterrupt(t *testing.T) {
	dir := t.TempDir()
	args := []string{"pipeline", "--num-games", "1000000", "--num-workers", "1", "--batch-size", "4", "--visits", "2",
		"--override-config", "model.net=16x1,selfplay.max_plies=12"}
	var runs []string
	for _, line := range []string{"playing", "goes on with the unfinished run"} {
		p := start(t, dir, args...)
		p.waitFor(line)
		p.signal(os.Interrupt)
		code, rest := p.exit()
		if code != exitInterrupted || !strings.Contains(rest, "the same command goes on with run ") {
			t.Fatalf("exit code %d:\n%s", code, rest)
		}
		found, err := filepath.Glob(filepath.Join(dir, "data", "pipeline_*.json"))
		if err != nil || len(found) != 1 {
			t.Fatalf("runs %v, %v", found, err)
		}
		runs = append(runs, found[0])
	}
	if runs[0] != runs[1] {
		t.Errorf("another run: %v", runs)
	}
	p := start(t, dir, append(args, "--num-workers", "2")...)
	code, rest := p.exit()
	if code != exitUsage || !strings.Contains(rest, "--num-workers was 1, now 2") {
		t.Errorf("other flags: exit code %d:\n%s", code, rest)
	}
}
