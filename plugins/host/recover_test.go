package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/spawn"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// Exactly the games that end the plugin alone are quarantined and go on as they
// are; all others are rescored, and none is lost.
func TestQuarantine(t *testing.T) {
	for _, c := range []struct {
		name string
		seed uint64
		says string // in the reason
	}{
		{"exit", seedDie, "exit status 7: panic: as told"},
		{"panic", seedPanic, "panic: a bug"},
		{"NaN", seedNaN, "answered wrongly"},
		{"hang", seedHang, "hung: no answer within 1.5s"},
		{"memory", seedEat, "MiB of memory, more than the 300 of plugins.memory_mib"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.seed == seedHang && testing.Short() {
				t.Skip("takes three deadlines")
			}
			if _, err := spawn.Resident(os.Getpid()); err != nil && c.seed == seedEat {
				t.Skip("no memory is told here: ", err)
			}
			t.Parallel() // beside the wait for deadlines
			var reasons []string
			b := newBench(t, []string{"halve"}, func(o *Options) {
				if c.seed == seedHang {
					o.CallTimeout = 1500 * time.Millisecond
				}
				if c.seed == seedEat {
					o.Memory = 300 << 20
				}
				keep := o.Quarantine
				o.Quarantine = func(kind stage.Kind, name, reason string, games []*record.Game) error {
					reasons = append(reasons, string(kind)+" "+name+" "+reason)
					return keep(kind, name, reason, games)
				}
			})
			r := b.rescorer("halve")
			games := randomGames(t, 30)
			bad := []*record.Game{games[4], games[17]}
			if c.seed == seedHang {
				bad = bad[:1] // each costs three times the limit
			}
			for _, g := range bad {
				g.Seed = c.seed
			}
			got := rescored(t, r, games)
			expectHalved(t, games, got, bad...)
			if !slices.Equal(b.kept, bad) {
				t.Errorf("%d games in quarantine, want %d", len(b.kept), len(bad))
			}
			for _, reason := range reasons {
				if !strings.HasPrefix(reason, "rescorer halve ") || !strings.Contains(reason, c.says) {
					t.Errorf("reason %q, want one with %q", reason, c.says)
				}
			}
			st := b.Stats()[0]
			if st.Quarantined != uint64(len(bad)) || st.Restarts != uint64(2+len(bad)) || st.Games != uint64(30-len(bad)) {
				t.Errorf("statistics %+v", st)
			}
		})
	}
}

// A game may be the first that the plugin ever sees: it is guilty only once the
// plugin has done well with another one.
func TestQuarantineOfTheFirst(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	r := b.rescorer("halve")
	games := randomGames(t, 6)
	games[0].Seed = seedDie
	got := rescored(t, r, games)
	expectHalved(t, games, got, games[0])
	if !slices.Equal(b.kept, games[:1]) {
		t.Errorf("%d games in quarantine", len(b.kept))
	}
}

// A failing Quarantine is the call's error: the game would be kept nowhere.
func TestQuarantineFails(t *testing.T) {
	full := errors.New("disk full")
	b := newBench(t, []string{"halve"}, func(o *Options) {
		o.Quarantine = func(stage.Kind, string, string, []*record.Game) error { return full }
	})
	r := b.rescorer("halve")
	games := randomGames(t, 3)
	games[1].Seed = seedDie
	if _, err := r.RescoreBatch(inTime(t), games); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

// Batches in flight when the plugin dies are all answered by the next process.
func TestResend(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	r := b.rescorer("halve")
	games := randomGames(t, 900) // several messages
	games[450].Seed = seedDieOnce
	got := rescored(t, r, games)
	expectHalved(t, games, got)
	if st := b.Stats()[0]; st.Restarts != 1 || st.Games != 900 || len(b.kept) != 0 {
		t.Errorf("statistics %+v, %d in quarantine", st, len(b.kept))
	}
	if got := b.states(); !slices.Equal(got, []string{Started, Failed, Started}) {
		t.Errorf("events %v", got)
	}
}

// A process that dies between calls is replaced, and no game is blamed.
func TestDeathWhileIdle(t *testing.T) {
	b := newBench(t, []string{"halve"}, nil)
	r := b.rescorer("halve")
	games := randomGames(t, 2)
	rescored(t, r, games[:1])
	kill(t, b.report("halve").PID)
	eventually(t, "the death is told", func() bool { return slices.Contains(b.states(), Failed) })
	got := rescored(t, r, games)
	expectHalved(t, games, got)
	if log := b.log(); !strings.Contains(log, "died while it was idle (signal: killed") {
		t.Error("the log does not say how it died")
	}
	if st := b.Stats()[0]; st.Restarts != 1 {
		t.Errorf("%d restarts", st.Restarts)
	}
}

// Failures in a row lengthen the pause, and too many end it all: an error, or
// games that go on as they are.
func TestGivenUp(t *testing.T) {
	for _, goOn := range []bool{false, true} {
		b := newBench(t, []string{"halve"}, func(o *Options) { o.Continue = goOn })
		r := b.rescorer("halve")
		games := randomGames(t, 4)
		rescored(t, r, games)
		games[0].Seed = seedDieOnce
		filetest.Write(t, filepath.Join(b.dir, "broken"), "")
		got, err := r.RescoreBatch(inTime(t), games)
		var e *Error
		if goOn {
			if err != nil {
				t.Fatal(err)
			}
			expectHalved(t, games, got, games...)
			err = r.(stage.Faulty).Err() // says so all the same
		}
		if !errors.Is(err, ErrGivenUp) || !errors.As(err, &e) || e.Name != "halve" ||
			!strings.Contains(err.Error(), "failed 6 times in a row") || !strings.Contains(err.Error(), "exit status 3: the file broken is there") {
			t.Errorf("Continue %v: error %v", goOn, err)
		}
		var ms []int64
		for _, d := range b.pauses {
			ms = append(ms, d.Milliseconds())
		}
		if !slices.Equal(ms, []int64{100, 200, 400, 800, 1600}) {
			t.Errorf("pauses of %v ms", ms)
		}
		if _, err := r.Rescore(inTime(t), games[1]); (err == nil) != goOn {
			t.Errorf("Continue %v: the next call: %v", goOn, err)
		}
		states := b.states()
		if slices.Contains(states, Replaced) != goOn || slices.Contains(states, Quarantined) {
			t.Errorf("Continue %v: events %v", goOn, states)
		}
	}
}

// A plugin that never gave a good answer is given up, and its games are not
// blamed.
func TestNeverGood(t *testing.T) {
	b := newBench(t, []string{"halve"}, func(o *Options) { o.Restarts = 3 })
	r := b.rescorer("halve")
	games := randomGames(t, 3)
	for _, g := range games {
		g.Seed = seedDie
	}
	if _, err := r.RescoreBatch(inTime(t), games); !errors.Is(err, ErrGivenUp) {
		t.Errorf("error %v", err)
	}
	if len(b.kept) != 0 {
		t.Errorf("%d games in quarantine", len(b.kept))
	}
}

// A good call ends the row of failures.
func TestFailuresInARow(t *testing.T) {
	b := newBench(t, []string{"halve"}, func(o *Options) { o.Restarts = 1 })
	r := b.rescorer("halve")
	games := randomGames(t, 5)
	for _, g := range games {
		g.Seed = seedDieOnce
		if _, err := r.Rescore(inTime(t), g); err != nil {
			t.Fatal(err)
		}
	}
	if st := b.Stats()[0]; st.Restarts != 5 {
		t.Errorf("%d restarts", st.Restarts)
	}
	for _, d := range b.pauses {
		if d != firstPause {
			t.Errorf("pause of %s", d)
		}
	}
}

func TestPauseAfter(t *testing.T) {
	for n, want := range map[int]time.Duration{1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 7: 6400 * time.Millisecond,
		8: 10 * time.Second, 9: 10 * time.Second, 1000: 10 * time.Second} {
		if got := pauseAfter(n); got != want {
			t.Errorf("after %d failures %s, want %s", n, got, want)
		}
	}
}

// A pause ends with the stage.
func TestCloseDuringPause(t *testing.T) {
	paused := make(chan struct{}, 1)
	b := newBench(t, []string{"halve"}, func(o *Options) {
		o.after = func(time.Duration) <-chan time.Time {
			paused <- struct{}{}
			return nil // for ever
		}
	})
	r := b.rescorer("halve")
	games := randomGames(t, 1)
	games[0].Seed = seedDie
	done := make(chan error)
	go func() {
		_, err := r.RescoreBatch(context.Background(), games)
		done <- err
	}()
	<-paused
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
}

// What a plugin logs comes with its name, level and attributes; a line in a form
// that go-plugin's own reader cannot take does no harm.
func TestLogs(t *testing.T) {
	b := newBench(t, []string{"badlog"}, nil)
	r := b.rescorer("badlog")
	rescored(t, r, randomGames(t, 1))
	b.Release(r)
	for _, want := range []string{
		`level=WARN msg="said by the plugin" plugin=badlog answer=42`,
		`level=INFO msg=halved plugin=badlog ordinal=0`,
		`level=INFO msg="{\"@message\": 1, \"@level\": {}, \"@timestamp\": []}" plugin=badlog`,
	} {
		if !strings.Contains(b.log(), want) {
			t.Errorf("the log does not have %s", want)
		}
	}
}

// A line on the standard output that is longer than go-plugin reads does not stop the
// plugin, which would wait for a reader.
func TestLongLine(t *testing.T) {
	b := newBench(t, []string{"talker"}, func(o *Options) { o.CallTimeout = 10 * time.Second })
	games := randomGames(t, 2)
	got := rescored(t, b.rescorer("talker"), games)
	expectHalved(t, games, got)
	if states := b.states(); !slices.Equal(states, []string{Started}) {
		t.Errorf("events %v", states)
	}
}

func TestLogLines(t *testing.T) {
	var l logs
	l.log = slog.New(slog.DiscardHandler)
	long := strings.Repeat("x", 3*maxLogLine)
	l.read(strings.NewReader("first\n\n" + long + "\npanic: it\x1b[2J fell\ngoroutine 1\nlast"))
	want := []string{"first", long[:maxLogLine], "panic: it?[2J fell", "goroutine 1", "last"}
	if !slices.Equal(l.last, want) {
		t.Errorf("%d lines, %.60q", len(l.last), l.last)
	}
	if got := l.reason(); got != want[2] {
		t.Errorf("reason %q", got)
	}
}

// What Python says of an exception is one record with the exception as its message and the
// traceback whole, however it comes; what begins like one and never ends is not kept.
func TestTracebacks(t *testing.T) {
	const places = "  File \"x.py\", line 5, in <module>\n    f()\n"
	const head, trace = "Traceback (most recent call last):\n", "Traceback (most recent call last):\n" + places + "KeyError: 'a'"
	asJSON := func(message, traceback string) string {
		line, err := json.Marshal(map[string]string{"@level": "error", "@message": message, "traceback": traceback})
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	for _, c := range []struct{ says, message, exception, traceback string }{
		{"first\n" + trace + "\nlast", "KeyError: 'a'", "", trace},
		{strings.ReplaceAll(trace, "\n", "\r\n"), "KeyError: 'a'", "", trace},
		{places + "    ^\nSyntaxError: no", "SyntaxError: no", "", strings.TrimSpace(places + "    ^\nSyntaxError: no")},
		{head + places, "f()", "", strings.TrimSpace(head + places)},
		{strings.Repeat(places, 3*maxLogLine/len(places)), "f()", "", strings.TrimSpace(strings.Repeat(places, maxLogLine/len(places)+1))}, // a part of it
		{asJSON("game 7", trace), "game 7", "KeyError: 'a'", trace},
		{asJSON("failed:\n"+trace+"\nof two lines\n", ""), "KeyError: 'a' | of two lines", "", "failed:\n" + trace + "\nof two lines"},
		{asJSON("in\ntwo", ""), "in | two", "", ""},
	} {
		var out bytes.Buffer
		l := logs{log: slog.New(slog.NewJSONHandler(&out, nil))}
		l.read(strings.NewReader(c.says))
		var got struct{ Level, Msg, Exception, Traceback string }
		for d := json.NewDecoder(&out); got.Level != "ERROR"; got.Traceback = strings.TrimSpace(got.Traceback) {
			if err := d.Decode(&got); err != nil {
				t.Fatalf("%.200q: %v", c.says, err)
			}
		}
		if got.Msg != c.message || got.Exception != c.exception || got.Traceback != c.traceback || !slices.Contains(l.last, c.message) {
			t.Errorf("%.200q: %.300q, kept %.100q", c.says, got, l.last)
		}
	}
}
