package rating

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Result counts games between two players.
type Result struct {
	A, B                string
	Wins, Draws, Losses int // A's
}

// Rating is a player's place in the list.
type Rating struct {
	Name   string  `json:"name"`
	Elo    float64 `json:"elo"`
	Error  float64 `json:"error"` // standard error of Elo, against the anchors or the mean of the group; an anchor has none
	Games  int     `json:"games"`
	Points float64 `json:"points"` // 1 for a win, 1/2 for a draw
	Draws  int     `json:"draws"`
	Group  int     `json:"group"`  // Elo can be compared within a group only; 0 has the most games
	Anchor bool    `json:"anchor"` // Elo was given
	Prior  bool    `json:"prior"`  // only virtual draws keep its distance to most others finite: it is at least so far
}

// List is what Fit returns.
type List struct {
	Ratings []Rating // by group; in a group the strongest first, equals by name
	Groups  int      // more than one: the games do not connect all players
}

// maxAnchor bounds the rating of an anchor, in Elo, and maxGames the games of a
// result: beyond them float64 loses what the fit needs.
const (
	maxAnchor = 10_000
	maxGames  = 1 << 40
)

// Fit rates all players that have a game. anchors are ratings that stay as they
// are; those of players without a game are left out. A group without an anchor
// has the mean 0. The same results in any order, and with A and B exchanged,
// give the same list.
func Fit(results []Result, anchors map[string]float64) (*List, error) {
	g, err := newGraph(results, anchors)
	if err != nil {
		return nil, err
	}
	groups, size := g.groups()
	g.markPrior(groups)
	elo, variance := make([]float64, len(g.names)), make([]float64, len(g.names))
	for pass := range priorPasses {
		// A draw is the likelier the closer two players are. Shared like this, the
		// virtual ones move a component as a whole: a player whom many beat does not
		// draw these together.
		g.addPrior(func(p *pairing) float64 {
			if pass == 0 {
				return p.games
			}
			d := (elo[p.a] - elo[p.b]) / eloUnit
			return p.games * max(logistic(d)*logistic(-d), math.SmallestNonzeroFloat32)
		})
		last := pass == priorPasses-1
		for group := range size {
			s := g.system(groups, group, elo)
			err := s.climb(elo)
			if err == nil && last {
				err = s.variances(variance)
			}
			if err != nil {
				return nil, fmt.Errorf("ratings: the group of %s: %w", g.names[s.players[0]], err)
			}
		}
	}
	return g.list(groups, size, elo, variance), nil
}

// priorPasses is how often the virtual draws are shared anew.
const priorPasses = 4

// list puts what was fitted in order.
func (g *graph) list(groups []int, size int, elo, variance []float64) *List {
	list := &List{Groups: size}
	for k, r := range g.tally {
		r.Elo, r.Error, r.Group = elo[k], math.Sqrt(max(0, variance[k])), groups[k]
		if r.Anchor {
			r.Elo = g.anchor[k] // exactly
		}
		list.Ratings = append(list.Ratings, r)
	}
	slices.SortStableFunc(list.Ratings, func(a, b Rating) int { // names are in order
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(b.Elo, a.Elo))
	})
	return list
}
