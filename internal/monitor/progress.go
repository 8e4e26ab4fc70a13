package monitor

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// ProgressOptions configures a Progress.
type ProgressOptions struct {
	Out      io.Writer     // normally os.Stderr
	Terminal bool          // a live bar; else plain lines (see IsTerminal)
	Width    int           // columns of the terminal; 0 = 80
	Every    time.Duration // time of events between two plain lines; 0 = 10 s
	Quiet    bool          // shows nothing
}

// Progress shows how a run gets on: a live bar on a terminal, else a line from
// time to time. It is a Sink for Bus.Go; time is that of the events. It also is
// the io.Writer for log lines on the same terminal, which it keeps apart from
// the bar. Where the terminal is too narrow for all figures beside the bar, the
// plain line is printed above it from time to time.
type Progress struct {
	opt ProgressOptions

	mu      sync.Mutex
	bar     *progressbar.ProgressBar // nil until the first event that has a goal
	state   progressState
	shown   time.Time // event time of the newest plain line
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
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" && f.Name() != os.DevNull
}

// TerminalWidth returns the columns of the terminal f, 0 if it is none.
func TerminalWidth(f *os.File) int {
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
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

// String is the text of a plain line.
func (s *progressState) String() string {
	var parts []string
	if s.goal > 0 {
		parts = append(parts, fmt.Sprintf("episode %d/%d", s.episode.Episode, s.goal))
	} else if s.episode.Episode > 0 {
		parts = append(parts, fmt.Sprintf("episode %d", s.episode.Episode))
	}
	return strings.Join(append(parts, s.details()...), "  ")
}

// details is the text beside the bar, and what the line says, too.
func (s *progressState) details() (parts []string) {
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	add("step %d", s.step.Step)
	if left, ok := s.eta(); ok {
		add("eta %s", left)
	}
	r := s.rates()
	if r.PositionsPerSecond > 0 { // somebody plays
		add("%.0f pos/s", float64(r.PositionsPerSecond))
		add("%.0f eval/s", float64(r.EvaluationsPerSecond))
	}
	if r.MeanBatch > 0 {
		add("batch %.1f", float64(r.MeanBatch))
		add("cache %.0f%%", 100*float64(r.CacheHitShare))
	}
	for _, name := range s.step.Losses.Names() {
		loss := float64(s.step.Losses[name])
		if short, isLoss := strings.CutSuffix(name, "_loss"); isLoss && short != "l2" && loss == loss { // NaN: no row had a target
			text := fmt.Sprintf("%s %.3f", short, loss)
			if v, ok := s.val[name]; ok {
				text += fmt.Sprintf(" (val %.3f)", float64(v))
			}
			parts = append(parts, text)
		}
	}
	if s.episode.Results.Games() > 0 {
		add("draws %.0f%%", 100*float64(s.episode.DrawShare))
		add("plies %.0f", float64(s.episode.MeanPlies))
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
	_, err := fmt.Fprintln(p.opt.Out, p.state.String())
	return err
}

// barColumns is what the bar itself needs beside its text: percentage, bar,
// counts and elapsed time.
const barColumns = 46

// newBar starts a bar towards the goal; without one it is a spinner, that turns
// with events and not in a goroutine of its own.
func (p *Progress) newBar() *progressbar.ProgressBar {
	total := p.state.goal
	if total <= 0 {
		total = -1
	}
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.opt.Out), progressbar.OptionSetWidth(16),
		progressbar.OptionSetPredictTime(false), progressbar.OptionShowCount(), progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetSpinnerChangeInterval(0), progressbar.OptionSetRenderBlankState(true))
}

// draw moves the bar.
func (p *Progress) draw(e Event) error {
	if p.bar == nil {
		p.bar, p.shown = p.newBar(), p.state.now
	}
	text := strings.Join(p.state.details(), " ")
	if room := max(p.opt.Width-barColumns, 12); len(text) > room { // bytes: metric names are ASCII as a rule
		text = strings.ToValidUTF8(text[:room], "")
		if p.state.now.Sub(p.shown) >= p.opt.Every {
			if err := p.above(func() error { return p.print() }); err != nil {
				return err
			}
		}
	}
	p.bar.Describe(text)
	at := p.state.episode.Episode
	if p.state.goal > 0 {
		p.bar.ChangeMax64(p.state.goal)
		at = min(at, p.state.goal)
	}
	if err := p.bar.Set64(at); err != nil {
		return fmt.Errorf("draw progress: %w", err)
	}
	if r, ok := e.(*Run); ok && r.Phase != RunStart && r.Phase != RunResume {
		return p.end()
	}
	return nil
}

// above writes lines where the bar stands and draws it again below.
func (p *Progress) above(write func() error) error {
	if err := p.bar.Clear(); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return p.bar.RenderBlank()
}

// end leaves the bar as it stands and goes to the next line.
func (p *Progress) end() error {
	if p.bar == nil {
		return nil
	}
	p.bar = nil
	_, err := fmt.Fprintln(p.opt.Out)
	return err
}

// Write prints a log line above the bar.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		return p.opt.Out.Write(b)
	}
	n := 0
	err := p.above(func() (err error) {
		n, err = p.opt.Out.Write(b)
		return err
	})
	return n, err
}

// Close prints what a plain display has not shown yet, or ends the bar. Call it
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
