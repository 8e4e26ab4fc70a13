package rating

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// pairing is all games between two players.
type pairing struct {
	a, b   int
	points float64 // a's
	games  float64
	draws  float64
	prior  float64 // virtual draws, which the others do not count
}

// all returns the games, virtual ones included, and won a's points of them.
func (p *pairing) all() float64 { return p.games + p.prior }
func (p *pairing) won() float64 { return p.points + p.prior/2 }

// graph is who played whom.
type graph struct {
	names    []string // in order
	tally    []Rating // by player: name, games, points, draws, anchor
	anchor   []float64
	pairings []pairing // by a, then b; a < b
	strong   []int     // by player: its strong component, see addPrior
}

// newGraph adds the results up, or says what is wrong with them.
func newGraph(results []Result, anchors map[string]float64) (*graph, error) {
	index := map[string]int{}
	for _, r := range results {
		games := r.Wins + r.Draws + r.Losses
		switch {
		case r.A == "" || r.B == "" || r.A == r.B:
			return nil, fmt.Errorf("ratings: a result of %q against %q: want two players with different names", r.A, r.B)
		case min(r.Wins, r.Draws, r.Losses) < 0 || max(r.Wins, r.Draws, r.Losses) > maxGames:
			return nil, fmt.Errorf("ratings: %s against %s: +%d =%d -%d: want counts from 0 to %d", r.A, r.B, r.Wins, r.Draws, r.Losses, int64(maxGames))
		case games > 0:
			index[r.A], index[r.B] = 0, 0
		}
	}
	g := &graph{names: slices.Sorted(maps.Keys(index))}
	g.tally, g.anchor = make([]Rating, len(g.names)), make([]float64, len(g.names))
	for i, name := range g.names {
		elo, fixed := anchors[name]
		if fixed && !(math.Abs(elo) <= maxAnchor) {
			return nil, fmt.Errorf("ratings: anchor %s at %v Elo: want -%d to %d", name, elo, maxAnchor, maxAnchor)
		}
		index[name], g.anchor[i], g.tally[i] = i, elo, Rating{Name: name, Anchor: fixed}
	}
	g.merge(results, index)
	g.strong = g.partOf(topo.TarjanSCC(g.arrows()))
	return g, nil
}

// merge makes one pairing of all results of two players.
func (g *graph) merge(results []Result, index map[string]int) {
	at := map[[2]int]int{}
	for _, r := range results {
		if r.Wins+r.Draws+r.Losses == 0 {
			continue
		}
		a, b := index[r.A], index[r.B]
		if a > b {
			a, b, r.Wins, r.Losses = b, a, r.Losses, r.Wins
		}
		k, there := at[[2]int{a, b}]
		if !there {
			k = len(g.pairings)
			at[[2]int{a, b}] = k
			g.pairings = append(g.pairings, pairing{a: a, b: b})
		}
		p, games, points := &g.pairings[k], r.Wins+r.Draws+r.Losses, float64(r.Wins)+float64(r.Draws)/2
		p.games += float64(games)
		p.points += points
		p.draws += float64(r.Draws)
		g.count(a, games, r.Draws, points)
		g.count(b, games, r.Draws, float64(games)-points)
	}
	slices.SortFunc(g.pairings, func(p, q pairing) int { return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b)) })
}

func (g *graph) count(player, games, draws int, points float64) {
	t := &g.tally[player]
	t.Games += games
	t.Draws += draws
	t.Points += points
}

// addPrior adds a draw where there is no finite answer. There is one if and only if
// from each player of a group one comes to each other one along the arrows "took
// points from" (Ford 1957): all pairings of two strong components were won by one
// of them. These share the draw in proportion to weight, above 0. Anchors hold each
// other.
func (g *graph) addPrior(weight func(*pairing) float64) {
	shares := map[[2]int]float64{} // of the pairings of two components
	key := func(p *pairing) [2]int {
		a, b := g.strong[p.a], g.strong[p.b]
		return [2]int{min(a, b), max(a, b)}
	}
	for i := range g.pairings {
		shares[key(&g.pairings[i])] += weight(&g.pairings[i])
	}
	for i := range g.pairings {
		p := &g.pairings[i]
		if k := key(p); k[0] != k[1] {
			p.prior = weight(p) / shares[k]
		}
	}
}

// arrows is the directed graph of "took points from". Each anchor and the one before
// it hold each other: their distance is known without a game.
func (g *graph) arrows() *simple.DirectedGraph {
	arrows, last := simple.NewDirectedGraph(), -1
	arrow := func(a, b int) { arrows.SetEdge(arrows.NewEdge(simple.Node(a), simple.Node(b))) }
	for _, p := range g.pairings {
		if p.points > 0 {
			arrow(p.a, p.b)
		}
		if p.points < p.games {
			arrow(p.b, p.a)
		}
	}
	for i := range g.tally {
		if !g.tally[i].Anchor {
			continue
		}
		if last >= 0 {
			arrow(last, i)
			arrow(i, last)
		}
		last = i
	}
	return arrows
}

// partOf says of each player in which of the parts of a graph it is.
func (g *graph) partOf(parts [][]gonum.Node) []int {
	of := make([]int, len(g.names))
	for number, part := range parts {
		for _, player := range part {
			of[player.ID()] = number
		}
	}
	return of
}

// markPrior marks the players outside of their group's largest strong component.
func (g *graph) markPrior(groups []int) {
	games := map[int]int{} // by strong component
	for i, part := range g.strong {
		games[part] += g.tally[i].Games
	}
	main := map[int]int{} // by group: its largest component
	for i, part := range g.strong {
		if best, there := main[groups[i]]; !there || games[part] > games[best] {
			main[groups[i]] = part
		}
	}
	for i, part := range g.strong {
		g.tally[i].Prior = part != main[groups[i]]
	}
}

// groups numbers the connected parts of the graph: by games, the most first,
// then by name.
func (g *graph) groups() (of []int, size int) {
	parts := topo.ConnectedComponents(gonum.Undirect{G: g.arrows()})
	of = g.partOf(parts)
	order, games := []int{}, make([]int, len(parts)) // parts, those that come first in of first
	for i, part := range of {
		if !slices.Contains(order, part) {
			order = append(order, part)
		}
		games[part] += g.tally[i].Games
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(games[b], games[a]) })
	for i, part := range of {
		of[i] = slices.Index(order, part)
	}
	return of, len(order)
}
