package train

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
)

// TestControl asks a running process for its state, a checkpoint and its end
// over the socket that its lock names.
func TestControl(t *testing.T) {
	for _, dir := range []string{t.TempDir() + "/run", t.TempDir() + "/" + strings.Repeat("long", 30)} {
		c := startChild(t, dir, "--episodes=100000 --checkpoint-interval=100000")
		for e, ok := c.next(t); ok && e.Type != "step"; e, ok = c.next(t) {
		}
		owners, err := fsx.Owners(filepath.Join(dir, "locks", "trainer-main"))
		if err != nil || len(owners) != 1 {
			t.Fatal(owners, err)
		}
		send := func(command string) (answer run.Message, err error) {
			err = run.Send(t.Context(), owners[0].Socket, run.Message{Type: command}, func(m run.Message) error { answer = m; return nil })
			return answer, err
		}
		var page Page
		if m, err := send("status"); err != nil || json.Unmarshal(m.Payload, &page) != nil || page.Episodes != 100000 || page.Step < 1 {
			t.Errorf("status: %v %s", err, m.Payload)
		}
		for _, command := range []string{"start-training-now", "dance"} {
			if _, err := send(command); err == nil {
				t.Errorf("%s was taken", command)
			}
		}
		if m, err := send("checkpoint-now"); err != nil || m.Type != "ok" {
			t.Errorf("checkpoint-now: %v %+v", err, m)
		}
		for e, ok := c.next(t); ok && (e.Type != "net" || e.Step == 0 || e.Action != "checkpoint"); e, ok = c.next(t) {
		}
		if m, err := send("stop"); err != nil || m.Type != "ok" {
			t.Errorf("stop: %v %+v", err, m)
		}
		if code := c.wait(t, nil); code != 5 {
			t.Errorf("exit code %d after stop\n%s", code, c.stderr.String())
		}
		if _, err := send("status"); err == nil {
			t.Error("the socket outlives its process")
		}
	}
}

// TestSubscribe: events come until the process ends.
func TestSubscribe(t *testing.T) {
	dir := t.TempDir() + "/run"
	c := startChild(t, dir, "--episodes=100000")
	for e, ok := c.next(t); ok && e.Type != "step"; e, ok = c.next(t) {
	}
	owners, err := fsx.Owners(filepath.Join(dir, "locks", "trainer-main"))
	if err != nil || len(owners) != 1 {
		t.Fatal(owners, err)
	}
	drained := make(chan struct{})
	go func() { // the child must not wait for its pipe
		defer close(drained)
		for c.lines.Scan() {
		}
	}()
	n := 0
	err = run.Send(t.Context(), owners[0].Socket, run.Message{Type: "subscribe"}, func(m run.Message) error {
		var e event
		if m.Type != "event" || json.Unmarshal(m.Payload, &e) != nil || e.Type == "" {
			t.Errorf("answer %s %s", m.Type, m.Payload)
		}
		if n++; n == 5 {
			return run.Send(t.Context(), owners[0].Socket, run.Message{Type: "stop"}, func(run.Message) error { return nil })
		}
		return nil
	})
	if err != nil || n < 5 {
		t.Errorf("%d events, %v", n, err)
	}
	<-drained
	if code := c.wait(t, nil); code != 5 {
		t.Errorf("exit code %d\n%s", code, c.stderr.String())
	}
}
