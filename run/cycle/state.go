package cycle

import (
	"fmt"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/setup"
)

// State is what the lines of a journal come to.
type State struct {
	Cycle   int64    // under way, else the next; 1 = the first
	Open    bool     // the cycle was begun and has not ended
	Cycles  int64    // that ended
	Games   int64    // of self-play, in all cycles
	Elo     *float64 // of the newest accepted net at the last rating; nil = not rated yet
	Stopped string   // the stop condition that held at the last line; "" = none

	Worked time.Duration     // of stages that ended
	Stages map[Stage]float64 // the same for each stage, in seconds
	Last   map[Stage]Entry   // newest end or skip of each stage, of any cycle
	Begun  *Entry            // newest begin of a stage, where that has not ended
	Broken int64             // stages that were begun and did not end: kills

	// Seconds of the cycles that were not interrupted, from the first line to the
	// last, and of their stages: what is missing of the sum is spent between them.
	Measured float64
	Parts    map[Stage]float64

	processes int64 // highest number of a process that played
	current
}

// current is what State knows of the cycle under way.
type current struct {
	began   map[Stage]Entry // first begin of each stage
	done    map[Stage]bool  // stages that ended or were skipped
	process int64           // number of the process that plays; 0 = none yet
	target  int64           // games that it is to have
	counted int64           // games of it that State.Games has
	opened  time.Time
	whole   bool // it was not interrupted
	parts   map[Stage]float64
}

// NewState folds the lines of a journal.
func NewState(entries []Entry) *State {
	s := &State{Cycle: 1, Stages: map[Stage]float64{}, Last: map[Stage]Entry{}, Parts: map[Stage]float64{}}
	s.current = newCurrent(time.Time{})
	for _, e := range entries {
		s.add(e)
	}
	return s
}

func newCurrent(opened time.Time) current {
	return current{began: map[Stage]Entry{}, done: map[Stage]bool{}, parts: map[Stage]float64{}, opened: opened, whole: true}
}

// add takes one more line.
func (s *State) add(e Entry) {
	s.Stopped = ""
	known := s.Open && e.Cycle == s.Cycle
	if !known && (e.Stage != Whole || e.Event == Begin) { // its first line, unless that is gone, or this one is by hand
		s.current = newCurrent(e.Time)
		s.Cycle, s.Open, s.Begun = e.Cycle, true, nil
	}
	switch {
	case e.Stage != Whole && e.Event == Begin:
		s.begin(e)
	case e.Stage != Whole:
		s.end(e)
	case e.Event == Begin && known: // another start goes on with it
		s.broken()
	case e.Event == End:
		if s.whole && known {
			s.Measured += e.Time.Sub(s.opened).Seconds()
			for stage, seconds := range s.parts {
				s.Parts[stage] += seconds
			}
		}
		s.Cycles++
		s.current = newCurrent(e.Time)
		s.Cycle, s.Open, s.Begun = e.Cycle+1, false, nil
	case e.Event == Skip:
		s.Stopped = e.Reason
		s.whole = false // the time until it goes on is nobody's
	}
}

// broken notes that the process that worked on the cycle is gone.
func (s *State) broken() {
	s.whole = false
	if s.Begun != nil {
		s.Broken++
		s.Begun = nil
	}
}

func (s *State) begin(e Entry) {
	if s.Begun != nil {
		s.broken()
	}
	if _, again := s.began[e.Stage]; !again {
		s.began[e.Stage] = e
	}
	s.Begun = &e
	delete(s.done, e.Stage)
	if e.Stage == SelfPlay {
		s.target, s.process = int64(e.Figures[FigureGames]), int64(e.Figures[FigureProcess])
		s.processes = max(s.processes, s.process)
	}
}

func (s *State) end(e Entry) {
	if s.Begun != nil && s.Begun.Stage == e.Stage {
		s.Begun = nil
	}
	s.done[e.Stage], s.Last[e.Stage] = true, e
	s.Stages[e.Stage] += e.Seconds
	s.parts[e.Stage] += e.Seconds
	s.Worked += time.Duration(e.Seconds * float64(time.Second))
	switch e.Stage {
	case SelfPlay:
		games := int64(e.Figures[FigureGames])
		s.Games += games - s.counted
		s.counted = games
	case Shuffle:
		if more := int64(e.Figures[FigureMore]); e.Event == Skip && more > 0 { // self-play goes on first
			s.target += more
			delete(s.done, SelfPlay)
			delete(s.done, Shuffle)
		}
	case Rating:
		if elo, rated := e.Figures[FigureElo]; rated {
			s.Elo = &elo
		}
	}
}

// Next returns the stage that is to be done; ok is false where all stages of the
// cycle are.
func (s *State) Next() (stage Stage, ok bool) {
	for _, stage := range Stages {
		if !s.done[stage] {
			return stage, true
		}
	}
	return "", false
}

// stop returns the stop condition of the configuration that holds, "" for none. It
// is asked before the self-play of a cycle begins.
func (s *State) stop(c *setup.Cycle) string {
	switch {
	case c.StopCycles > 0 && s.Cycles >= int64(c.StopCycles):
		return fmt.Sprintf("%s done (--cycles %d)", monitor.Count(s.Cycles, "cycle"), c.StopCycles)
	case c.StopGames > 0 && s.Games >= c.StopGames:
		return fmt.Sprintf("%s played (--games %d)", monitor.Count(s.Games, "game"), c.StopGames)
	case c.StopHours > 0 && s.Worked.Hours() >= c.StopHours:
		return fmt.Sprintf("%.2f hours were worked (--hours %g)", s.Worked.Hours(), c.StopHours)
	case c.StopElo != 0 && s.Elo != nil && *s.Elo >= c.StopElo:
		return fmt.Sprintf("the newest accepted net has Elo %.0f (--elo %g)", *s.Elo, c.StopElo)
	}
	return ""
}
