package gate

import (
	"fmt"
	"io"
	"strings"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// Page is the state of a gatekeeper, as its control socket answers. What Match points
// to is never changed.
type Page struct {
	Job      string    `json:"job"`
	State    string    `json:"state"` // waiting, playing
	Match    *Standing `json:"match,omitempty"`
	Accepted int       `json:"accepted"` // nets, since the start
	Rejected int       `json:"rejected"`
}

// Standing is where a match stands, from the candidate's side.
type Standing struct {
	Candidate string `json:"candidate"`
	Baseline  string `json:"baseline"`
	Games     int    `json:"games"` // finished
	Of        int    `json:"of"`
	arena.Count
	Elo      arena.Figure `json:"elo"`
	EloError arena.Figure `json:"elo_error"`
}

// standing is where the match stands now.
func (c *contest) standing() *Standing {
	e := arena.EstimateElo(c.last.All)
	return &Standing{Candidate: c.sides[0].name, Baseline: c.sides[1].name, Games: c.last.Games(), Of: c.g.want.Games,
		Count: c.last.Count, Elo: e.Elo, EloError: e.Error()}
}

// Summary is what a gatekeeper decided.
type Summary struct {
	Results []*Result // in order
}

func (s *Summary) add(r *Result) { s.Results = append(s.Results, r) }

func (s *Summary) counts() (accepted, rejected int) {
	for _, r := range s.Results {
		if r.Accepted {
			accepted++
		} else {
			rejected++
		}
	}
	return accepted, rejected
}

// Write writes a line for each net.
func (s *Summary) Write(w io.Writer) error {
	if len(s.Results) == 0 {
		_, err := fmt.Fprintln(w, "No net was decided about.")
		return err
	}
	var b strings.Builder
	for _, r := range s.Results {
		fmt.Fprintln(&b, r)
	}
	accepted, rejected := s.counts()
	fmt.Fprintf(&b, "%s accepted, %d rejected\n", monitor.Count(accepted, "net"), rejected)
	_, err := io.WriteString(w, b.String())
	return err
}
