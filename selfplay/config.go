package selfplay

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/mcts"
)

// GameConfig says how a game is played.
type GameConfig struct {
	Search      mcts.Config
	Noise       bool // root Dirichlet noise
	TreeReuse   bool // the played move's subtree is kept
	Temperature Temperature
	// ExplorationRate is the share of moves picked uniformly among the legal
	// ones. It touches only the move played, never the policy target.
	ExplorationRate float64
	MaxPlies        int // plies after the start position at which a game is a draw; at least 1
	Resign          Resign
	Openings        *Openings // nil = the normal start position
	// Adjudicator ends a game that endgame tables decide; nil = none. It is
	// asked about positions with rule50 = 0 and without castling rights.
	Adjudicator mcts.Prober
}

// Temperature is a schedule: a move is picked with probability N^(1/T).
type Temperature struct {
	Start float64 // T at the first ply
	// Plies is how long T stays at Start before it drops to Floor. With a
	// HalfLife, T decays from then on instead of dropping.
	Plies    int
	HalfLife float64 // plies in which T-Floor halves; 0 = drop at once
	Floor    float64 // 0 = the most visited move
}

// At returns T at a ply, counted from the start of the game.
func (t Temperature) At(ply int) float64 {
	late := ply - t.Plies
	switch {
	case late < 0:
		return t.Start
	case t.HalfLife <= 0:
		return t.Floor
	}
	return t.Floor + (t.Start-t.Floor)*math.Exp2(-float64(late)/t.HalfLife)
}

// Resign says when a game is given up: the root's Q from one side's view was
// below Q on Plies plies in a row, those of both sides counted.
type Resign struct {
	Enabled     bool
	Q           float64 // in [-1,0)
	Plies       int
	PlayThrough float64 // share of games played to the end all the same, to measure false resigns
}

// ResignRule is a rule that may change while workers play. It is safe for
// concurrent use.
type ResignRule struct{ current atomic.Pointer[Resign] }

// NewResignRule returns a rule that begins as r.
func NewResignRule(r Resign) *ResignRule {
	rule := &ResignRule{}
	rule.Set(r)
	return rule
}

// Set makes r hold for the games that begin from now on.
func (c *ResignRule) Set(r Resign) { c.current.Store(&r) }

// Get returns the rule in force.
func (c *ResignRule) Get() Resign { return *c.current.Load() }

// DefaultGameConfig returns the settings that `train` starts from.
func DefaultGameConfig() GameConfig {
	return GameConfig{
		Search:          mcts.DefaultConfig(),
		Noise:           true,
		TreeReuse:       true,
		Temperature:     Temperature{Start: 1, Plies: 30, Floor: 0.15},
		ExplorationRate: 0.1,
		MaxPlies:        450,
		Resign:          Resign{Q: -0.95, Plies: 5, PlayThrough: 0.15},
	}
}

// Validate says which setting is out of range.
func (c *GameConfig) Validate() error {
	if err := c.Search.Validate(); err != nil {
		return err
	}
	if c.Search.Simulations == 0 && c.Search.Playouts == 0 {
		return fmt.Errorf("game settings: neither simulations nor playouts bound a search")
	}
	if c.Openings != nil {
		if err := c.Openings.validate(); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name      string
		value     float64
		low, high float64
	}{
		{"temperature", c.Temperature.Start, 0, 100},
		{"temperature plies", float64(c.Temperature.Plies), 0, math.MaxInt32},
		{"temperature half-life", c.Temperature.HalfLife, 0, 1e9},
		{"temperature floor", c.Temperature.Floor, 0, 100},
		{"exploration rate", c.ExplorationRate, 0, 1},
		{"max plies", float64(c.MaxPlies), 1, 65535},
		{"resign q", c.Resign.Q, -1, 0},
		{"resign plies", float64(c.Resign.Plies), 0, math.MaxInt32},
		{"resign play-through", c.Resign.PlayThrough, 0, 1},
	} {
		if !(f.value >= f.low && f.value <= f.high) {
			return fmt.Errorf("game settings: %s is %v, allowed is %v to %v", f.name, f.value, f.low, f.high)
		}
	}
	if c.Resign.Enabled && (c.Resign.Plies < 1 || c.Resign.Q >= 0) {
		return fmt.Errorf("game settings: resigning needs at least one ply and a q below 0, has %d and %v", c.Resign.Plies, c.Resign.Q)
	}
	return nil
}

// WorkerConfig describes one worker.
type WorkerConfig struct {
	Game         GameConfig
	RunSeed      uint64
	Process      uint64 // id of this process among those of the run
	Parallel     int    // games in lock step; the largest batch
	CacheEntries int    // positions of the NN cache; 0 = no cache
	Tickets      Tickets
	Nets         NetSource
	Sink         Sink
	Stats        *Stats // nil = not wanted; workers may share one

	// Resign, if not nil, is asked for the rule of each game as it begins, in the
	// place of Game.Resign. Workers may share one.
	Resign *ResignRule
}

// DefaultCacheEntries is the usual size of a worker's NN cache.
const DefaultCacheEntries = 200_000

// Validate says what is missing or out of range.
func (c *WorkerConfig) Validate() error {
	if c.Parallel < 1 || c.Parallel > 1<<16 {
		return fmt.Errorf("worker settings: %d parallel games, allowed is 1 to %d", c.Parallel, 1<<16)
	}
	if c.CacheEntries < 0 || c.CacheEntries > 1<<28 {
		return fmt.Errorf("worker settings: %d cache entries, allowed is 0 to %d", c.CacheEntries, 1<<28)
	}
	return c.Game.Validate()
}
