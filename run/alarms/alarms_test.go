package alarms

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// TestRules holds each rule on both sides of its limit.
func TestRules(t *testing.T) {
	ends := func(name string, n int) map[string]int { return map[string]int{name: n, "checkmate": 100 - n} }
	inf := math.Inf(1)
	for _, c := range []struct {
		what string
		got  *monitor.Alarm
		code string // "" = none
		says string
	}{
		{"95 of 100 draws", DrawShare(Games{Games: 100, Draws: 95}), CodeDrawShare, "95 % of the last 100 games"},
		{"94 of 100 draws", DrawShare(Games{Games: 100, Draws: 94}), "", ""},
		{"no games", DrawShare(Games{}), "", ""},
		{"half by the limit", Ends(Games{Games: 100, Ends: ends("max-plies", 50)}), CodeMaxPlies, "50 %"},
		{"fewer by the limit", Ends(Games{Games: 100, Ends: ends("max-plies", 49)}), "", ""},
		{"given up", Ends(Games{Games: 100, Ends: ends("aborted", 5)}), CodeAborted, "5 %"},
		{"repetition", Ends(Games{Games: 100, Ends: ends("repetition", 85)}), CodeOneEnd, "by repetition (repetition 85, checkmate 15)"},
		{"less repetition", Ends(Games{Games: 100, Ends: ends("repetition", 84)}), "", ""},
		{"all won", Ends(Games{Games: 100, Ends: ends("checkmate", 100)}), "", ""},
		{"collapse", EntropyCollapse(Entropy{Steps: 7, Policy: 0.29, Target: 0.2, Legal: 3}), CodeEntropy, "0.290 nats over the last 7 steps"},
		{"strong and sure", EntropyCollapse(Entropy{Policy: 0.31, Target: 0.2, Legal: 3}), "", ""},
		{"surer than the search", EntropyCollapse(Entropy{Policy: 0.5, Target: 1.1, Legal: 3}), CodeOverSure, "1.100"},
		{"entropies that nobody measured", EntropyCollapse(Entropy{Policy: 0.5}), "", ""},
		{"no number", EntropyCollapse(Entropy{Policy: math.NaN(), Legal: 3}), "", ""},
		{"no target", NoTarget("value", 100), CodeNoTarget, "value head learns nothing: no row of the last 100 steps"},
		{"a fall", EloFall("random-mover", []Point{{"a", 100, 50, 150}, {"b", 300, 200, 400}, {"c", 80, 0, 199}}), CodeEloFall, "c has Elo +80 (95 %: +0 to +199) against random-mover, b had Elo +300"},
		{"perhaps a fall", EloFall("x", []Point{{"b", 300, 200, 400}, {"c", 80, 0, 200}}), "", ""},
		{"a rise", EloFall("x", []Point{{"b", 0, -10, 10}, {"c", inf, 500, inf}}), "", ""},
		{"a fall from all points", EloFall("x", []Point{{"b", inf, 500, inf}, {"c", 0, -10, 10}}), CodeEloFall, "all or no points"},
		{"one net", EloFall("x", []Point{{"b", 0, -10, 10}}), "", ""},
	} {
		switch {
		case c.code == "" && c.got != nil:
			t.Errorf("%s: %+v", c.what, c.got)
		case c.code != "" && (c.got == nil || c.got.Code != c.code || !strings.Contains(c.got.Message, c.says) || c.got.Remedy == "" || c.got.Severity != "warning"):
			t.Errorf("%s: %+v, want %s with %q", c.what, c.got, c.code, c.says)
		}
	}
}

// watch runs events through a watcher and returns the codes of its alarms, with
// the step and episode of each.
func watch(t *testing.T, events ...monitor.Event) (told []*monitor.Alarm) {
	t.Helper()
	w := New(func(e monitor.Event) { told = append(told, e.(*monitor.Alarm)) })
	for _, e := range events {
		if err := w.Handle(e); err != nil {
			t.Fatal(err)
		}
	}
	return told
}

// games returns so many episodes from number first on, won or drawn by
// repetition.
func games(first, n int, drawn bool) (events []monitor.Event) {
	for i := range n {
		e := &monitor.Episode{Episode: int64(first + i), Step: 7, WhiteResult: 1, End: "checkmate"}
		if drawn {
			e.WhiteResult, e.End = 0, "repetition"
		}
		events = append(events, e)
	}
	return events
}

// TestWatchGames: an alarm comes with a full window, again only after five more,
// and not any more once games are different.
func TestWatchGames(t *testing.T) {
	if told := watch(t, games(1, gameWindow-1, true)...); len(told) != 0 {
		t.Errorf("before the window is full: %+v", told)
	}
	told := watch(t, games(1, 6*gameWindow-1, true)...)
	if len(told) != 2 || told[0].Code != CodeDrawShare || told[1].Code != CodeOneEnd || told[0].Episode != gameWindow || told[0].Step != 7 {
		t.Errorf("one window of draws: %+v", told)
	}
	if told := watch(t, games(1, 6*gameWindow, true)...); len(told) != 4 {
		t.Errorf("draws that go on: %+v", told)
	}
	if told := watch(t, append(games(1, gameWindow, true), games(gameWindow+1, 20*gameWindow, false)...)...); len(told) != 2 {
		t.Errorf("draws that end: %+v", told)
	}
	if told := watch(t, games(1, 3*gameWindow, false)...); len(told) != 0 {
		t.Errorf("won games: %+v", told)
	}
}

// TestWatchSteps: skipped steps do not count.
func TestWatchSteps(t *testing.T) {
	steps := func(n int, entropy float64, skipped bool) (events []monitor.Event) {
		for i := range n {
			events = append(events, &monitor.Step{Step: int64(i + 1), PolicyEntropy: monitor.Number(entropy), TargetEntropy: monitor.Number(math.NaN()),
				LegalEntropy: 3, Skipped: skipped})
		}
		return events
	}
	if told := watch(t, steps(stepWindow, 0.1, false)...); len(told) != 1 || told[0].Code != CodeEntropy || told[0].Step != stepWindow {
		t.Errorf("a collapse: %+v", told)
	}
	if told := watch(t, steps(stepWindow, 2, false)...); len(told) != 0 {
		t.Errorf("a policy that knows little: %+v", told)
	}
	if told := watch(t, steps(3*stepWindow, 0.1, true)...); len(told) != 0 {
		t.Errorf("skipped steps: %+v", told)
	}
	half := append(steps(stepWindow/2, 0, false), steps(stepWindow/2, 0.7, false)...) // mean 0.35
	if told := watch(t, half...); len(told) != 0 {
		t.Errorf("a mean above the limit: %+v", told)
	}
}

// TestWatchPlaying: totals of playing processes are taken apart into windows; a
// process that starts again, or another one, begins at 0.
func TestWatchPlaying(t *testing.T) {
	totals := func(process string, draws, won int64) *monitor.SelfPlay {
		return &monitor.SelfPlay{Process: process, Results: monitor.Results{White: won, Draw: draws}, Ends: map[string]int64{"repetition": draws, "checkmate": won}}
	}
	told := watch(t, totals("p1", 0, 1000), totals("p1", 100, 1000), totals("p1", gameWindow, 1000))
	if len(told) != 2 || told[0].Code != CodeDrawShare || told[1].Code != CodeOneEnd {
		t.Errorf("a window of draws after won games: %+v", told)
	}
	if told := watch(t, totals("p1", 200, 0), totals("p1", 0, 0), totals("p1", 99, 0)); len(told) != 0 {
		t.Errorf("less than a window in two starts: %+v", told)
	}
	if told := watch(t, totals("p1", 200, 0), totals("p1", 100, 0)); len(told) != 2 {
		t.Errorf("a window in two starts: %+v", told)
	}
	if told := watch(t, totals("p1", 200, 0), totals("p2", 200, 0)); len(told) != 2 || !strings.Contains(told[0].Message, "last 400 games") {
		t.Errorf("a window of two processes: %+v", told)
	}
}

// TestOnBus: a watcher on the bus that it publishes to.
func TestOnBus(t *testing.T) {
	bus := monitor.NewBus(monitor.BusOptions{Job: "j"})
	told := make(chan *monitor.Alarm, 10)
	bus.Attach(monitor.SinkFunc(func(e monitor.Event) error {
		if a, ok := e.(*monitor.Alarm); ok {
			told <- a
		}
		return nil
	}))
	bus.Go(4*gameWindow, New(bus.Publish))
	for _, e := range games(1, gameWindow, true) {
		bus.Publish(e)
	}
	for _, code := range []string{CodeDrawShare, CodeOneEnd} {
		if a := <-told; a.Code != code || a.Job != "j" {
			t.Errorf("%+v, want %s", a, code)
		}
	}
	if err := bus.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
