package ladder

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/chessbrain/chessbrain/arena"
)

// Report is what a climb came to.
type Report struct {
	Limit   Limit   `json:"limit"`           // the caller's to fill in
	Elo     float64 `json:"elo"`             // above random moves, on this ladder
	Error   float64 `json:"error"`           // half of the 95 % interval; that of the rungs' own places is not in it
	Bound   string  `json:"bound,omitempty"` // "at least" or "at most", where the player won or lost all games
	Games   int     `json:"games"`           // that count
	Late    int     `json:"late,omitempty"`  // games that the player lost on time
	Seconds float64 `json:"seconds"`
	Rungs   []Score `json:"rungs"` // those played, the weakest first
}

// Score is the player's against a rung.
type Score struct {
	Rung
	arena.Count
	Pentanomial arena.Pentanomial `json:"pentanomial"`
	Estimate    arena.Estimate    `json:"estimate"`
	Trouble     string            `json:"trouble,omitempty"` // why the games do not count
}

// score sums up the games against a rung.
func (r *opponent) score() Score {
	s := Score{Rung: r.Rung, Trouble: r.trouble}
	if r.config.Openings != nil {
		sum := arena.Summarise(r.games)
		s.Count, s.Pentanomial, s.Estimate = sum.Count, sum.Pentanomial, sum.Estimate
	}
	return s
}

// report sums up the climb.
func (c *climb) report() *Report {
	report := &Report{Elo: c.rating.Elo, Error: normal95 * c.rating.Error, Games: c.rating.Games}
	if c.rating.Prior && c.rating.Games > 0 {
		if report.Bound = "at least"; c.rating.Points < float64(c.rating.Games)/2 {
			report.Bound = "at most"
		}
	}
	for _, r := range c.rungs {
		if s := r.score(); s.Games() > 0 || s.Trouble != "" {
			report.Rungs = append(report.Rungs, s)
		}
		for i := range r.games {
			if g := &r.games[i]; g.End == arena.EndTime && g.Result(0) < 0 {
				report.Late++
			}
		}
	}
	return report
}

// Rating is the place on the ladder in words: "1234 +- 38", "at least 1700".
func (r *Report) Rating() string {
	switch {
	case r.Games == 0:
		return "not known"
	case r.Bound != "":
		return fmt.Sprintf("%s %.0f", r.Bound, r.Elo)
	}
	return fmt.Sprintf("%.0f +- %.0f", r.Elo, r.Error)
}

// Result is what the climbs of a net came to; a run keeps it.
type Result struct {
	Net       string    `json:"net"`
	NetID     string    `json:"net_id"`
	Engine    string    `json:"engine,omitempty"`
	Seed      uint64    `json:"seed"`
	Device    string    `json:"device"`
	Precision string    `json:"precision"`
	Climbs    []*Report `json:"climbs"` // one a limit
}

// Write prints the climbs as tables.
func (r *Result) Write(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s, %s\n", r.Net, r.Device, r.Precision)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range r.Climbs {
		fmt.Fprintf(w, "\n%s a move: %s on the ladder (%d games, %.0f s)\n", c.Limit, c.Rating(), c.Games, c.Seconds)
		fmt.Fprintln(w, "rung\tplace\tgames\twon\tdrawn\tlost\tscore")
		for _, s := range c.Rungs {
			fmt.Fprintf(w, "%s\t%.0f\t%d\t%d\t%d\t%d\t%s\n", s.Name, s.Elo, s.Games(), s.Wins, s.Draws, s.Losses, s.text())
		}
		if c.Late > 0 {
			fmt.Fprintf(w, "! %d of these games were lost on time: this machine is too busy for such a limit\n", c.Late)
		}
	}
	return w.Flush()
}

// text is the score with its 95 % interval, or why there is none.
func (s *Score) text() string {
	if s.Trouble != "" {
		return "does not count: " + s.Trouble
	}
	low, high := arena.ExpectedScore(float64(s.Estimate.Low)), arena.ExpectedScore(float64(s.Estimate.High))
	return fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*s.Estimate.Score, 100*low, 100*high)
}

// WriteRungs prints the ladder as a table of Markdown.
func WriteRungs(out io.Writer, rungs []Rung) error {
	text := "| rung | place | standard error | what it is |\n|---|---|---|---|\n"
	for i := range rungs {
		r := &rungs[i]
		text += fmt.Sprintf("| %s | %.0f | %.0f | %s |\n", r.Name, r.Elo, r.Error, r.describe())
	}
	_, err := io.WriteString(out, text)
	return err
}

// describe says what a rung is.
func (r *Rung) describe() string {
	text := "the best capture within two plies"
	switch {
	case r.errs == 1:
		return "a random legal move"
	case r.skill > 0:
		text = fmt.Sprintf("Stockfish, Skill Level %d, depth %d", r.skill-1, r.skill)
	case r.nodes > 0:
		text = "Stockfish, " + strconv.Itoa(r.nodes) + " nodes"
	}
	if r.errs > 0 {
		text += fmt.Sprintf("; %.0f %% of the moves random", 100*r.errs)
	}
	return text
}

// Limit bounds a net's moves: visits, or else time.
type Limit struct {
	Visits int
	Time   time.Duration
}

// Limits of a climb.
const (
	maxVisits = 1_000_000
	maxTime   = time.Minute
)

// ParseLimit reads visits, as 100, or a time for each move, as 100ms.
func ParseLimit(text string) (Limit, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= maxVisits {
		return Limit{Visits: n}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= time.Millisecond && d <= maxTime {
		return Limit{Time: d}, nil
	}
	return Limit{}, fmt.Errorf("limit %q: want visits, 1 to %d, or a time for each move, 1ms to %v, as in 100 or 100ms", text, maxVisits, maxTime)
}

// String is as people write it: "1 visit", "100 visits", "100ms".
func (l Limit) String() string {
	switch {
	case l.Time > 0:
		return l.Time.String()
	case l.Visits == 1:
		return "1 visit"
	}
	return strconv.Itoa(l.Visits) + " visits"
}

// MarshalText implements encoding.TextMarshaler.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Limit) UnmarshalText(text []byte) (err error) {
	visits, _, _ := strings.Cut(string(text), " ")
	*l, err = ParseLimit(visits)
	return err
}
