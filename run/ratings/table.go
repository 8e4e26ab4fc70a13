package ratings

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/gate"
)

// normal95 is the two-sided 95 % quantile of the normal distribution.
const normal95 = 1.96

// Line is a line of the rating list: a player, or a net that has not played.
type Line struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`            // net, random-mover, engine
	State   string   `json:"state,omitempty"` // of a net: accepted, candidate, rejected, extra
	Elo     *float64 `json:"elo"`             // null = no game yet
	Error   *float64 `json:"error"`           // standard error of Elo, 0 of the zero of the list
	Games   int      `json:"games"`
	Points  float64  `json:"points"`
	Draws   int      `json:"draws"`
	Group   int      `json:"group"`  // Elo can be compared within a group only
	Anchor  bool     `json:"anchor"` // the zero of the list
	Prior   bool     `json:"prior"`  // its distance to most others is a lower bound: one side won all games
	Samples int64    `json:"samples,omitempty"`
	Rows    int64    `json:"rows,omitempty"`
	SHA256  string   `json:"sha256,omitempty"`
	Path    string   `json:"path,omitempty"` // of the net, below the run; empty = its file is gone
	Problem string   `json:"problem,omitempty"`
}

// Lines returns the rating list: by group, the strongest first, then the nets
// without a game.
func Lines(c *catalogue.Catalogue) []Line {
	nets := map[string]*catalogue.Net{}
	for i := range c.Nets {
		n := &c.Nets[i]
		if _, there := nets[n.Name]; !there || n.State == catalogue.Accepted {
			nets[n.Name] = n
		}
	}
	lines := []Line{}
	rated := map[string]bool{}
	for _, r := range c.Ratings {
		l := Line{Name: r.Name, Kind: r.Kind, Elo: &r.Elo, Error: &r.Error, Games: r.Games, Points: r.Points, Draws: r.Draws,
			Group: r.Group, Anchor: r.Anchor, Prior: r.Prior}
		l.describe(nets[r.Name])
		lines = append(lines, l)
		rated[r.Name] = true
	}
	for _, n := range c.Nets {
		if !rated[n.Name] {
			l := Line{Name: n.Name, Kind: KindNet}
			l.describe(&n)
			lines = append(lines, l)
			rated[n.Name] = true
		}
	}
	return lines
}

// describe adds what the catalogue knows of the net, nil for another player.
func (l *Line) describe(n *catalogue.Net) {
	if n != nil {
		l.State, l.Samples, l.Rows, l.SHA256, l.Path, l.Problem = n.State, n.Samples, n.Rows, n.SHA256, n.Path, n.Problem
	}
}

// label is the player's name with what else is to be said.
func (l *Line) label() string {
	text := gate.Label(l.Name)
	switch {
	case l.Anchor:
		text += ", zero of the list"
	case l.State != "":
		text += ", " + l.State
	}
	if l.State != "" && l.Path == "" {
		text += ", its file is gone"
	}
	if l.Problem != "" {
		text += ": " + l.Problem
	}
	return text
}

// Rated is the list of a run's ratings with its alarms.
type Rated struct {
	Ratings []Line   `json:"ratings"`
	Alarms  []string `json:"alarms"`

	list   *catalogue.Catalogue
	alarms []*monitor.Alarm
}

// NewRated is the list of a catalogue.
func NewRated(list *catalogue.Catalogue, alarms []*monitor.Alarm) *Rated {
	p := &Rated{Lines(list), []string{}, list, alarms}
	for _, a := range alarms {
		p.Alarms = append(p.Alarms, a.Message)
	}
	return p
}

// Write prints the list as a table and says below it what the figures rest on, and the
// alarms.
func (p *Rated) Write(out io.Writer) error {
	lines, c := p.Ratings, p.list
	if len(lines) == 0 {
		_, err := fmt.Fprintln(out, "there are no nets and no matches yet")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "#\tElo\t+- 95 %\tgames\tpoints\tdraws\tsamples\t player")
	groups := 0
	prior := false
	for i := range lines {
		l := &lines[i]
		if l.Elo == nil {
			fmt.Fprintf(w, "\t\t\t0\t\t\t%d\t %s\n", l.Samples, l.label())
			continue
		}
		if l.Group > groups {
			groups = l.Group
			fmt.Fprintf(w, "\t\t\t\t\t\t\t (no game connects those below with those above)\n")
		}
		mark := ""
		if l.Prior {
			prior, mark = true, "*"
		}
		fmt.Fprintf(w, "%d\t%+.0f%s\t%.0f\t%d\t%.1f %%\t%.0f %%\t%d\t %s\n", i+1, math.Round(*l.Elo)+0, mark, normal95**l.Error, l.Games,
			100*l.Points/float64(l.Games), 100*float64(l.Draws)/float64(l.Games), l.Samples, l.label())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	played := 0
	for _, m := range c.Matches {
		if m.Problem == "" {
			played++
		}
	}
	fmt.Fprintf(out, "%s, %s\n", monitor.Count(len(c.Nets), "net"), monitor.Count(played, "match"))
	if prior {
		fmt.Fprintln(out, "* at least so far from most of the others: one side won all games between them")
	}
	for _, a := range p.alarms {
		if _, err := fmt.Fprintf(out, "alarm: %s; %s\n", a.Message, a.Remedy); err != nil {
			return err
		}
	}
	return nil
}
