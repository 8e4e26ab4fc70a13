package train

import (
	"cmp"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
)

// backlog holds the games that were durable at the start but not part of the
// checkpoint: first those of the journal in its order, then the others by
// ordinal.
type backlog struct {
	games   []*record.Game
	inOrder int // the first so many are the journal's
}

// newBacklog sorts the games found on disk. entries are the journal's lines
// after the checkpoint; it returns how many of them still hold: a game that is
// lost ends the order that can be repeated.
func newBacklog(entries []run.Entry, games map[[16]byte]*record.Game) (b *backlog, kept int) {
	b = &backlog{}
	used := map[[16]byte]bool{}
	for _, e := range entries {
		id, ok := e.GameID()
		if !ok || games[id] == nil || used[id] {
			break
		}
		b.games = append(b.games, games[id])
		used[id] = true
	}
	b.inOrder = len(b.games)
	for id, g := range games {
		if !used[id] {
			b.games = append(b.games, g)
		}
	}
	slices.SortFunc(b.games[b.inOrder:], func(x, y *record.Game) int {
		return cmp.Or(cmp.Compare(x.Ordinal, y.Ordinal), slices.Compare(x.ID[:], y.ID[:]))
	})
	return b, b.inOrder
}

func (b *backlog) Len() int { return len(b.games) }

// nextOrdinal is the ordinal of the next game, MaxUint64 without one.
func (b *backlog) nextOrdinal() uint64 {
	if len(b.games) == 0 {
		return math.MaxUint64
	}
	return b.games[0].Ordinal
}

// popJournalled returns the next game of the journal's order, or nil.
func (b *backlog) popJournalled() *record.Game {
	if b.inOrder == 0 {
		return nil
	}
	return b.pop()
}

// pop returns the next game, or nil.
func (b *backlog) pop() *record.Game {
	b.inOrder = max(0, b.inOrder-1)
	return pop(&b.games)
}

// pop takes the first game off a list and lets go of it; nil if there is none.
func pop(list *[]*record.Game) *record.Game {
	if len(*list) == 0 {
		return nil
	}
	g := (*list)[0]
	(*list)[0] = nil
	*list = (*list)[1:]
	return g
}
