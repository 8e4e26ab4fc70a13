package join

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/chessbrain/chessbrain/internal/fleet"
)

// Page is what people are told of a run's fleet.
type Page struct {
	Address string       `json:"address"`
	Drain   bool         `json:"drain"`
	Members []PageMember `json:"members"`
}

// PageMember is a member with its players.
type PageMember struct {
	Name    string         `json:"name"`
	Revoked bool           `json:"revoked"`
	Players []*PlayerEntry `json:"players"`
}

// Page reads who may join and who has.
func (d Dir) Page() (*Page, error) {
	m, err := d.Members()
	if err != nil {
		return nil, err
	}
	r, err := d.Roster()
	if err != nil {
		return nil, err
	}
	p := &Page{Address: r.Address, Drain: m.Drain, Members: []PageMember{}}
	for _, member := range m.List {
		f := PageMember{Name: member.Name, Revoked: !member.Revoked.IsZero(), Players: []*PlayerEntry{}}
		for _, e := range r.Players {
			if e.Member == member.Key {
				f.Players = append(f.Players, e)
			}
		}
		p.Members = append(p.Members, f)
	}
	return p, nil
}

// Missing says that nothing was heard of a player for long.
func (e *PlayerEntry) Missing(now time.Time) bool { return now.Sub(e.Seen) > fleet.MissingAfter }

// Count says how many players there are, how many of them are missing, and how many games
// of all are counted.
func (p *Page) Count(now time.Time) (all, missing int, games int64) {
	for _, m := range p.Members {
		for _, e := range m.Players {
			all++
			games += e.Games
			if e.Missing(now) {
				missing++
			}
		}
	}
	return all, missing, games
}

// Write writes the page as text.
func (p *Page) Write(w io.Writer) error {
	if len(p.Members) == 0 {
		_, err := fmt.Fprintln(w, "Nobody may join yet. Start the run with --listen :4222 or --listen /DIRECTORY")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "member\tmachine\tprocess\tgames\trejected\twaiting\tnet\tseen")
	for _, m := range p.Members {
		name := m.Name
		if m.Revoked {
			name += " (revoked)"
		}
		if len(m.Players) == 0 {
			fmt.Fprintf(t, "%s\t\t\t\t\t\t\t\n", name)
		}
		for _, e := range m.Players {
			now := time.Now()
			seen := now.Sub(e.Seen).Round(time.Second).String() + " ago"
			if e.Missing(now) {
				seen += ", missing"
			}
			fmt.Fprintf(t, "%s\t%s\tp%d\t%d\t%d\t%d\t%s\t%s\n", name, e.Host, e.Process, e.Games, e.Rejected, e.Beat.Waiting, e.Beat.Net, seen)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, m := range p.Members {
		for _, e := range m.Players {
			if e.Distrusted != "" {
				fmt.Fprintf(w, "p%d, refused for ever: %s\n", e.Process, e.Distrusted)
			} else if e.Reason != "" {
				fmt.Fprintf(w, "p%d, last rejected: %s\n", e.Process, e.Reason)
			}
		}
	}
	if p.Drain {
		fmt.Fprintln(w, "All players are let go (chessbrain fleet drain RUN --undo)")
	}
	return nil
}
