package cycle

import (
	"fmt"
	"io"
	"strings"
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
	state   *State
	cycles  int64 // of those that earlier starts did
	games   int64
	single  bool   // one stage was asked for
	said    string // what became of it; "" = the error says it
}

// Write writes the report.
func (s *Summary) Write(w io.Writer) error {
	var b strings.Builder
	switch {
	case s.said != "":
		fmt.Fprintln(&b, s.said)
	case !s.single:
		fmt.Fprintf(&b, "%s done, %d of them by this start; %s, %d of them by this start; %s\nNet: %s\n", monitor.Count(s.Cycles, "cycle"), s.Cycles-s.cycles,
			monitor.Count(s.Games, "game"), s.Games-s.games, s.Elapsed.Round(time.Second), s.Net)
		if s.state.Measured > 0 {
			fmt.Fprintf(&b, "Time: %s\n", shares(s.state))
		}
		if s.Reason != "" {
			fmt.Fprintf(&b, "Ended: %s\n", s.Reason)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
