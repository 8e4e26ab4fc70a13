package gate

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
)

// socketOf is the control socket that the lock's owner names.
func socketOf(t *testing.T, root string) string {
	t.Helper()
	owners, err := fsx.Owners(run.Dir{Root: root}.Lock(run.Gatekeeper))
	if err != nil || len(owners) != 1 || owners[0].Socket == "" {
		t.Fatalf("owners %+v, %v", owners, err)
	}
	return owners[0].Socket
}

// TestDaemon: a gatekeeper that waits takes a net that comes, says so to whoever
// asks or listens, and stops when it is told to.
func TestDaemon(t *testing.T) {
	root := t.TempDir()
	accepted := make(chan string, 10)
	o := options(t, root, "", monitor.SinkFunc(func(e monitor.Event) error {
		if n, ok := e.(*monitor.Net); ok {
			accepted <- n.Action + " " + n.Path
		}
		return nil
	}))
	o.Once, o.poll = false, time.Millisecond
	type end struct {
		s   *Summary
		err error
	}
	ended := make(chan end, 1)
	go func() {
		s, err := Run(context.Background(), o)
		ended <- end{s, err}
	}()
	aside := filepath.Join(t.TempDir(), "a"+run.NetSuffix)
	putNet(t, aside, 1, 1000)
	if err := os.MkdirAll(filepath.Join(root, "modelstobetested"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, candidate(root, "a")); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-accepted:
		if want := monitor.NetPublished + " " + filepath.Join(root, "models/a.safetensors"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	case e := <-ended:
		t.Fatalf("ended: %v", e.err)
	}
	var p Page
	err := run.Send(t.Context(), socketOf(t, root), run.Message{Type: "status"}, func(m run.Message) error { return json.Unmarshal(m.Payload, &p) })
	if err != nil || p.Job != "job" || p.Accepted != 1 || p.Rejected != 0 {
		t.Errorf("status %+v, %v", p, err)
	}
	if err := run.Send(t.Context(), socketOf(t, root), run.Message{Type: "checkpoint-now"}, func(run.Message) error { return nil }); err == nil {
		t.Error("a gatekeeper took a command of trainers")
	}
	if err := run.Send(t.Context(), socketOf(t, root), run.Message{Type: "stop"}, func(run.Message) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if e := <-ended; !errors.Is(e.err, run.ErrInterrupted) || len(e.s.Results) != 1 {
		t.Errorf("stopped: %+v, %v", e.s, e.err)
	}
}

// TestMetrics: the events of all starts stand in one file, each with a number of
// its own, also behind a line that a kill left torn.
func TestMetrics(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "metrics/job/gatekeeper", monitor.MetricsName)
	for n := range 3 {
		putNet(t, candidate(root, "a"+strings.Repeat("b", n)), uint64(n), int64(1000+n))
		decisions(t, root, "")
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"v":1,"type":`); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seq, starts, verdicts := uint64(0), 0, 0
	_, err = monitor.Replay(f, func(e monitor.Event) error {
		if seq++; e.Head().Seq != seq {
			t.Errorf("event %d has number %d", seq, e.Head().Seq)
		}
		switch e := e.(type) {
		case *monitor.Run:
			if e.Phase == monitor.RunStart {
				starts++
			}
		case *monitor.Gate:
			if e.Verdict == "accepted" {
				verdicts++
			}
		}
		return nil
	})
	if err != nil || starts != 3 || verdicts != 3 {
		t.Errorf("%d starts, %d nets accepted, %v", starts, verdicts, err)
	}
}

// TestConfig: what cannot work is refused before anything is made; a dry run
// makes nothing and names what waits.
func TestConfig(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	for more, want := range map[string]string{
		"games=7":                        "loop.gatekeeper.games",
		"visits=0":                       "loop.gatekeeper.visits",
		"max_plies=8":                    "loop.gatekeeper.max_plies",
		"sprt.enabled=true sprt.elo0=10": "sprt",
	} {
		o := Options{Once: true}
		if err := tryRun(t, root, more, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", more, err)
		}
	}
	var b strings.Builder
	if err := DryRun(resolve(t, root, ""), Dirs{}, &b); err != nil || !strings.Contains(b.String(), "nets to test: 0") {
		t.Errorf("dry run: %v\n%s", err, b.String())
	}
	if _, err := os.Stat(root); err == nil {
		t.Error("a directory was made")
	}
	putNet(t, candidate(root, "a"), 1, 1000)
	putNet(t, candidate(root, "b"), 1, 3000)
	putNet(t, filepath.Join(root, "models/c.safetensors"), 1, 2000)
	b.Reset()
	if err := DryRun(resolve(t, root, ""), Dirs{}, &b); err != nil || !strings.Contains(b.String(), "  b\n  a: older than") || !strings.Contains(b.String(), "models/c.safetensors") {
		t.Errorf("dry run: %v\n%s", err, b.String())
	}
	holds(t, root, ".", "models", "modelstobetested")
}

// tryRun runs a configuration that may be refused when it is read already.
func tryRun(t *testing.T, root, more string, o Options) error {
	t.Helper()
	e, err := resolveText(root, more)
	if err != nil {
		return err
	}
	o.Effective, o.Log = e, discard()
	_, err = Run(context.Background(), o)
	return err
}
