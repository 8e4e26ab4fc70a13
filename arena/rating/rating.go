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

// Options of Fit. The zero value is usual.
type Options struct {
	// Prior is how many drawn games are added between players whose results have
	// no finite answer (0 = 1). More of them draw these closer together.
	Prior float64
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

	place map[string]int // in Ratings
	cov   [][]float64    // of Ratings, Elo squared; between groups 0
}

// Difference returns how much stronger a is than b, and the standard error of
// that, which is smaller than what the errors of both come to where they played
// the same opponents. ok is false where the list cannot tell.
func (l *List) Difference(a, b string) (elo, err float64, ok bool) {
	i, okA := l.place[a]
	k, okB := l.place[b]
	if !okA || !okB || l.Ratings[i].Group != l.Ratings[k].Group {
		return 0, 0, false
	}
	variance := l.cov[i][i] + l.cov[k][k] - 2*l.cov[i][k]
	return l.Ratings[i].Elo - l.Ratings[k].Elo, math.Sqrt(max(0, variance)), true
}

// Of returns a player's rating; ok is false where it has no game.
func (l *List) Of(name string) (r Rating, ok bool) {
	i, ok := l.place[name]
	if ok {
		r = l.Ratings[i]
	}
	return r, ok
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
func Fit(results []Result, anchors map[string]float64, opt Options) (*List, error) {
	if opt.Prior == 0 {
		opt.Prior = 1
	}
	if !(opt.Prior > 0 && opt.Prior <= 1000) {
		return nil, fmt.Errorf("ratings: prior of %v drawn games: want more than 0, at most 1000", opt.Prior)
	}
	g, err := newGraph(results, anchors)
	if err != nil {
		return nil, err
	}
	groups, size := g.groups()
	g.markPrior(groups)
	elo, cov := make([]float64, len(g.names)), square(len(g.names))
	for pass := range priorPasses {
		// A draw is the likelier the closer two players are. Shared like this, the
		// virtual ones move a component as a whole: a player whom many beat does not
		// draw these together.
		g.addPrior(opt.Prior, func(p *pairing) float64 {
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
				err = s.covariance(cov)
			}
			if err != nil {
				return nil, fmt.Errorf("ratings: the group of %s: %w", g.names[s.players[0]], err)
			}
		}
	}
	return g.list(groups, size, elo, cov), nil
}

// priorPasses is how often the virtual draws are shared anew.
const priorPasses = 4

// list puts what was fitted in order.
func (g *graph) list(groups []int, size int, elo []float64, cov [][]float64) *List {
	list := &List{Groups: size, place: make(map[string]int, len(g.names)), cov: square(len(g.names))}
	order := make([]int, len(g.names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { // names are in order
		return cmp.Or(cmp.Compare(groups[a], groups[b]), cmp.Compare(elo[b], elo[a]), cmp.Compare(a, b))
	})
	for i, k := range order {
		r := g.tally[k]
		r.Elo, r.Error, r.Group = elo[k], math.Sqrt(max(0, cov[k][k])), groups[k]
		if r.Anchor {
			r.Elo = g.anchor[k] // exactly
		}
		list.Ratings = append(list.Ratings, r)
		list.place[r.Name] = i
		for j, m := range order {
			list.cov[i][j] = cov[k][m]
		}
	}
	return list
}

// square returns an n times n matrix of zeros.
func square(n int) [][]float64 {
	all, rows := make([]float64, n*n), make([][]float64, n)
	for i := range rows {
		rows[i] = all[i*n : (i+1)*n : (i+1)*n]
	}
	return rows
}
