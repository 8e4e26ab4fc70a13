package ratings

import (
	"cmp"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/arena/rating"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/alarms"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/gate"
)

const (
	KindNet    = "net"
	KindMover  = "random-mover"
	KindEngine = "engine"
)

// players names the players of a catalogue's matches.
type players struct {
	bySHA  map[string]string // name of the net with a file of this hash
	byName map[string]string // hash of the net with a name
	kinds  map[string]string
}

func newPlayers(nets []catalogue.Net) *players {
	p := &players{map[string]string{}, map[string]string{}, map[string]string{}}
	for _, accepted := range []bool{true, false} { // accepted ones first: a name is the accepted net's
		for _, n := range nets {
			if accepted == (n.State == catalogue.Accepted) {
				p.byName[n.Name] = cmp.Or(p.byName[n.Name], n.SHA256)
				p.bySHA[n.SHA256] = cmp.Or(p.bySHA[n.SHA256], n.Name)
			}
		}
	}
	return p
}

// name returns who a player of a log is. A net is known by the hash of its file:
// one that is not the run's net of this name gets the hash behind its name.
func (p *players) name(name, sha string) string {
	if sha == "" {
		p.kinds[name] = cmp.Or(map[string]string{RandomMover: KindMover, gate.RandomNet: KindNet}[name], KindEngine)
		return name
	}
	if known, ok := p.bySHA[sha]; ok {
		name = known
	} else if other, taken := p.byName[name]; taken && other != sha {
		name += "@" + sha[:min(8, len(sha))]
	}
	p.kinds[name] = KindNet
	return name
}

// rate fits the ratings of all players that have a game.
func rate(c *catalogue.Catalogue) ([]catalogue.Rating, error) {
	p := newPlayers(c.Nets)
	var results []rating.Result
	for i := range c.Matches {
		m := &c.Matches[i]
		if m.Problem != "" || m.Wins+m.Draws+m.Losses == 0 {
			continue
		}
		a, b := p.name(m.Player1, m.SHA1), p.name(m.Player2, m.SHA2)
		if a == b {
			m.Problem = "both players are the same net"
			continue
		}
		results = append(results, rating.Result{A: a, B: b, Wins: m.Wins, Draws: m.Draws, Losses: m.Losses})
	}
	list, err := rating.Fit(results, zero(c, results))
	if err != nil {
		return nil, err
	}
	var all []catalogue.Rating
	for _, r := range list.Ratings {
		all = append(all, catalogue.Rating{Name: r.Name, Kind: p.kinds[r.Name], Elo: r.Elo, Error: r.Error, Games: r.Games, Points: r.Points,
			Draws: r.Draws, Group: r.Group, Anchor: r.Anchor, Prior: r.Prior})
	}
	return all, nil
}

// zero chooses the player whose Elo is 0.
func zero(c *catalogue.Catalogue, results []rating.Result) map[string]float64 {
	names := []string{RandomMover, gate.RandomNet}
	for _, n := range c.Nets {
		if n.State == catalogue.Accepted {
			names = append(names, n.Name)
		}
	}
	for _, name := range names {
		if slices.ContainsFunc(results, func(r rating.Result) bool { return r.A == name || r.B == name }) {
			return map[string]float64{name: 0}
		}
	}
	return nil
}

// yardstick is what results of several nets can be compared by: an opponent that
// never changes, and how both search.
type yardstick struct{ opponent, settings string }

// measured is a net's result by a yardstick.
type measured struct {
	yardstick
	net   string
	pairs arena.Pentanomial
}

// Alarms holds the rating matches of the newest accepted net that has any against
// those of the nets before it, by the rule of falling Elo.
func Alarms(c *catalogue.Catalogue) []*monitor.Alarm {
	var order []yardstick
	results, newest := map[yardstick][]measured{}, ""
	for _, m := range frozenResults(c) {
		newest = m.net
		list := results[m.yardstick]
		if list == nil {
			order = append(order, m.yardstick)
		}
		if last := len(list) - 1; last >= 0 && list[last].net == m.net { // a match that was put aside
			for i, n := range m.pairs {
				list[last].pairs[i] += n
			}
			continue
		}
		results[m.yardstick] = append(list, m)
	}
	var all []*monitor.Alarm
	for _, y := range order {
		list := results[y]
		if list[len(list)-1].net != newest {
			continue // nobody plays so any more
		}
		var points []alarms.Point
		for _, m := range list {
			p := alarms.Point{Net: m.net, Low: math.Inf(-1), High: math.Inf(1)} // without a whole pair nothing is known
			if e := arena.EstimateElo(m.pairs); e.Pairs > 0 {
				p.Elo, p.Low, p.High = float64(e.Elo), float64(e.Low), float64(e.High)
			}
			points = append(points, p)
		}
		if a := alarms.EloFall(y.opponent, points); a != nil {
			all = append(all, a)
		}
	}
	return all
}

// frozenResults returns the rating matches of accepted nets against a frozen opponent,
// in the order of the nets.
func frozenResults(c *catalogue.Catalogue) (all []measured) {
	p, first := newPlayers(c.Nets), ""
	for _, n := range c.Nets {
		if n.State != catalogue.Accepted {
			continue
		}
		first = cmp.Or(first, n.Name)
		for i := range c.Matches {
			m := &c.Matches[i]
			if m.Kind != catalogue.RatingMatch || m.Problem != "" || p.name(m.Player1, m.SHA1) != n.Name {
				continue
			}
			opponent := p.name(m.Player2, m.SHA2)
			if p.kinds[opponent] == KindNet && opponent != first {
				continue // not frozen: another one for each net
			}
			all = append(all, measured{yardstick{opponent, m.Settings}, n.Name, arena.Pentanomial(m.Pairs)})
		}
	}
	return all
}
