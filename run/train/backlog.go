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
	journalled []*record.Game
	others     []*record.Game
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
		return cmp.Or(cmp.Compare(x.Ordinal, y.Ordinal), slices.Compare(x.ID[:], y.ID[:]))
	})
	return b, kept
}

// Len returns how many games wait.
func (b *backlog) Len() int { return len(b.journalled) + len(b.others) }

// nextOrdinal is the ordinal of the next game outside the journal's order,
// MaxUint64 without one.
func (b *backlog) nextOrdinal() uint64 {
	if len(b.others) == 0 {
		return math.MaxUint64
	}
	return b.others[0].Ordinal
}

// popJournalled returns the next game of the journal's order, or nil.
func (b *backlog) popJournalled() *record.Game { return pop(&b.journalled) }

// pop returns the next game, or nil.
func (b *backlog) pop() *record.Game {
	if g := b.popJournalled(); g != nil {
		return g
	}
	return pop(&b.others)
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
