package ladder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/arena/rating"
)

// neighbours is how many rungs above it a rung plays in a calibration.
const neighbours = 3

// Calibrate measures the places of the rungs: each plays Options.Games against each
// of its next neighbours, and one fit places all, with random moves at 0. Rungs
// without their engine are left out.
func Calibrate(ctx context.Context, o Options) ([]Rung, error) {
	var list []Rung
	var players []arena.Player
	for _, r := range Rungs() {
		if r.NeedsEngine() && o.Engine == nil {
			continue
		}
		p, err := r.Player(o.Engine)
		if err != nil {
			return nil, err
		}
		list, players = append(list, r), append(players, p)
	}
	var results []rating.Result
	for i := range list {
		for k := i + 1; k < min(i+1+neighbours, len(list)); k++ {
			result, err := o.pair(ctx, [2]arena.Player{players[i], players[k]}, [2]*Rung{&list[i], &list[k]})
			if err != nil {
				return nil, err
			}
			results = append(results, *result)
			o.Tell("%s against %s: +%d =%d -%d", list[i].Name, list[k].Name, result.Wins, result.Draws, result.Losses)
		}
	}
	fitted, err := rating.Fit(results, map[string]float64{list[0].Name: 0})
	if err != nil {
		return nil, err
	}
	for i := range list {
		for _, r := range fitted.Ratings {
			if r.Name == list[i].Name {
				list[i].Elo, list[i].Error = r.Elo, r.Error
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Rung) int { return cmp.Compare(a.Elo, b.Elo) })
	return list, nil
}

// pair plays two rungs against each other.
func (o Options) pair(ctx context.Context, players [2]arena.Player, rungs [2]*Rung) (*rating.Result, error) {
	log := [2]arena.LogPlayer{o.rungPlayer(rungs[0]), o.rungPlayer(rungs[1])}
	if o.Keep != "" {
		o.Keep = filepath.Join(o.Keep, log[0].Name)
	}
	var p pairing
	if err := p.begin(&o, players, log); err != nil {
		return nil, err
	}
	if err := errors.Join(p.play(ctx, o.Games), p.close()); err != nil {
		return nil, err
	}
	for i := range p.games {
		if g := &p.games[i]; g.End.Failed() {
			return nil, fmt.Errorf("%s against %s, %s", log[0].Name, log[1].Name, failure(g))
		}
	}
	r := p.result(log[0].Name, log[1].Name)
	return &r, nil
}
