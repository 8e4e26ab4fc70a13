package train

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
)

// watchedGames watches a directory for games that other processes write.
type watchedGames struct {
	back  *backlog
	dir   *replay.DirSource
	found []*record.Game
	log   *slog.Logger
}

// pollEvery is how often a directory is looked at while no game waits.
const pollEvery = 2 * time.Second

// watchGames watches the directory that other processes write games to. The games of
// the backlog come first; those that entered before the start do not enter again.
func (r *training) watchGames() (Games, error) {
	f := &watchedGames{back: r.ledger.back, dir: replay.NewDirSource(fsx.OS, r.ledger.root), log: r.log}
	for id := range r.ledger.seen {
		f.dir.MarkSeen(id)
	}
	for _, g := range f.back.games {
		f.dir.MarkSeen(g.ID)
	}
	return f, nil
}

func (f *watchedGames) Next(ctx context.Context) (*record.Game, error) {
	if g := f.back.pop(); g != nil {
		return g, nil
	}
	for len(f.found) == 0 {
		found, err := f.dir.Poll(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for games: %w", err)
		}
		for _, p := range found.Problems {
			f.log.Error("damaged games were left out", "error", p)
		}
		if f.found = found.Games; len(f.found) > 0 {
			break
		}
		if err := run.Sleep(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
	return pop(&f.found), nil
}

func (f *watchedGames) Waiting() int { return f.back.Len() + len(f.found) }

func (f *watchedGames) Close() error { return nil }
