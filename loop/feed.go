package loop

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/chessbrain/chessbrain/record"
)

// errNoMoreGames ends a feed: what was asked for has been handed out.
var errNoMoreGames = errors.New("no more games")

// feed hands the trainer one durable game after another.
type feed interface {
	// Next waits for the next game. errNoMoreGames ends it.
	Next(ctx context.Context) (*record.Game, error)
	// Waiting is the number of games that could be had at once.
	Waiting() int
	// Close stops what plays the games and waits for it.
	Close() error
}

// backlog holds the games that were durable at the start but not part of the
// checkpoint: first those of the journal in its order, then the others by
// ordinal.
type backlog struct {
	journalled []*record.Game
	others     []*record.Game
}

// newBacklog sorts the games found on disk. entries are the journal's lines
// after the checkpoint; it returns how many of them still hold: a game that is
// lost ends the order that can be repeated.
func newBacklog(entries []Entry, games map[[16]byte]*record.Game) (b *backlog, kept int) {
	b = &backlog{}
	used := map[[16]byte]bool{}
	for _, e := range entries {
		id, ok := parseID(e.Game)
		if !ok || games[id] == nil || used[id] {
			break
		}
		b.journalled = append(b.journalled, games[id])
		used[id] = true
		kept++
	}
	for id, g := range games {
		if !used[id] {
			b.others = append(b.others, g)
		}
	}
	slices.SortFunc(b.others, func(x, y *record.Game) int {
		if x.Ordinal != y.Ordinal {
			if x.Ordinal < y.Ordinal {
				return -1
			}
			return 1
		}
		return slices.Compare(x.ID[:], y.ID[:])
	})
	return b, kept
}

// Len returns how many games wait.
func (b *backlog) Len() int { return len(b.journalled) + len(b.others) }

// popJournalled returns the next game of the journal's order, or nil.
func (b *backlog) popJournalled() *record.Game {
	if len(b.journalled) == 0 {
		return nil
	}
	g := b.journalled[0]
	b.journalled = b.journalled[1:]
	return g
}

// pop returns the next game, or nil.
func (b *backlog) pop() *record.Game {
	if g := b.popJournalled(); g != nil {
		return g
	}
	if len(b.others) == 0 {
		return nil
	}
	g := b.others[0]
	b.others = b.others[1:]
	return g
}

func parseID(s string) (id [16]byte, ok bool) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(id) {
		return id, false
	}
	return [16]byte(raw), true
}
