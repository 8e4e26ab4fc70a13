package alarms

import (
	"math"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

const (
	gameWindow  = 300 // games that the rules look at
	stepWindow  = 200 // step events
	repeatAfter = 5   // windows after which an alarm that goes on is told again
)

// Watcher holds a run's events against the rules. It is a monitor.Sink, used by
// one goroutine.
type Watcher struct {
	publish func(monitor.Event)
	quiet   map[string]int // by code: observations until it may be told again

	games []*monitor.Episode // the newest
	steps []*monitor.Step    // the newest that were not skipped

	step, episode int64 // newest that was seen

	// A process that only plays reports totals since it started.
	before *monitor.SelfPlay // the newest
	since  Games             // that were finished since the newest full window, by any process
}

// New returns a watcher that hands its alarms to publish, for Bus.Go.
func New(publish func(monitor.Event)) *Watcher {
	return &Watcher{publish: publish, quiet: map[string]int{}, before: &monitor.SelfPlay{}}
}

// Handle takes the next event.
func (w *Watcher) Handle(e monitor.Event) error {
	switch e := e.(type) {
	case *monitor.Episode:
		w.step, w.episode = e.Step, e.Episode
		w.takeGame(e)
	case *monitor.Step:
		w.step, w.episode = e.Step, e.Episode
		if !e.Skipped {
			w.takeStep(e)
		}
	case *monitor.SelfPlay:
		w.takePlaying(e)
	}
	return nil
}

// takeGame looks at the newest games after each one.
func (w *Watcher) takeGame(g *monitor.Episode) {
	w.games = newest(w.games, g, gameWindow)
	w.pass(1, CodeDrawShare, CodeMaxPlies, CodeAborted, CodeOneEnd)
	if len(w.games) < gameWindow {
		return
	}
	all := Games{Games: gameWindow, Ends: map[string]int{}}
	for _, g := range w.games {
		all.Ends[g.End]++
		if g.WhiteResult == 0 {
			all.Draws++
		}
	}
	w.judgeGames(all)
}

// newest appends e to a window of n events, from which the oldest goes.
func newest[E any](window []E, e E, n int) []E {
	if len(window) == n {
		window = window[:copy(window, window[1:])]
	}
	return append(window, e)
}

func (w *Watcher) judgeGames(g Games) {
	w.tell(DrawShare(g), gameWindow)
	w.tell(Ends(g), gameWindow)
}

// takeStep looks at the newest steps after each one.
func (w *Watcher) takeStep(s *monitor.Step) {
	w.steps = newest(w.steps, s, stepWindow)
	w.pass(1, CodeEntropy, CodeOverSure)
	if len(w.steps) < stepWindow {
		return
	}
	mean := Entropy{Steps: stepWindow}
	for _, s := range w.steps {
		mean.Policy += float64(s.PolicyEntropy) / stepWindow
		mean.Target += float64(s.TargetEntropy) / stepWindow
		mean.Legal += float64(s.LegalEntropy) / stepWindow
	}
	if math.IsNaN(mean.Target) {
		mean.Target = 0
	}
	w.tell(EntropyCollapse(mean), stepWindow)
}

// takePlaying looks at the games that playing processes, one after the other,
// finished since their last event, once they are a window.
func (w *Watcher) takePlaying(e *monitor.SelfPlay) {
	before := w.before
	w.before = e
	if e.Process != before.Process || e.Results.Games() < before.Results.Games() { // another one, or another start of it
		before = &monitor.SelfPlay{}
	}
	if w.since.Ends == nil {
		w.since.Ends = map[string]int{}
	}
	games := int(e.Results.Games() - before.Results.Games())
	w.since.Games += games
	w.since.Draws += int(e.Results.Draw - before.Results.Draw)
	for end, count := range e.Ends {
		if n := int(count - before.Ends[end]); n > 0 {
			w.since.Ends[end] += n
		}
	}
	w.pass(games, CodeDrawShare, CodeMaxPlies, CodeAborted, CodeOneEnd)
	if w.since.Games >= gameWindow {
		w.judgeGames(w.since)
		w.since = Games{}
	}
}

// pass counts observations towards the time when alarms may be told again.
func (w *Watcher) pass(observations int, codes ...string) {
	for _, code := range codes {
		w.quiet[code] = max(0, w.quiet[code]-observations)
	}
}

// tell publishes an alarm, unless one of its code was told a short while ago.
func (w *Watcher) tell(a *monitor.Alarm, window int) {
	if a == nil || w.quiet[a.Code] > 0 {
		return
	}
	w.quiet[a.Code] = repeatAfter * window
	a.Step, a.Episode = w.step, w.episode
	w.publish(a)
}
