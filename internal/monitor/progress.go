package monitor

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// ProgressOptions configures a Progress.
type ProgressOptions struct {
	Out      io.Writer     // normally os.Stderr
	Terminal bool          // one line, redrawn; else plain lines (see IsTerminal)
	Width    int           // columns of the terminal; 0 = 80
	Every    time.Duration // time of events between two plain lines; 0 = 10 s
	Quiet    bool          // shows nothing
}

// redrawEvery is the least time of events between two lines in one place.
const redrawEvery = 200 * time.Millisecond

// clearRest clears a terminal's line behind the cursor.
const clearRest = "\x1b[K"

// Progress shows how a run gets on: a line that is redrawn in its place on a terminal,
// as wide as that is, else a whole line from time to time. It is a Sink for Bus.Go; time
// is that of the events. It also is the io.Writer for log lines on the same terminal,
// which it keeps apart from the line.
type Progress struct {
	opt ProgressOptions

	mu      sync.Mutex
	state   progressState
	drawn   bool      // a line stands on the terminal that is to be overwritten
	shown   time.Time // event time of the newest line
	pending bool      // something happened since
}

// progressState is what the line is made of.
type progressState struct {
	start        time.Time // of the Run event: this process
	startEpisode int64
	startStep    int64
	goal         int64 // episodes wanted; 0 = none
	now          time.Time
	episode      Episode
	step         Step
	val          Numbers
}

// NewProgress returns a progress display that has shown nothing.
func NewProgress(opt ProgressOptions) *Progress {
	if opt.Every <= 0 {
		opt.Every = 10 * time.Second
	}
	if opt.Width <= 0 {
		opt.Width = 80
	}
	return &Progress{opt: opt}
}

// IsTerminal says whether a file is a terminal that can redraw a line.
func IsTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// TerminalSize returns the columns and lines of the terminal f, 0 if it is none.
func TerminalSize(f *os.File) (columns, lines int) {
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

// Handle implements Sink.
func (p *Progress) Handle(e Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opt.Quiet || !p.state.add(e) {
		return nil
	}
	if p.opt.Terminal {
		return p.draw(e)
	}
	return p.line(e)
}

// add takes an event into the state and says whether the display changes.
func (s *progressState) add(e Event) bool {
	s.now = e.Head().Time
	if s.start.IsZero() {
		s.start = s.now
	}
	switch e := e.(type) {
	case *Run:
		if e.Phase == RunStart || e.Phase == RunResume {
			s.start, s.startEpisode, s.startStep, s.goal = s.now, e.Episode, e.Step, e.Episodes
			s.episode.Episode, s.step.Step = e.Episode, e.Step
		}
	case *Episode:
		s.episode, s.goal = *e, max(s.goal, e.Episodes)
	case *Step:
		s.step = *e
	case *Validation:
		if e.Weights == WeightsRaw {
			s.val = e.Losses
		}
	default:
		return false
	}
	return true
}

// eta estimates the time to the goal from this process's episodes; ok is false
// before the first.
func (s *progressState) eta() (left time.Duration, ok bool) {
	done := s.episode.Episode - s.startEpisode
	if done <= 0 || s.goal <= 0 {
		return 0, false
	}
	remaining := max(s.goal-s.episode.Episode, 0)
	return time.Duration(float64(s.now.Sub(s.start)) / float64(done) * float64(remaining)).Round(time.Second), true
}

// rates are those of the newest event that has some.
func (s *progressState) rates() Rates {
	if s.step.Time.After(s.episode.Time) {
		return s.step.Rates
	}
	return s.episode.Rates
}

// parts are the figures of the line, what matters most first.
func (s *progressState) parts() (parts []string) {
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case s.goal > 0:
		add("episode %d/%d", s.episode.Episode, s.goal)
	case s.episode.Episode > 0:
		add("episode %d", s.episode.Episode)
	default:
		add("step %d", s.step.Step)
	}
	var others []string
	for _, name := range s.step.Losses.Names() {
		short, isLoss := strings.CutSuffix(name, "_loss")
		loss := float64(s.step.Losses[name])
		if !isLoss || short == "l2" || loss != loss { // NaN: no row had a target
			continue
		}
		text := fmt.Sprintf("%s %.3f", short, loss)
		if v, ok := s.val[name]; ok && !math.IsNaN(float64(v)) {
			text += fmt.Sprintf(" (val %.3f)", float64(v))
		}
		if short == "policy" || short == "value" {
			parts = append(parts, text)
		} else {
			others = append(others, text)
		}
	}
	if left, ok := s.eta(); ok {
		add("eta %s", left)
	}
	r := s.rates()
	if r.PositionsPerSecond > 0 { // somebody plays
		add("%.0f pos/s", float64(r.PositionsPerSecond))
	}
	if s.episode.Results.Games() > 0 {
		add("draws %.0f%%", 100*float64(s.episode.DrawShare))
		add("plies %.0f", float64(s.episode.MeanPlies))
	}
	parts = append(parts, others...)
	if s.goal > 0 || s.episode.Episode > 0 {
		add("step %d", s.step.Step)
	}
	if r.PositionsPerSecond > 0 {
		add("%.0f eval/s", float64(r.EvaluationsPerSecond))
	}
	if r.MeanBatch > 0 {
		add("batch %.1f", float64(r.MeanBatch))
		add("cache %.0f%%", 100*float64(r.CacheHitShare))
	}
	if s.step.SkippedTotal > 0 {
		add("%s skipped", Count(s.step.SkippedTotal, "step"))
	}
	return parts
}

// line prints a plain line when it is time, and at the beginning and end of a
// run.
func (p *Progress) line(e Event) error {
	_, edge := e.(*Run)
	p.pending = true
	if !edge && p.state.now.Sub(p.shown) < p.opt.Every {
		return nil
	}
	if edge && p.state.step.Step == p.state.startStep && p.state.episode.Episode == p.state.startEpisode {
		p.shown = p.state.now
		return nil // nothing to say yet
	}
	return p.print()
}

func (p *Progress) print() error {
	p.shown, p.pending = p.state.now, false
	_, err := fmt.Fprintln(p.opt.Out, strings.Join(p.state.parts(), "  "))
	return err
}

// draw redraws the line: at the beginning and the end of a run at once, else no sooner than
// redrawEvery after the last time.
func (p *Progress) draw(e Event) error {
	run, edge := e.(*Run)
	p.pending = true
	if !edge && p.drawn && p.state.now.Sub(p.shown) < redrawEvery {
		return nil
	}
	if err := p.redraw(); err != nil {
		return fmt.Errorf("draw progress: %w", err)
	}
	if edge && run.Phase != RunStart && run.Phase != RunResume {
		return p.end()
	}
	return nil
}

// redraw writes as much of the line as the terminal has columns.
func (p *Progress) redraw() error {
	p.shown, p.drawn, p.pending = p.state.now, true, false
	var text strings.Builder
	for _, part := range p.state.parts() { // ASCII, metric names as a rule, too
		if text.Len() > 0 && text.Len()+len("  ")+len(part) >= p.opt.Width {
			break
		}
		if text.Len() > 0 {
			text.WriteString("  ")
		}
		text.WriteString(part)
	}
	_, err := fmt.Fprintf(p.opt.Out, "\r%s%s", text.String(), clearRest)
	return err
}

// end leaves the line as it stands and goes to the next one.
func (p *Progress) end() error {
	if !p.drawn {
		return nil
	}
	var err error
	if p.pending {
		err = p.redraw()
	}
	p.drawn = false
	_, last := fmt.Fprintln(p.opt.Out)
	return errors.Join(err, last)
}

// Write prints a log line above the one that is redrawn.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.drawn {
		return p.opt.Out.Write(b)
	}
	if _, err := io.WriteString(p.opt.Out, "\r"+clearRest); err != nil {
		return 0, err
	}
	n, err := p.opt.Out.Write(b)
	if err == nil {
		err = p.redraw()
	}
	return n, err
}

// Close prints what was not shown yet. Call it
// after the bus is closed.
func (p *Progress) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opt.Quiet {
		return nil
	}
	if p.opt.Terminal {
		return p.end()
	}
	if p.pending && p.state.episode.Episode+p.state.step.Step > p.state.startEpisode+p.state.startStep {
		return p.print()
	}
	return nil
}
