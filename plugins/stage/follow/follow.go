// Package follow keeps in step with a stage.Index whose window slides: the built-in
// samplers know from it what to derive anew, and package api what to send to a plugin.
// Games are the rows of such a window, in replay and in a plugin.
//
//	var f follow.Window
//	gone, kept := f.Follow(idx) // of the games before; those of idx from kept on are new
package follow

import "github.com/chessbrain/chessbrain/plugins/stage"

// Game names one game of one window for good.
type Game struct {
	Seq uint64
	ID  [16]byte
}

// Of returns the name of a game.
func Of(g *stage.GameInfo) Game { return Game{g.Seq, g.ID} }

// Find returns the position of the game in idx.
func (d Game) Find(idx stage.Index) (i int, ok bool) {
	if i, ok = idx.Find(d.Seq); !ok {
		return 0, false
	}
	g := idx.Game(i)
	return i, g.ID == d.ID
}

// Window is what is known of an index: games enter as the newest and leave as the
// oldest, and do not change in between. What is derived from the games is kept beside
// it, by the positions that it tells. The zero value holds none.
type Window struct {
	games  []followed // those from head on, oldest first
	head   int
	rows   int
	weight uint64 // of the rows
}

// followed is what has to be subtracted when a game leaves.
type followed struct {
	Game
	rows   int
	weight uint64
}

// Follow takes the index in as it is now. Of the games that it held, the gone
// oldest have left and the others are the first kept ones of idx; those from
// kept on are new. An index of another window, or one that grew at its old end,
// is new altogether. The work is proportional to what changed.
func (w *Window) Follow(idx stage.Index) (gone, kept int) {
	held := len(w.games) - w.head
	kept = w.overlap(idx)
	w.drop(held - kept)
	w.add(idx, kept)
	if kept > 0 && !w.adds(idx) {
		kept = 0 // equal ends of two windows, and other games between
		w.drop(len(w.games) - w.head)
		w.add(idx, 0)
	}
	return held - kept, kept
}

// Holds says whether the index is the one that was taken in last.
func (w *Window) Holds(idx stage.Index) bool {
	held := len(w.games) - w.head
	return idx.NumGames() == held && w.overlap(idx) == held && w.adds(idx)
}

// adds says whether the rows are as many as those of idx, and of their weight.
func (w *Window) adds(idx stage.Index) bool {
	return w.rows == idx.NumRows() && w.weight == idx.WeightSum()
}

// overlap returns how many of the first games of idx are the newest ones held.
func (w *Window) overlap(idx stage.Index) int {
	held := w.games[w.head:]
	if len(held) == 0 {
		return 0
	}
	i, ok := held[len(held)-1].Find(idx)
	if !ok || i >= len(held) {
		return 0
	}
	if oldest := idx.Game(0); held[len(held)-1-i].Game != Of(&oldest) {
		return 0
	}
	return i + 1
}

// drop forgets the n oldest games.
func (w *Window) drop(n int) {
	for _, g := range w.games[w.head : w.head+n] {
		w.rows -= g.rows
		w.weight -= g.weight
	}
	w.games, w.head = Compact(w.games, w.head+n)
}

// add takes in the games of idx from position i on.
func (w *Window) add(idx stage.Index, i int) {
	for n := idx.NumGames(); i < n; i++ {
		g := idx.Game(i)
		w.games = append(w.games, followed{Of(&g), g.NumRows, g.Weight})
		w.rows += g.NumRows
		w.weight += g.Weight
	}
}

// Compact takes the first head elements, which are no longer needed, out of s
// where they are more than half of it: an element is moved once at most for
// each that leaves.
func Compact[T any](s []T, head int) ([]T, int) {
	if head <= len(s)/2 {
		return s, head
	}
	n := copy(s, s[head:])
	clear(s[n:])
	return s[:n], 0
}
