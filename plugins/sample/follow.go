package sample

import "github.com/chessbrain/chessbrain/plugins/stage"

// ident names one game of one window for good.
type ident struct {
	seq uint64
	id  [16]byte
}

func identOf(g *stage.GameInfo) ident { return ident{seq: g.Seq, id: g.ID} }

// find returns the position of the game in idx.
func (d ident) find(idx stage.Index) (i int, ok bool) {
	if i, ok = idx.Find(d.seq); !ok {
		return 0, false
	}
	g := idx.Game(i)
	return i, g.ID == d.id
}

// follower keeps in step with an index whose window slides: games enter as the
// newest and leave as the oldest, and do not change in between. What is derived
// from the games is kept beside it, by the positions that it tells.
type follower struct {
	games  []followed // those from head on, oldest first
	head   int
	rows   int
	weight uint64 // of the rows
}

// followed is what has to be subtracted when a game leaves.
type followed struct {
	ident
	rows   int
	weight uint64
}

// follow takes the index in as it is now. Of the games that it held, the gone
// oldest have left and the others are the first kept ones of idx; those from
// kept on are new. An index of another window, or one that grew at its old end,
// is new altogether. The work is proportional to what changed.
func (f *follower) follow(idx stage.Index) (gone, kept int) {
	held := len(f.games) - f.head
	kept = f.overlap(idx)
	f.drop(held - kept)
	f.add(idx, kept)
	if kept > 0 && (f.rows != idx.NumRows() || f.weight != idx.WeightSum()) {
		kept = 0 // equal ends of two windows, and other games between
		f.drop(len(f.games) - f.head)
		f.add(idx, 0)
	}
	return held - kept, kept
}

// overlap returns how many of the first games of idx are the newest ones held.
func (f *follower) overlap(idx stage.Index) int {
	held := f.games[f.head:]
	if len(held) == 0 {
		return 0
	}
	i, ok := held[len(held)-1].find(idx)
	if !ok || i >= len(held) {
		return 0
	}
	if oldest := idx.Game(0); held[len(held)-1-i].ident != identOf(&oldest) {
		return 0
	}
	return i + 1
}

// drop forgets the n oldest games.
func (f *follower) drop(n int) {
	for _, g := range f.games[f.head : f.head+n] {
		f.rows -= g.rows
		f.weight -= g.weight
	}
	f.games, f.head = compact(f.games, f.head+n)
}

// add takes in the games of idx from position i on.
func (f *follower) add(idx stage.Index, i int) {
	for n := idx.NumGames(); i < n; i++ {
		g := idx.Game(i)
		f.games = append(f.games, followed{ident: identOf(&g), rows: g.NumRows, weight: g.Weight})
		f.rows += g.NumRows
		f.weight += g.Weight
	}
}

// compact takes the first head elements, which are no longer needed, out of s
// where they are more than half of it: an element is moved once at most for
// each that leaves.
func compact[T any](s []T, head int) ([]T, int) {
	if head <= len(s)/2 {
		return s, head
	}
	n := copy(s, s[head:])
	clear(s[n:])
	return s[:n], 0
}
