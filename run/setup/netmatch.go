package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn"
)

// NetMatch is a match of two nets. A game of it is a function of these fields, its number
// and the arithmetic, so machines that compute alike can share the games.
type NetMatch struct {
	Names                         [2]string
	Nets                          [2]*nn.Net     `json:"-"`
	Search                        arena.Settings // of both
	Seed                          uint64
	Games, OpeningPlies, MaxPlies int // Games is even
}

// ErrMatch says that the settings of a match are wrong, and not its nets or the machine.
var ErrMatch = errors.New("settings of the match")

// ShareMatch lets other machines play games of a match beside the players of a
// configuration; see arena.Config.Share. nil = there are no others.
type ShareMatch func(*NetMatch, *config.Config) func(context.Context, arena.Shared)

// With is what the arena is given; nil where nobody shares.
func (s ShareMatch) With(m *NetMatch, c *config.Config) func(context.Context, arena.Shared) {
	if s == nil {
		return nil
	}
	return s(m, c)
}

// Open prepares the match for the players of a configuration. The caller calls release
// after the match.
func (m *NetMatch) Open(c *config.Config) (cfg *arena.Config, release func() error, err error) {
	var players []*NetPlayer
	release = func() (err error) {
		for _, p := range players {
			err = errors.Join(err, p.Close())
		}
		return err
	}
	cfg = &arena.Config{Seed: m.Seed, MaxPlies: m.MaxPlies}
	for i, net := range m.Nets {
		p, err := OpenNetPlayer(c, net)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("prepare net %s for the match: %w", m.Names[i], err), release())
		}
		players = append(players, p)
		if cfg.Players[i], err = p.Player(m.Names[i], m.Search, arena.Limits{}); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%w: %w", ErrMatch, err), release())
		}
	}
	if cfg.Openings, err = arena.Vary(nil, m.Games/2, m.OpeningPlies, m.Seed); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w: %w", ErrMatch, err), release())
	}
	return cfg, release, nil
}
