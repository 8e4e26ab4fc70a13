package cycle

import (
	"fmt"
	"io"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// Page is what a closed loop answers to status.
type Page struct {
	Job   string    `json:"job"`
	Cycle int64     `json:"cycle"`
	Stage Stage     `json:"stage"`
	Since time.Time `json:"since"`
	Games int64     `json:"games,omitempty"` // self-play: that its process is to have
}

// Summary is what a closed loop says at its end.
type Summary struct {
	Reason  string // why it ended; "" = interrupted or failed
	Cycles  int64  // done, those of earlier starts included
	Games   int64  // of self-play, those of earlier starts included
	Net     string // newest accepted one
	Elapsed time.Duration
	here    struct{ cycles, games int64 } // of those by this start
	state   *State
	said    string // what became of a single stage; "" = the run went round, or its error says it
	single  bool
}

func (l *loop) summary() *Summary {
	s := l.state
	m := &Summary{Reason: l.reason, Cycles: s.Cycles, Games: s.Games, Net: newestNet(l.dir), Elapsed: time.Since(l.began), state: s,
		said: l.said, single: l.Stage != ""}
	m.here.cycles, m.here.games = s.Cycles-l.first.cycles, s.Games-l.first.games
	return m
}

// Write writes the report.
func (s *Summary) Write(w io.Writer) error {
	if s.single {
		if s.said == "" {
			return nil
		}
		_, err := fmt.Fprintln(w, s.said)
		return err
	}
	_, err := fmt.Fprintf(w, "%s done, %d of them by this start; %s, %d of them by this start; %s\nNet: %s\n", monitor.Count(s.Cycles, "cycle"), s.here.cycles,
		monitor.Count(s.Games, "game"), s.here.games, s.Elapsed.Round(time.Second), s.Net)
	if err == nil && s.state.Measured > 0 {
		_, err = fmt.Fprintf(w, "Time: %s\n", shares(s.state))
	}
	if err == nil && s.Reason != "" {
		_, err = fmt.Fprintf(w, "Ended: %s\n", s.Reason)
	}
	return err
}
