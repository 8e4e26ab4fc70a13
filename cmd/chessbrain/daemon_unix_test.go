//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// said is a message of the daemon, as far as the test looks at it.
type said struct {
	Type    string `json:"type"`
	Payload struct {
		Message  string `json:"message"`
		Reason   string `json:"reason"`
		Step     int64  `json:"step"`
		Networks int64  `json:"networks"`
		Action   string `json:"action"`
		Schedule struct {
			Stage string `json:"current_stage"`
			Wait  int64  `json:"chunks_to_wait"`
		} `json:"training_schedule"`
	} `json:"payload"`
}

// daemonRL is a training that waits for new games.
const daemonRL = `run_dir: "run"
data_loader {
  stage { name: "files" file_path_provider { directory: "games" poll_seconds: 0.1 } }
  stage { name: "reader" input: "files" chunk_source_reader {} }
  stage { name: "pool" input: "reader" shuffling_chunk_pool { hanse_sampling: true } }
  stage { name: "unpack" input: "pool" chunk_unpacker { position_count: 1 } }
  stage { name: "train" input: "unpack" tensor_generator { batch_size: 8 } }
  output: "train" }
model { net: "16x1" }
training { source: LOADER batch_size: 8 schedule { steps_per_network: 5 chunks_per_network: 6 } }
`

// TestDaemon talks to a daemon over its pipes: a net of the games there are, a
// wait, a second net on request; then the pipe is closed.
func TestDaemon(t *testing.T) {
	dir := t.TempDir()
	play := exec.Command("chessbrain", append([]string{"selfplay", "--output-dir", "games", "--models-dir", "none", "--max-games", "8"}, quickGames...)...)
	play.Dir = dir
	if err := os.Mkdir(filepath.Join(dir, "none"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := play.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	filetest.Write(t, filepath.Join(dir, "rl.textproto"), daemonRL)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // one that hangs is ended
	defer cancel()
	cmd := exec.CommandContext(ctx, "chessbrain", "daemon", "--quiet")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	messages := bufio.NewScanner(out)
	messages.Buffer(nil, 1<<20)
	until := func(what string, found func(said) bool) {
		t.Helper()
		for messages.Scan() {
			var m said
			if err := json.Unmarshal(messages.Bytes(), &m); err != nil || m.Type == "" {
				t.Fatalf("stdout holds %q: %v", messages.Text(), err)
			}
			if found(m) {
				return
			}
		}
		cmd.Wait()
		t.Fatalf("the daemon ended (%v) before %s; it logged:\n%s", cmd.ProcessState, what, stderr.String())
	}
	tell := func(line string) {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	until("hello", func(m said) bool { return m.Type == "hello" })
	tell(`{"type":"start_training","payload":{"config_filepath":"missing.textproto"}}`)
	until("an error", func(m said) bool {
		return m.Type == "error" && strings.Contains(m.Payload.Message, "missing.textproto")
	})
	tell(`{"type":"start_training","payload":{"config_filepath":"rl.textproto"}}`)
	until("the training", func(m said) bool { return m.Type == "training_started" })
	until("a net", func(m said) bool { return m.Type == "event" && m.Payload.Action == "published" && m.Payload.Step == 5 })
	// 6 + 6 - 8 = 4 chunks are missing, and none come.
	until("the wait", func(m said) bool {
		return m.Type == "training_status" && m.Payload.Schedule.Stage == "WAITING FOR DATA" && m.Payload.Schedule.Wait == 4
	})
	tell(`{"type":"start_training_immediately","payload":{}}`)
	until("an answer", func(m said) bool { return m.Type == "ack" })
	until("the second net", func(m said) bool { return m.Type == "training_status" && m.Payload.Networks == 2 })
	in.Close()
	until("the end", func(m said) bool { return m.Type == "training_finished" && m.Payload.Reason == "interrupted" })
	for messages.Scan() {
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d: %s", code, exitInterrupted, stderr.String())
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "run/train/main/checkpoints/run_step00000010")); len(found) != 1 {
		t.Errorf("no checkpoint of step 10")
	}
}

// TestDaemonLosesItsReader: a daemon whose stdout nobody reads any more saves, as
// if its input had ended.
func TestDaemonLosesItsReader(t *testing.T) {
	dir := t.TempDir()
	text := fmt.Sprintf("selfplay { episodes: 1000000 max_plies: 12 } mcts { simulations: 2 } model { net: %q } training { steps_per_episode: 1 checkpoint { interval: 1000000 } }", "16x1")
	filetest.Write(t, filepath.Join(dir, "endless.textproto"), text)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chessbrain", "daemon", "--config", "endless.textproto", "--quiet")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var m said
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if m.Type == "training_status" && m.Payload.Step > 0 {
			break
		}
	}
	out.Close()
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("%v, want exit code %d", cmd.ProcessState, exitInterrupted)
	}
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		t.Errorf("ended by signal %v", s.Signal())
	}
}
