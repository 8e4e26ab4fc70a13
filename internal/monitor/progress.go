package monitor

import (
	"errors"
	"fmt"
	"io"
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
// as wide as that is, else a whole line from time to time. The last line of a training
// stays; those of self-play and of matches vanish with them. It is a Sink for Bus.Go; time
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
	before := p.state.subject
	if p.opt.Quiet || !p.state.add(e) {
		return nil
	}
	switch {
	case p.state.subject == nothing:
		return p.erase()
	case p.opt.Terminal:
		return p.draw(e)
	case p.state.subject != before && p.state.subject != training:
		p.shown = p.state.now // of its first moments nothing is to be said
		return nil
	}
	return p.line(e)
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
	if edge && run.ends() {
		p.state.subject = nothing
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

// erase takes the line away that stands on the terminal.
func (p *Progress) erase() error {
	p.pending = false
	if !p.drawn {
		return nil
	}
	p.drawn = false
	_, err := io.WriteString(p.opt.Out, "\r"+clearRest)
	return err
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
	if p.opt.Terminal && p.state.subject != training {
		return p.erase()
	}
	if p.opt.Terminal {
		return p.end()
	}
	if p.pending && p.state.subject == training && p.state.episode.Episode+p.state.step.Step > p.state.startEpisode+p.state.startStep {
		return p.print()
	}
	return nil
}
