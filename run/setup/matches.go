package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/run"
)

// Gatekeeper is how new nets are tested: the section loop.gatekeeper.
type Gatekeeper struct {
	Games, Workers         int // at most so many games, an even number
	OpeningPlies, MaxPlies int
	Share                  float64     // of the points that the candidate needs, [0,1]; so many are enough
	SPRT                   *arena.SPRT // nil = the points decide
	TestOlder              bool
	Search                 arena.Settings // of both nets: as in self-play, without noise
}

// GatekeeperOf returns how a configuration tests nets, or what cannot work of it.
func GatekeeperOf(e *config.Effective) (Gatekeeper, error) {
	k := e.Config.GetLoop().GetGatekeeper()
	g := Gatekeeper{
		Games: int(k.GetGames()), Workers: int(k.GetWorkers()), OpeningPlies: int(k.GetOpeningPlies()), MaxPlies: int(k.GetMaxPlies()),
		Share: k.GetRequiredWinProp(), TestOlder: k.GetTestOlder(),
		Search: arena.Settings{Search: searchConfig(e.Config.GetMcts()), TreeReuse: true, Temperature: k.GetTemperature(),
			TemperaturePlies: max(0, int(k.GetTemperaturePlies()-k.GetOpeningPlies()))}, // the arena counts from the opening's end
	}
	g.Workers = cmp.Or(g.Workers, runtime.GOMAXPROCS(0))
	s := &g.Search.Search
	s.Simulations, s.Playouts, s.Gumbel.Enabled = int(k.GetVisits()), 0, k.GetGumbel()
	// The most visited move is played: visits that cannot change it are saved.
	s.Stop.SmartPruning = k.GetTemperature() == 0 && !k.GetGumbel()
	if t := k.GetSprt(); t.GetEnabled() {
		g.SPRT = &arena.SPRT{Elo0: t.GetElo0(), Elo1: t.GetElo1(), Alpha: t.GetAlpha(), Beta: t.GetBeta()}
	}
	if g.Games < 2 || g.Games%2 != 0 {
		return g, e.Errorf("loop.gatekeeper.games", "give an even number, at least 2", "games come in pairs of one opening")
	}
	if g.SPRT != nil {
		if err := g.SPRT.Validate(); err != nil {
			return g, e.Errorf("loop.gatekeeper.sprt", "correct the hypotheses", "%v", err)
		}
	}
	if k.GetVisits() < 1 {
		return g, e.Errorf("loop.gatekeeper.visits", "give at least 1", "a search needs visits")
	}
	if g.OpeningPlies >= g.MaxPlies {
		return g, e.Errorf("loop.gatekeeper.max_plies", "raise it above loop.gatekeeper.opening_plies", "every game would be a draw")
	}
	return g, nil
}

// Rating is which matches rate a run's nets: the section loop.rating.
type Rating struct {
	Games         int // of each match, an even number; 0 plays nothing
	Opponents     int // newest accepted nets before it that a net plays
	First, Random bool
	Search        arena.Settings // of the nets; it does not follow the section mcts, so that the yardstick stays
	Engines       []arena.EngineConfig
	LadderGames   int    // at most against a rung, of the newest net on the ladder; 0 = it does not climb
	LadderEngine  string // program of the rungs of Stockfish; "" = the usual one
}

// SkillOption is the UCI option that makes an engine weaker.
const SkillOption = "Skill Level"

// RatingOf returns how a configuration rates nets, or what cannot work of it.
func RatingOf(e *config.Effective) (Rating, error) {
	k := e.Config.GetLoop().GetRating()
	r := Rating{Games: int(k.GetGames()), Opponents: int(k.GetOpponents()), First: k.GetFirst(), Random: k.GetRandom(),
		Search:      arena.Settings{Search: mcts.DefaultConfig(), TreeReuse: true},
		LadderGames: int(k.GetLadderGames()), LadderEngine: k.GetEngine()}
	r.Search.Search.Simulations = int(k.GetVisits())
	if r.Games%2 != 0 {
		return r, e.Errorf("loop.rating.games", "give an even number, 0 for none", "games come in pairs of one opening")
	}
	if r.LadderGames%2 != 0 {
		return r, e.Errorf("loop.rating.ladder_games", "give an even number, 0 for none", "games come in pairs of one opening")
	}
	if k.GetEngine() == "" {
		return r, nil
	}
	for _, nodes := range k.GetEngineNodes() {
		r.Engines = append(r.Engines, arena.EngineConfig{Path: k.GetEngine(), Limits: arena.Limits{Nodes: int(nodes)}})
	}
	for _, skill := range k.GetEngineSkill() { // at the first number of nodes
		c := r.Engines[0]
		c.Options = map[string]string{SkillOption: fmt.Sprint(skill)}
		r.Engines = append(r.Engines, c)
	}
	return r, nil
}

// RatingConfig returns the configuration of the newest start of the run at root, with
// its section loop.rating changed; the defaults where there was none. Flags, nil or
// some, win over it. A run directory is data, which may be another user's: a program
// that its configuration names is not started. left is the engine in it, unless change
// names one.
func RatingConfig(root string, flags *config.FlagSet, change func(*config.Rating)) (e *config.Effective, left string, err error) {
	path, read := run.Dir{Root: root}.ConfigFile(), config.LoadKept
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		read = func(path string) (*config.File, error) {
			return config.Parse(path, fmt.Appendf(nil, "run_dir: %q", root))
		}
	}
	file, err := read(path)
	if err != nil {
		return nil, "", err
	}
	c := file.Config
	c.RunDir = &root
	c.Loop = cmp.Or(c.Loop, &config.Loop{})
	c.Loop.Rating = cmp.Or(c.Loop.Rating, &config.Rating{})
	k := c.Loop.Rating
	engine, nodes, skill := k.Engine, k.EngineNodes, k.EngineSkill
	k.Engine, k.EngineNodes, k.EngineSkill = nil, nil, nil
	if c.Plugins != nil {
		c.Plugins.Dir = nil
	}
	change(k)
	if k.Engine == nil && engine != nil {
		left = *engine
	}
	if k.Engine != nil { // the command names it; what it does not say of its strength is the run's
		if k.EngineNodes == nil {
			k.EngineNodes = nodes
		}
		if k.EngineSkill == nil {
			k.EngineSkill = skill
		}
	}
	e, err = config.Resolve(config.Input{File: file, Flags: flags})
	return e, left, err
}
