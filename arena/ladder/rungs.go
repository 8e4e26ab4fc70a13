package ladder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
)

// Program is the engine of the rungs with a skill or nodes; the places hold for this
// version.
const Program = "Stockfish 15.1"

// Rung is an opponent of the ladder.
type Rung struct {
	Name  string  `json:"name"`
	Elo   float64 `json:"elo"`   // its place, above random moves
	Error float64 `json:"error"` // standard error of the place

	errs  float64 // share of its moves that are random
	skill int     // Stockfish's Skill Level and 1; 0 = full strength, or no engine
	nodes int     // of a move of Stockfish; 0 = not limited
}

// rungs are the opponents, the weakest first, with the places that [Calibrate] measured:
// docs/LADDER.md has the command.
var rungs = []Rung{
	{"random", 0, 0, 1, 0, 0},
	{"greedy-75-random", 290, 15, 0.75, 0, 0},
	{"skill-0-50-random", 549, 18, 0.50, 1, 0},
	{"greedy-50-random", 553, 17, 0.50, 0, 0},
	{"greedy-25-random", 768, 19, 0.25, 0, 0},
	{"skill-0-25-random", 907, 21, 0.25, 1, 0},
	{"greedy", 975, 21, 0, 0, 0},
	{"skill-0-10-random", 1198, 23, 0.10, 1, 0},
	{"skill-0", 1476, 26, 0, 1, 0},
	{"skill-1", 1528, 26, 0, 2, 0},
	{"skill-2", 1651, 27, 0, 3, 0},
	{"skill-3", 1720, 27, 0, 4, 0},
	{"nodes-100", 1900, 29, 0, 0, 100},
	{"nodes-30", 1902, 28, 0, 0, 30},
	{"skill-4", 1940, 29, 0, 5, 0},
	{"nodes-300", 2034, 29, 0, 0, 300},
	{"skill-5", 2185, 30, 0, 6, 0},
	{"nodes-1000", 2422, 32, 0, 0, 1000},
	{"skill-6", 2456, 32, 0, 7, 0},
	{"skill-7", 2628, 34, 0, 8, 0},
	{"skill-8", 2728, 38, 0, 9, 0},
	{"nodes-3000", 2759, 40, 0, 0, 3000},
	{"nodes-10000", 2988, 45, 0, 0, 10000},
}

// Rungs returns the ladder, the weakest rung first.
func Rungs() []Rung { return slices.Clone(rungs) }

// NeedsEngine reports whether Stockfish plays the rung.
func (r *Rung) NeedsEngine() bool { return r.skill > 0 || r.nodes > 0 }

// Player makes the rung's player; where that is Stockfish it wants the engine.
//
// A skill level picks its move at the depth of one more than the level, so the search
// ends there: more time would change nothing. One thread and a small table make it as
// strong on every machine.
func (r *Rung) Player(engine *Engine) (arena.Player, error) {
	if r.errs == 1 {
		return arena.Random(), nil
	}
	player := arena.Greedy()
	if r.NeedsEngine() {
		if engine == nil {
			return nil, errors.New("there is no engine")
		}
		cfg := arena.EngineConfig{Name: r.Name, Path: engine.Path, Limits: arena.Limits{Nodes: r.nodes, Depth: r.skill},
			Options: map[string]string{"Threads": "1", "Hash": "16"}}
		if r.skill > 0 {
			cfg.Options["Skill Level"] = strconv.Itoa(r.skill - 1)
		}
		var err error
		if player, err = arena.NewEngine(cfg); err != nil {
			return nil, fmt.Errorf("rung %s: %w", r.Name, err)
		}
	}
	if r.errs > 0 {
		return arena.Erratic(r.Name, player, r.errs), nil
	}
	return player, nil
}

// Engine is a Stockfish that keeps its limits.
type Engine struct {
	Path string
	Name string // what it calls itself
}

// tryTime is how long a search of the trial may take.
const tryTime = 10 * time.Second

// FindEngine finds Stockfish, "" for the one in the PATH, and tries it out: it must
// have skill levels, find a move, and end its search where it is told to.
func FindEngine(ctx context.Context, program string) (_ *Engine, err error) {
	e := &Engine{}
	if e.Path, err = uci.FindEngine(cmp.Or(program, "stockfish")); err != nil {
		return nil, err
	}
	client, err := uci.Start(ctx, uci.ClientConfig{Path: e.Path, Options: map[string]string{"Skill Level": "20", "Threads": "1", "Hash": "16"}})
	if errors.Is(err, uci.ErrOption) {
		return nil, fmt.Errorf("%s is too old, or no Stockfish: the ladder's rungs are skill levels: %w", e.Path, err)
	}
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if e.Name = client.Name; !strings.HasPrefix(e.Name, "Stockfish") {
		return nil, fmt.Errorf("%s calls itself %s: the ladder's rungs are %s", e.Path, e.Name, Program)
	}
	for _, limit := range []uci.Limit{{Nodes: 1000}, {Depth: 3}} {
		if err := try(ctx, client, limit); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return e, nil
}

// try has the engine search the start position.
func try(ctx context.Context, client *uci.Client, limit uci.Limit) error {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	a, err := client.Go(ctx, uci.Position{Start: chess.StartBoard()}, limit)
	if err != nil {
		return err
	}
	if limit.Nodes > 0 && a.Nodes > 2*limit.Nodes || limit.Depth > 0 && a.Depth > limit.Depth {
		return fmt.Errorf("it does not keep its limits: %d nodes to depth %d where %+v were allowed", a.Nodes, a.Depth, limit)
	}
	return nil
}

// Doubt says why the rungs of the engine may not stand where the ladder has them; ""
// if they do.
func (e *Engine) Doubt() string {
	if e.Name == Program {
		return ""
	}
	return fmt.Sprintf("the places were measured with %s, not with %s: compare the scores, not the rating", Program, e.Name)
}
