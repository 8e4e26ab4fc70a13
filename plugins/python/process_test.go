package python

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/plugins/plugintest"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// lines is a log in memory.
type lines struct {
	sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

const loud = `#!/usr/bin/env -S python3 -B
import logging
from chessbrain_plugin import Rescorer, serve

class Loud(Rescorer):
    name = "loud"
    version = "0.1.0"
    doc = "says what it sees"

    def rescore(self, game):
        logging.warning("a game of %d plies", len(game.moves))
        print("just printed")
        if len(game.moves) == 1:
            raise KeyError("too short")

serve(Loud)
`

// What a plugin logs and prints comes through with its name, and an exception is
// the error of its game.
func TestLogsAndExceptions(t *testing.T) {
	var log lines
	h := over(t, program(t, "loud", loud), slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	r := rescorer(t, h, "loud", nil)
	edge := plugintest.EdgeGames(3)
	if _, err := r.Rescore(t.Context(), edge[0]); err != nil {
		t.Error(err)
	}
	for _, g := range edge {
		_, err := r.Rescore(t.Context(), g)
		if short := len(g.Plies) == 1; short != (err != nil) || short && !strings.Contains(err.Error(), "KeyError: 'too short'") {
			t.Errorf("game of %d plies: %v", len(g.Plies), err)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	for _, want := range [][]string{
		{"level=WARN", "a game of 450 plies", "plugin=loud"},
		{"just printed", "plugin=loud"},
		{"level=ERROR", `exception="KeyError: 'too short'"`, `traceback="Traceback (most recent call last):\n  File`, "plugin=loud"},
	} {
		if !holdsLine(log.String(), want) {
			t.Errorf("no line of the log has %q:\n%s", want, log.String())
		}
	}
}

// holdsLine says whether one line of text has all of the parts.
func holdsLine(text string, parts []string) bool {
	for line := range strings.Lines(text) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}
	return false
}

// A message beyond gRPC's own limit of 4 MiB arrives: it is the plugin that
// refuses this state.
func TestLargeMessage(t *testing.T) {
	h := over(t, program(t, "recent", read(t, "examples/recent.py")), nil)
	s, err := h.Sampler(t.Context(), stage.Choice{Name: "recent"})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Sample(t.Context(), stage.Draw{State: bytes.Repeat([]byte("x"), 8<<20)}, nil)
	if err == nil || !strings.Contains(err.Error(), "Expecting value") {
		t.Errorf("8 MiB that are no state: %v", err)
	}
}

// The process ends by itself when the one that started it is killed: what it
// holds open is closed.
func TestEndsWithItsHost(t *testing.T) {
	dir := program(t, "decided", read(t, "decided/plugin.py"))
	sockets, err := os.MkdirTemp("", "") // t.TempDir's names are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(sockets)
	parent := exec.Command("/bin/sh", "-c", `"$1" & wait`, "sh", filepath.Join(dir, "plugin.py"))
	parent.Env = append(os.Environ(), "CHESSBRAIN_PLUGIN=chessbrain", "PLUGIN_UNIX_SOCKET_DIR="+sockets)
	stdout, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	parent.Stdout = w
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	output := bufio.NewReader(stdout)
	line, err := output.ReadString('\n')
	fields := strings.Split(line, "|")
	if err != nil || len(fields) != 5 || fields[0]+fields[1]+fields[2] != "13unix" || filepath.Dir(fields[3]) != sockets || fields[4] != "grpc\n" {
		t.Fatalf("handshake %q, %v", line, err)
	}
	socket := fields[3]
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	if err := stdout.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(output); err != nil || len(rest) > 0 { // returns when the plugin has ended
		t.Errorf("%q, %v", rest, err)
		pid, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(socket), ".sock"))
		if plugin, err := os.FindProcess(pid); err == nil && pid > 1 {
			plugin.Kill()
		}
	}
}

// Started by hand a plugin says what it is.
func TestStartedByHand(t *testing.T) {
	path := filepath.Join(program(t, "decided", read(t, "decided/plugin.py")), "plugin.py")
	out, err := exec.CommandContext(t.Context(), path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "decided 1.0.0, a rescorer of chessbrain: positions") || !strings.Contains(string(out), "--rescorer decided") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = exec.CommandContext(t.Context(), path, "--describe").Output()
	if err != nil || !strings.Contains(string(out), `"default_value": "0.25"`) {
		t.Errorf("--describe: %v: %s", err, out)
	}
}
