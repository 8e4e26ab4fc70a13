package plugintest

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/testing/faulty"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// short is the deadline of calls that are meant to miss it, and ample that of
// calls that are not.
const short, ample = time.Second, time.Minute

// outlasting are the modes that only a deadline ends. On a busy machine good calls may
// miss it, too: then more processes end than have to, which must not show in the
// rows either.
var outlasting = map[faulty.Mode]bool{faulty.Hang: true, faulty.Drip: true}

// trial is a host over the faulty program, and what it told.
type trial struct {
	*host.Host
	t   *testing.T
	o   host.Options
	log *logBuffer

	mu          sync.Mutex
	events      []host.Event
	quarantined []*record.Game
	reasons     []string
}

// try starts a host over the faulty program with a plan. change adjusts the
// options.
func try(t *testing.T, plan faulty.Plan, change func(*host.Options)) *trial {
	t.Helper()
	r := &trial{t: t, log: new(logBuffer)}
	o := host.Options{
		Dirs: []string{selfIn(t, faulty.Name)}, Env: []string{plan.Env()},
		StartTimeout: ample, CallTimeout: ample, Restarts: 10,
		Log:    slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Notify: r.notify, Quarantine: r.quarantine,
	}
	if outlasting[plan.Mode] {
		o.CallTimeout = short
	}
	if change != nil {
		change(&o)
	}
	h, err := host.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.o = h, o
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close the host: %v", err)
		}
		if t.Failed() {
			t.Logf("events: %+v\nlog:\n%s", r.eventsIn(""), r.log)
		}
	})
	return r
}

func (r *trial) notify(e host.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *trial) quarantine(_ stage.Kind, _, reason string, games []*record.Game) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quarantined, r.reasons = append(r.quarantined, games...), append(r.reasons, reason)
	return nil
}

// eventsIn returns the events of a state, all for "".
func (r *trial) eventsIn(state string) []host.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []host.Event
	for _, e := range r.events {
		if state == "" || e.State == state {
			events = append(events, e)
		}
	}
	return events
}

// wantFailure fails unless the host told of a failure of the plugin, with what
// it did.
func (r *trial) wantFailure(kind stage.Kind, words string) {
	r.t.Helper()
	failed := r.eventsIn(host.Failed)
	if len(failed) == 0 {
		r.t.Fatal("the host told of no failure")
	}
	for _, e := range failed {
		r.t.Log(e.Detail)
		if e.Kind != kind || e.Name != faulty.Name || !strings.Contains(e.Detail, words) {
			r.t.Errorf("the host told %+v, want %s %s and %q", e, kind, faulty.Name, words)
		}
	}
}

// wantError fails unless err names the plugin and says what it did.
func wantError(t *testing.T, err error, kind stage.Kind, words string) {
	t.Helper()
	var e *host.Error
	switch {
	case !errors.As(err, &e):
		t.Errorf("error %v, want a *host.Error", err)
	case e.Kind != kind || e.Name != faulty.Name || e.Did == "":
		t.Errorf("error %+v, want what %s %s did", e, kind, faulty.Name)
	case !strings.Contains(err.Error(), faulty.Name) || !strings.Contains(err.Error(), words):
		t.Errorf("error %q does not name %s and %q", err, faulty.Name, words)
	}
}

// TestStartFaults starts programs that do not come to life: the error names the
// program and says what it did, nothing stays behind.
func TestStartFaults(t *testing.T) {
	for mode, c := range map[faulty.Mode]struct {
		words string
		kind  stage.Kind
		slow  bool
	}{
		faulty.CrashAtStart:     {"exit status 3: crashing before the handshake", "", false},
		faulty.GarbageHandshake: {"hello, I am a plugin", "", false},
		faulty.SilentStart:      {"1s", "", true},
		faulty.WrongVersion:     {"speaks version 99 of the plugin protocol", "", false},
		faulty.WrongCore:        {"Plugin version: 9", "", false},
		faulty.WrongTransport:   {"netrpc", "", false},
		faulty.DeadSocket:       {"", "", true},
		faulty.HangDescribe:     {"1s", "", true},
		faulty.BadDescription:   {"wizard", "", false},
		faulty.RefuseOpen:       {"no settings are good enough", stage.KindRescorer, false},
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := try(t, faulty.Plan{Kind: stage.KindRescorer, Mode: mode}, func(o *host.Options) {
				if c.slow {
					o.StartTimeout = short
				}
			})
			_, err := r.Rescorer(t.Context(), stage.Choice{Name: faulty.Name})
			t.Log(err)
			wantError(t, err, c.kind, c.words)
			if s := r.Stats(); len(s) != 0 {
				t.Errorf("the host counts %+v", s)
			}
		})
	}
}

// TestSecondStart lets the program crash at its first start only: asking again
// works.
func TestSecondStart(t *testing.T) {
	plan := faulty.Plan{Kind: stage.KindRescorer, Mode: faulty.CrashAtStart, Once: filepath.Join(t.TempDir(), "once")}
	r := try(t, plan, nil)
	if _, err := r.Rescorer(t.Context(), stage.Choice{Name: faulty.Name}); err == nil {
		t.Fatal("the first start succeeded")
	}
	s, err := r.Rescorer(t.Context(), stage.Choice{Name: faulty.Name})
	if err != nil {
		t.Fatal(err)
	}
	g := Games(1, 1)[0]
	out, err := s.Rescore(t.Context(), g)
	if err != nil || times(t, g, out) != 1 {
		t.Errorf("%v, %v", out, err)
	}
}

// wantOneRestart fails unless the processes of a plan that misbehaves once were
// two, in the host's statistics and by their own account.
func (r *trial) wantOneRestart(plan faulty.Plan) {
	r.t.Helper()
	data, err := os.ReadFile(plan.Starts)
	if err != nil {
		r.t.Fatal(err)
	}
	starts, stats := strings.Count(string(data), "\n"), r.Stats()
	if outlasting[plan.Mode] && starts > 2 {
		return
	}
	if starts != 2 || len(stats) != 1 || stats[0].Restarts != 1 {
		r.t.Errorf("%d processes were started, statistics %+v, want 2 and 1 restart", starts, stats)
	}
}

// quiet is a log for hosts whose lines nobody reads.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// logBuffer collects log lines from several goroutines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
