package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// open opens a process of the run at root that keeps metrics.jsonl.
func open(t *testing.T, ctx context.Context, root string, role Role, o Options) *Process {
	t.Helper()
	if o.Events == nil {
		o.Events = &Events{Job: "job", Metrics: filepath.Join(root, "m", string(role)), Start: &monitor.Run{}}
	}
	p, err := Open(ctx, Dir{Root: root}, role, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(nil) })
	return p
}

// phases are those of the run events in a role's metrics.jsonl, with their messages.
func phases(t *testing.T, root string, role Role) (list []string) {
	t.Helper()
	f, err := os.Open(filepath.Join(root, "m", string(role), monitor.MetricsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := monitor.Replay(f, func(e monitor.Event) error {
		if r, ok := e.(*monitor.Run); ok {
			list = append(list, strings.TrimSuffix(r.Phase+": "+r.Message, ": "))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// leave makes a file and a directory as if a process of this machine were writing them into
// a directory, or had been.
func leave(t *testing.T, dir string, process int) {
	t.Helper()
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		t.Fatal(err)
	}
	made, err := fsx.MkdirTemp(fsx.OS, filepath.Join(dir, "net"))
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Replace(made, fmt.Sprintf("net.%d-", os.Getpid()), fmt.Sprintf("net.%d-", process), 1)
	file := strings.Replace(path, ".net.", ".file.", 1)
	if err := errors.Join(os.Remove(made), os.Mkdir(path, 0o777), os.WriteFile(filepath.Join(path, "part"), nil, 0o666), os.WriteFile(file, nil, 0o666)); err != nil {
		t.Fatal(err)
	}
}

// TestOpenSweeps: the start of any process removes what killed ones left half written in the
// directories that several write to, and nothing of who lives; a stage of a loop does not look.
func TestOpenSweeps(t *testing.T) {
	root := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	d := NewDir(root, "main", "job", "", "")
	dirs := []string{root, d.History(), d.Checkpoints, filepath.Dir(d.HandedFile()), d.ToExport(), d.ToExportExtra(), d.Candidates(), d.Models(),
		d.ModelsExtra(), d.Rejected(), filepath.Join(d.Gates(), "net"), d.Matches(), LadderOf(root, "net"), d.Shuffled(), d.GamesOf("net", "p7"),
		d.Unfinished(), filepath.Join(root, "pgn"), filepath.Join(d.Metrics, "gatekeeper"), filepath.Join(root, "report", "b"), d.Logs(), d.Locks(), d.Fleet()}
	for _, dir := range dirs {
		leave(t, dir, child.Process.Pid)
		leave(t, dir, os.Getppid())
		leave(t, dir, os.Getpid())
	}
	count := func(what string, want int) {
		t.Helper()
		for _, dir := range dirs {
			if left, err := filepath.Glob(filepath.Join(dir, ".*.partial")); err != nil || len(left) != want {
				t.Errorf("%s: %v, want %d, %v", what, left, want, err)
			}
		}
	}
	open(t, t.Context(), root, Exporter, Options{Run: RunShared, Locked: true})
	count("a stage", 6)
	open(t, t.Context(), root, Gatekeeper, Options{Run: RunShared})
	count("a start", 4)
}

// TestProcessStops: a process answers on its socket, ends when it is told to, and
// closes what was opened last first, once.
func TestProcessStops(t *testing.T) {
	root := t.TempDir()
	var order []string
	status := Commands{Status: func() any { return "a page" }}
	p := open(t, t.Context(), root, Gatekeeper, Options{Run: RunShared, Commands: &status})
	for _, name := range []string{"first", "second"} {
		p.OnClose(func() error {
			order = append(order, name)
			p.Publish(&monitor.Run{Phase: name})
			return nil
		})
	}
	owners, err := fsx.Owners(Dir{Root: root}.Lock(Gatekeeper))
	if err != nil || len(owners) != 1 || owners[0].Socket == "" {
		t.Fatalf("owners %+v, %v: want one that names its socket", owners, err)
	}
	send := func(command string) (answer string) {
		if err := Send(t.Context(), owners[0].Socket, Message{Type: command}, func(m Message) error {
			answer = string(m.Payload)
			return nil
		}); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return answer
	}
	if got := send("status"); got != `"a page"` {
		t.Errorf("status %s", got)
	}
	swap := Send(t.Context(), owners[0].Socket, Message{Type: "swap-plugin", Payload: []byte(`{}`)}, func(Message) error { return nil })
	if swap == nil || swap.Error() != "a gatekeeper has no stages" {
		t.Errorf("swap: %v", swap)
	}
	send("stop")
	<-p.Context().Done()
	for range 2 {
		if err := p.Close(p.Context().Err()); err != ErrInterrupted {
			t.Errorf("close: %v", err)
		}
	}
	if !slices.Equal(order, []string{"second", "first"}) {
		t.Errorf("closed %v", order)
	}
	if got, want := phases(t, root, Gatekeeper), []string{"start", "second", "first", "stopped"}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if _, err := os.Stat(owners[0].Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	again := open(t, t.Context(), root, Gatekeeper, Options{Run: RunAlone})
	if err := again.Close(nil); err != nil {
		t.Errorf("all locks are free again: %v", err)
	}
}

// TestProcessEnds: what Close returns and publishes of what the work came to.
func TestProcessEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name      string
		interrupt bool
		err, want error
		phase     string
	}{
		{"done", false, nil, nil, "done"},
		{"failed", false, broken, broken, "failed: broken"},
		{"Ctrl-C", true, context.Canceled, ErrInterrupted, "stopped"},
		{"done before Ctrl-C", true, nil, nil, "done"},
		{"failed after Ctrl-C", true, broken, broken, "failed: broken"},
		{"saved", true, ErrInterrupted, ErrInterrupted, "stopped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			p := open(t, ctx, root, Loop, Options{})
			if c.interrupt {
				interrupt()
				<-p.Context().Done()
			}
			if err := p.Close(c.err); err != c.want {
				t.Errorf("close: %v, want %v", err, c.want)
			}
			if got := phases(t, root, Loop); !slices.Equal(got, []string{"start", c.phase}) {
				t.Errorf("events %v, want start and %s", got, c.phase)
			}
		})
	}
}

// TestProcessLocks: who keeps whom out, and that a refused process holds nothing.
func TestProcessLocks(t *testing.T) {
	root := t.TempDir()
	dir := Dir{Root: root}
	refused := func(role Role, o Options, by Role) {
		t.Helper()
		_, err := Open(t.Context(), dir, role, o)
		held, ok := errors.AsType[*fsx.LockedError](err)
		if !ok || held.Path != dir.Lock(by) {
			t.Fatalf("%s: %v, want that %s is held", role, err, by)
		}
	}
	gate := open(t, t.Context(), root, Gatekeeper, Options{Run: RunShared})
	refused(Gatekeeper, Options{Run: RunShared}, Gatekeeper)
	refused(Loop, Options{Run: RunAlone}, WholeRun)
	refused(Loop, Options{Before: []Role{Rater, Gatekeeper}}, Gatekeeper)
	rater := open(t, t.Context(), root, Rater, Options{}) // the refused loop has given it up
	if err := errors.Join(gate.Close(nil), rater.Close(nil)); err != nil {
		t.Fatal(err)
	}
	open(t, t.Context(), root, Loop, Options{Run: RunAlone, Before: []Role{Rater}})
	refused(Rater, Options{}, Rater)
	refused(Exporter, Options{Run: RunShared}, WholeRun)
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Open(ended, dir, Rater, Options{LockWait: time.Hour}); err != ErrInterrupted {
		t.Errorf("interrupted in the wait: %v", err)
	}
}

// TestProcessNumbers: the first free number is taken, one that is asked for is
// not exchanged, and a run that somebody has alone ends the search.
func TestProcessNumbers(t *testing.T) {
	root := t.TempDir()
	dir, shared := Dir{Root: root}, Options{Run: RunShared}
	open(t, t.Context(), root, Player(1), shared)
	second, n, err := OpenNumbered(t.Context(), dir, Player, 0, shared)
	if err != nil || n != 2 {
		t.Fatalf("number %d, %v", n, err)
	}
	defer second.Close(nil)
	if _, _, err := OpenNumbered(t.Context(), dir, Player, 2, shared); err == nil {
		t.Error("a number was given twice")
	}
	other := t.TempDir()
	open(t, t.Context(), other, Loop, Options{Run: RunAlone})
	if _, _, err := OpenNumbered(t.Context(), Dir{Root: other}, Player, 0, shared); err == nil {
		t.Error("it plays in a run that is held alone")
	}
}

// TestProcessLosesItsLock: the context ends with the cause, Err says it, and so
// does Close, whatever the work thought it came to.
func TestProcessLosesItsLock(t *testing.T) {
	for _, came := range []error{nil, context.Canceled, ErrInterrupted} {
		synctest.Test(t, func(t *testing.T) {
			root := t.TempDir()
			p := open(t, t.Context(), root, Rater, Options{heartbeatOnly: true})
			if err := p.Held(); err != nil {
				t.Fatalf("at the start: %v", err)
			}
			owners, err := filepath.Glob(Dir{Root: root}.Lock(Rater) + ".owner.*")
			if err != nil || len(owners) != 1 {
				t.Fatalf("owners %v, %v", owners, err)
			}
			if err := os.Remove(owners[0]); err != nil {
				t.Fatal(err)
			}
			<-p.Context().Done() // at the next heartbeat
			if cause := context.Cause(p.Context()); !errors.Is(cause, ErrLockLost) {
				t.Errorf("cause %v", cause)
			}
			if err := p.Err(); !errors.Is(err, ErrLockLost) {
				t.Errorf("err %v", err)
			}
			if err := p.Close(came); !errors.Is(err, ErrLockLost) {
				t.Errorf("close with %v: %v", came, err)
			}
			if got := phases(t, root, Rater); len(got) != 2 || !strings.HasPrefix(got[1], "failed: "+root) {
				t.Errorf("events %v", got)
			}
		})
	}
}

// TestProcessEvents: what a second start does to the file of the first.
func TestProcessEvents(t *testing.T) {
	for _, c := range []struct {
		appends bool
		want    []string
	}{
		{true, []string{"start", "done", "start", "done: 7"}},
		{false, []string{"start", "done: 7"}},
	} {
		root := t.TempDir()
		for start := range 2 {
			e := Events{Job: "job", Metrics: filepath.Join(root, "m", string(Exporter)), Append: c.appends, Start: &monitor.Run{}}
			if start == 1 {
				e.End = func(r *monitor.Run) { r.Message = "7" }
			}
			var heard int
			e.Readers = []monitor.Sink{monitor.SinkFunc(func(monitor.Event) error { heard++; return nil })}
			p := open(t, t.Context(), root, Exporter, Options{Events: &e})
			if err := p.Close(nil); err != nil || heard != 2 {
				t.Errorf("close: %v; a reader heard %d events", err, heard)
			}
		}
		if got := phases(t, root, Exporter); !slices.Equal(got, c.want) {
			t.Errorf("append %v: events %v, want %v", c.appends, got, c.want)
		}
	}
}

// TestProcessWithoutSocket: where no socket can be made the process works, and says so.
func TestProcessWithoutSocket(t *testing.T) {
	dir := Dir{Root: t.TempDir()}
	if err := os.MkdirAll(dir.Lock(Rater)+".sock/taken", 0o755); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	p, err := Open(t.Context(), dir, Rater, Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Commands: &Commands{}})
	if err != nil || !strings.Contains(log.String(), "without a control socket") {
		t.Fatalf("%v; the log says %q", err, log.String())
	}
	if err := p.Close(nil); err != nil {
		t.Error(err)
	}
}
