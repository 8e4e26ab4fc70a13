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
	*State         // with what earlier starts did
	Reason  string // why it ended; "" = interrupted or failed
	Net     string // newest accepted one
	Elapsed time.Duration
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
		if s.Measured > 0 {
			fmt.Fprintf(&b, "Time: %s\n", shares(s.State))
		}
		if s.Reason != "" {
			fmt.Fprintf(&b, "Ended: %s\n", s.Reason)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shares writes the time of a state's measured cycles.
func shares(s *State) string {
	text := ""
	for _, stage := range sortedStages(s.Parts) {
		text += fmt.Sprintf("%s %.1f %%, ", stage, 100*s.Parts[stage]/s.Measured)
	}
	return text + fmt.Sprintf("not playing, training or matching %.1f %%", 100*s.Overhead())
}
