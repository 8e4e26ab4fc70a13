package mcts

import (
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/encoding"
)

// CPUCTForm selects how the exploration constant depends on the visits.
type CPUCTForm uint8

const (
	CPUCTFlat CPUCTForm = iota // c = CPUCT
	CPUCTLog                   // c = CPUCT + CPUCTFactor*ln((N+CPUCTBase)/CPUCTBase), as in lc0 and AlphaZero
)

// FPUForm selects the value of a child that has no visits yet.
type FPUForm uint8

const (
	FPUReduced  FPUForm = iota // Q_parent - reduction*sqrt(sum of the priors of visited children)
	FPUAbsolute                // a fixed value
)

// Config holds the search's settings. A Search keeps the pointer: change the
// fields only between searches.
type Config struct {
	// Simulations stops the search when the root has Simulations+1 visits,
	// those of a reused tree and the root's own evaluation included, so that
	// the visits of the root's moves sum to Simulations. 0 = no such limit.
	Simulations int
	// Playouts stops the search after so many new visits of root moves. 0 = no
	// such limit. With neither limit only the caller stops the search.
	Playouts int
	// MaxNodes stops the search when the tree holds so many nodes. 0 = no limit.
	MaxNodes int

	CPUCTForm   CPUCTForm
	CPUCT       float64 // exploration constant
	CPUCTBase   float64 // CPUCTLog only
	CPUCTFactor float64 // CPUCTLog only

	// CPUCTStdev, where it is above 0, lets c grow and fall with the standard deviation of the
	// values below a node, in [0,1]: it is that at which c is as above (KataGo's stdev scale).
	CPUCTStdev float64 `json:",omitempty"`

	// LCB, where it is above 0, has a search with PUCT play the move with the highest Q less so
	// many standard errors of it (KataGo's lower confidence bound), not the most visited one.
	LCB float64 `json:",omitempty"`

	FPUForm          FPUForm
	FPUReduction     float64 // FPUReduced, below the root
	RootFPUReduction float64 // FPUReduced, at a root without noise
	NoisyFPU         float64 // FPUReduced, at a root with noise
	FPUValue         float64 // FPUAbsolute: Q of an unvisited child, parent's view, in [-1,1]

	NoiseAlpha   float64 // Dirichlet concentration of each legal move, > 0
	NoiseEpsilon float64 // share of the noise in the root's priors, in [0,1]

	// TwofoldDraw scores a position that repeats one in the search path (the
	// root included) as a draw. It is a value, not a proof.
	TwofoldDraw bool

	// PolicyTemperature, where it is above 0, raises the net's priors to the power of its
	// inverse: above 1 the search looks at more moves.
	PolicyTemperature float64 `json:",omitempty"`

	// VirtualLoss is the number of lost visits that a leaf waiting for its
	// evaluation counts for in the Q of the moves above it. It matters only
	// where several leaves of one tree wait at once.
	VirtualLoss float64

	// MaxBatch is how many leaves of this tree a driver should let wait at
	// once. The search itself takes the number from Gather's argument.
	MaxBatch int

	MovesLeft MovesLeftConfig

	// ForcedPlayouts is k of KataGo's forced playouts, which a search has if its
	// Options say so: a root move that was visited once is visited until it has
	// sqrt(k * prior * visits of all moves). 0 = none.
	ForcedPlayouts float64

	// Gumbel replaces PUCT, its noise and its forced playouts.
	Gumbel GumbelConfig

	Stop StopConfig

	// CacheBoards is how many boards, from the newest back, two inputs must share to be
	// given one answer of the cache; plies without a capture count coarsely then. 0 = the
	// whole input, exactly: else the tree depends on what the cache holds.
	CacheBoards int `json:",omitempty"`

	// Prober answers endgame-table questions about positions below the root;
	// nil = none. Its answers count as proven.
	Prober Prober
}

// MovesLeftConfig describes the moves-left utility: among moves of nearly equal
// Q the shorter win and the longer loss are preferred.
type MovesLeftConfig struct {
	MaxEffect float64 // largest change of a move's score; 0 = off
	Slope     float64 // change per ply of difference to the parent's M
	Threshold float64 // |Q| below which there is no effect
}

// GumbelVisits is up to how many visits a net that was trained with Gumbel search plays with
// it: PUCT with an LCB has 32 Elo less with 100 visits, as many with 200, and 50 more with 400
// (docs/EXPERIMENTS.md). Targets come from few visits, and from Gumbel search with any.
const GumbelVisits = 250

// ForVisits returns the search with which a net plays so many visits a move; 0 = limited by
// time alone.
func (c Config) ForVisits(n int) Config {
	c.Simulations = n
	c.Gumbel.Enabled = c.Gumbel.Enabled && n > 0 && n <= GumbelVisits
	return c
}

// GumbelConfig describes the search of Danihelka et al. 2022, "Policy
// improvement by planning with Gumbel": sequential halving at the root among
// moves drawn by Gumbel-top-k, completed Q values, and below the root visits
// that follow the improved policy. The paper's sigma(q) is
// (MaxVisitInit + visits of the most visited move) * ValueScale * q.
type GumbelConfig struct {
	Enabled    bool
	Candidates int     // root moves that the halving starts from, >= 1
	Scale      float64 // of the Gumbel noise; it is 0 in a search without noise

	// ValueScale is the paper's c_scale, MaxVisitInit its c_visit. With 0.5 and
	// 50 a Q better by 0.1 outweighs a prior 12 times as large.
	ValueScale   float64
	MaxVisitInit float64

	// Rescale stretches the completed Q of a node's moves to [0,1] before sigma,
	// so that even the smallest differences decide, those of noise too: a
	// ValueScale of 0.1 goes with it. Else q is in [-1,1].
	Rescale bool
}

// StopConfig says when a search ends before its limits; the zero value is
// never, as training data wants it.
type StopConfig struct {
	// SmartPruning ends a search whose remaining visits cannot change which
	// move is the most visited (PUCT with a limit of visits only), whose root
	// has one legal move, or whose root is proven.
	SmartPruning bool
	// KLDGain ends a PUCT search whose visits at the root have changed, over the
	// newest 100 of them, by less than so many nats a visit, as the
	// Kullback-Leibler divergence from the older distribution to the newer
	// says (lc0). 0 = never.
	KLDGain float64
}

// DefaultConfig returns the settings that `train` starts from: PUCT with a flat
// constant of 1.5 and 32 simulations.
func DefaultConfig() Config {
	return Config{
		Simulations:      32,
		CPUCT:            1.5,
		CPUCTBase:        19652,
		CPUCTFactor:      2,
		FPUReduction:     0.33,
		RootFPUReduction: 0.33,
		NoiseAlpha:       0.3,
		NoiseEpsilon:     0.25,
		TwofoldDraw:      true,
		VirtualLoss:      1,
		MaxBatch:         1,
		MovesLeft:        MovesLeftConfig{Slope: 0.003, Threshold: 0.6},
		Gumbel:           GumbelConfig{Candidates: 16, Scale: 1, ValueScale: 0.5, MaxVisitInit: 50},
	}
}

// Validate says which setting is out of range.
func (c *Config) Validate() error {
	for _, f := range []struct {
		name      string
		value     float64
		low, high float64
	}{
		{"simulations", float64(c.Simulations), 0, math.MaxInt32},
		{"playouts", float64(c.Playouts), 0, math.MaxInt32},
		{"max nodes", float64(c.MaxNodes), 0, math.MaxInt32},
		{"cpuct", c.CPUCT, 0, 1000},
		{"cpuct factor", c.CPUCTFactor, 0, 1000},
		{"cpuct stdev", c.CPUCTStdev, 0, 10},
		{"lcb", c.LCB, 0, 100},
		{"fpu reduction", c.FPUReduction, -10, 10},
		{"root fpu reduction", c.RootFPUReduction, -10, 10},
		{"noisy root fpu reduction", c.NoisyFPU, -10, 10},
		{"fpu value", c.FPUValue, -1, 1},
		{"noise alpha", c.NoiseAlpha, 0, 1e6},
		{"noise epsilon", c.NoiseEpsilon, 0, 1},
		{"policy temperature", c.PolicyTemperature, 0, 100},
		{"virtual loss", c.VirtualLoss, 0, 1000},
		{"max batch", float64(c.MaxBatch), 0, 1 << 15},
		{"moves-left max effect", c.MovesLeft.MaxEffect, 0, 1},
		{"moves-left slope", c.MovesLeft.Slope, 0, 1},
		{"moves-left threshold", c.MovesLeft.Threshold, 0, 1},
		{"forced playouts", c.ForcedPlayouts, 0, 1000},
		{"gumbel scale", c.Gumbel.Scale, 0, 1000},
		{"gumbel value scale", c.Gumbel.ValueScale, 0, 1000},
		{"gumbel max visit init", c.Gumbel.MaxVisitInit, 0, 1e6},
		{"kld gain", c.Stop.KLDGain, 0, 1000},
		{"cache boards", float64(c.CacheBoards), 0, encoding.HistoryLen - 1},
	} {
		if !(f.value >= f.low && f.value <= f.high) {
			return fmt.Errorf("search settings: %s is %v, allowed is %v to %v", f.name, f.value, f.low, f.high)
		}
	}
	if c.CPUCTForm == CPUCTLog && !(c.CPUCTBase > 0) {
		return fmt.Errorf("search settings: cpuct base is %v, must be above 0", c.CPUCTBase)
	}
	if c.NoiseEpsilon > 0 && !(c.NoiseAlpha > 0) {
		return fmt.Errorf("search settings: noise alpha is %v, must be above 0", c.NoiseAlpha)
	}
	if c.Gumbel.Enabled && c.Gumbel.Candidates < 1 {
		return fmt.Errorf("search settings: gumbel candidates is %d, must be at least 1", c.Gumbel.Candidates)
	}
	if c.CPUCTForm > CPUCTLog || c.FPUForm > FPUAbsolute {
		return fmt.Errorf("search settings: unknown cpuct form %d or fpu form %d", c.CPUCTForm, c.FPUForm)
	}
	return nil
}
