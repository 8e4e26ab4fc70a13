package selfplay

import (
	"cmp"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/mcts"
)

// GameConfig says how a game is played.
type GameConfig struct {
	// Search is how a position is searched. With its Gumbel search the noise of
	// a full search is scaled by the temperature, and the search's own choice is
	// played; see Temperature. With its ForcedPlayouts full searches force
	// playouts, and the move is drawn from the pruned target.
	Search    mcts.Config
	Noise     bool // root Dirichlet noise in full searches; Gumbel's own goes by its scale alone
	TreeReuse bool // the played move's subtree is kept

	Schedule      Schedule // simulations and length by age
	PlayoutCap    PlayoutCap
	ReducedVisits ReducedVisits
	Odds          Odds

	Temperature Temperature
	// ExplorationRate is the share of moves picked uniformly among the legal
	// ones. It touches only the move played, never the policy target.
	ExplorationRate float64
	// PolicySurprise is the share, in [0,1], of the weight of a game's full
	// searches that goes to them in proportion to KL(policy target, network's
	// priors) times their weight, in nats; the rest stays where it is, and so
	// does the sum (KataGo).
	PolicySurprise float64

	MaxPlies int // plies after the start position at which a game is cut; at least 1
	// MaxPliesMaterial is the lead in pawns (1 3 3 5 9), when the captures that pay have
	// been made, that wins a game cut at MaxPlies; half of the games are then cut one
	// ply earlier, so that both colours have the last move as often. 0 = such a game is
	// a draw.
	MaxPliesMaterial int
	Resign           Resign
	Openings         *Openings // nil = the normal start position
	Fork             Fork
}

// maxGamePlies is what a record can hold.
const maxGamePlies = 65535

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
	if c.Openings != nil {
		if err := c.Openings.validate(); err != nil {
			return err
		}
	}
	if err := cmp.Or(c.validateVisits(), c.Temperature.validate(), c.Fork.validate(), inRange([]setting{
		{"exploration rate", c.ExplorationRate, 0, 1},
		{"policy surprise", c.PolicySurprise, 0, 1},
		{"max plies", float64(c.MaxPlies), 1, maxGamePlies},
		{"max plies material", float64(c.MaxPliesMaterial), 0, math.MaxInt32},
		{"resign q", c.Resign.Q, -1, 0},
		{"resign plies", float64(c.Resign.Plies), 0, math.MaxInt32},
		{"resign play-through", c.Resign.PlayThrough, 0, 1},
	})); err != nil {
		return err
	}
	if c.Resign.Enabled && (c.Resign.Plies < 1 || c.Resign.Q >= 0) {
		return fmt.Errorf("game settings: resigning needs at least one ply and a q below 0, has %d and %v", c.Resign.Plies, c.Resign.Q)
	}
	return nil
}

// setting is a number with its range, both ends included.
type setting struct {
	name             string
	value, low, high float64
}

// inRange names the first setting that is out of its range.
func inRange(settings []setting) error {
	for _, s := range settings {
		if !(s.value >= s.low && s.value <= s.high) {
			return fmt.Errorf("game settings: %s is %v, allowed is %v to %v", s.name, s.value, s.low, s.high)
		}
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

	// Pools is 1 (or 0) for one batch of all games, 2 for two halves of the games
	// that take turns: while one's batch is evaluated in a second goroutine, the
	// tree work of the other is done. 2 is for evaluators that leave this core
	// alone (a GPU), and needs an evaluator that may be called from another
	// goroutine, one at a time. It changes no game.
	Pools int
	// Unfinished games, left by an earlier worker of the same RunSeed and Process,
	// are gone on with before tickets are asked for, which must not hand out their
	// ordinals. They are the worker's from now on.
	Unfinished []Unfinished

	// Resign, if not nil, is asked for the rule of each game as it begins, in the
	// place of Game.Resign. Workers may share one.
	Resign *ResignRule

	// Front, if not nil, holds the lines of a course that games may begin in
	// (CourseWatch.Lines), and is asked as each begins. nil = all. Workers may share one.
	Front *atomic.Int64
}

// front returns the lines of a course that are open.
func (c *WorkerConfig) front() int {
	if c.Front == nil {
		return math.MaxInt
	}
	return int(c.Front.Load())
}

// DefaultCacheEntries is the usual size of a worker's NN cache.
const DefaultCacheEntries = 200_000

// Validate says what is missing or out of range.
func (c *WorkerConfig) Validate() error {
	if c.Parallel < 1 || c.Parallel > 1<<16 {
		return fmt.Errorf("worker settings: %d parallel games, allowed is 1 to %d", c.Parallel, 1<<16)
	}
	if c.Pools < 0 || c.Pools > 2 || c.Pools == 2 && c.Parallel < 2 {
		return fmt.Errorf("worker settings: %d pools of %d games, allowed is 1, or 2 of at least two games", c.Pools, c.Parallel)
	}
	if c.CacheEntries < 0 || c.CacheEntries > 1<<28 {
		return fmt.Errorf("worker settings: %d cache entries, allowed is 0 to %d", c.CacheEntries, 1<<28)
	}
	return c.Game.Validate()
}
