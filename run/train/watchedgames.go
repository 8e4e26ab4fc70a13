package train

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
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

// newWatchedGames watches dir. The games of the backlog come first. seen are those
// that entered before the start; they do not enter again.
func newWatchedGames(back *backlog, dir string, seen map[[16]byte]bool, log *slog.Logger) *watchedGames {
	f := &watchedGames{back: back, dir: replay.NewDirSource(fsx.OS, dir), log: log}
	for id := range seen {
		f.dir.MarkSeen(id)
	}
	for _, list := range [][]*record.Game{back.journalled, back.others} {
		for _, g := range list {
			f.dir.MarkSeen(g.ID)
		}
	}
	return f
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
		f.found = found.Games
		if len(f.found) > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
	return pop(&f.found), nil
}

func (f *watchedGames) Waiting() int { return f.back.Len() + len(f.found) }

func (f *watchedGames) Close() error { return nil }

// openGamesDir watches the directory that other processes write games to.
func (r *training) openGamesDir() (Games, error) {
	return newWatchedGames(r.ledger.takeBacklog(), r.ledger.root, r.ledger.seen, r.log), nil
}
