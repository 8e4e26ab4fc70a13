package stage

import (
	"context"
	"sort"
)

// WeightUnit is the integer weight of a row of weight 1. Sums of integer
// weights do not depend on their order, so the same games give the same rows
// however the window came to hold them.
const WeightUnit = 1 << 16

// GameInfo describes one game of an Index.
type GameInfo struct {
	Seq     uint64   // the window's number of the game: RowRef.Game; rises with age 0
	ID      [16]byte // record.Game.ID
	Ordinal uint64   // record.Game.Ordinal
	NumRows int      // rows meant for training
	Plies   int      // positions of the game, rows or not
	Weight  uint64   // sum of its rows' weights, in 1/WeightUnit
	Age     int      // games of the index that are newer
}

// RowInfo describes one row (a position meant for training) of a game.
type RowInfo struct {
	Ply    int32  // index into record.Game.Plies
	Weight uint64 // > 0, in 1/WeightUnit
}

// RowStats says how a row's search went; 0 = not known.
type RowStats struct {
	QDiff  float32 // |Q of the best move - Q of the raw network|
	KLD    float32 // of the search's policy from the raw network's, nats
	Visits uint32  // of the search's root
}

// RowRef names one row and says how much it counts in the loss.
type RowRef struct {
	Game   uint64  // GameInfo.Seq
	Ply    int32   // index into record.Game.Plies
	Weight float32 // of the row in the loss; 1 = normal
}

// Index is what a sampler sees of a window: an unchanging list of games, oldest
// first, each with at least one row. It holds only rows meant for training:
// those with a policy and a weight > 0. Safe for concurrent use.
type Index interface {
	NumGames() int
	NumRows() int
	WeightSum() uint64                       // of all rows, in 1/WeightUnit
	Game(i int) GameInfo                     // 0 = oldest; O(1)
	Row(i, k int) RowInfo                    // k-th row of game i, ascending plies; O(1)
	Stats(i, k int) RowStats                 // of the same row; O(1)
	RowAt(u uint64) (game uint64, ply int32) // the row that covers u, 0 <= u < WeightSum(); O(log n)
	NthRow(n int) (game uint64, ply int32)   // row n in window order, 0 <= n < NumRows(); O(log n)
	Find(game uint64) (i int, ok bool)       // position of a game by its Seq; O(log n)
}

// Holds says whether an index has a row.
func Holds(idx Index, game uint64, ply int32) bool {
	i, ok := idx.Find(game)
	if !ok {
		return false
	}
	rows := idx.Game(i).NumRows
	k := sort.Search(rows, func(k int) bool { return idx.Row(i, k).Ply >= ply })
	return k < rows && idx.Row(i, k).Ply == ply
}

// Draw is what a sampler draws from.
type Draw struct {
	// State came with the draw before this one. Empty: this is the first draw of
	// the random sequence (Seed, Stream), whose streams separate users of one seed.
	State        []byte
	Seed, Stream uint64

	Index Index // of the window; nil where Rows is 0
	Rows  int   // to draw; 0 = only look whether State is one
}

// Sampler chooses the rows to train on. It is a function of a state that its caller
// keeps, so that draws can be thrown away and made again, here or in another process.
type Sampler interface {
	// Name says whose states it takes: those that came while it had this name.
	Name() string

	// Sample appends d.Rows rows to dst and returns them with the state after them:
	// random generator, cursor, use counts. Equal draws give equal rows and states,
	// whatever was drawn before. A state that is none of the sampler's is an error,
	// and so is an index without rows. The state returned is the caller's; d.State
	// stays as it is. One goroutine at a time.
	Sample(ctx context.Context, d Draw, dst []RowRef) (rows []RowRef, state []byte, err error)
}
