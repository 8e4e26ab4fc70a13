package ladder

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
)

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
	if program == "" {
		program = "stockfish"
	}
	e := &Engine{}
	if e.Path, err = uci.FindEngine(program); err != nil {
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
