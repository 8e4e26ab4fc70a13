package exam

import (
	"iter"
	"math/bits"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/syzygy"
	"github.com/chessbrain/chessbrain/encoding"
)

// Pieces are the third men of the exam.
var Pieces = []chess.PieceType{chess.Queen, chess.Rook, chess.Pawn}

// Tables holds the solved endings.
type Tables map[chess.PieceType]*syzygy.Table

// Solve computes the endings of Pieces, some seconds.
func Solve() Tables { return syzygy.SolveWinning() }

// Probe returns the value of b for its side to move from the table that has it.
func (t Tables) Probe(b *chess.Board) (wdl, plies int, ok bool) {
	for _, table := range t {
		if wdl, plies, ok = table.Probe(b); ok {
			return wdl, plies, true
		}
	}
	return 0, 0, false
}

// HeldOut says whether a position of an ending belongs to the exam and is
// therefore never a start: one in ten, by a hash. All positions that are the
// same up to colours and symmetry (files flipped; without a pawn also ranks
// mirrored and the board transposed) belong to one side, so that no mirror image
// of a held-out position is a start either.
func HeldOut(b *chess.Board) bool {
	x := canonical(b) * 0x9e3779b97f4a7c15 // splitmix64's finisher
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return (x^x>>31)%10 == 0
}

// canonical numbers a position with one man beside the kings, from the mover's
// view; its symmetric images have the same number.
func canonical(b *chess.Board) uint64 {
	symmetries, kind := encoding.NumTransforms, uint64(0)
	var man uint64
	for _, p := range Pieces {
		if m := b.Ours(p) | b.Theirs(p); m != 0 {
			man, kind = m, uint64(p)<<1
			if p == chess.Pawn {
				symmetries = 2
			}
		}
	}
	if b.Ours(chess.King) != b.OurMen() {
		kind |= 1
	}
	least := ^uint64(0)
	for t := range symmetries {
		number := kind
		for _, m := range [...]uint64{b.Ours(chess.King), b.Theirs(chess.King), man} {
			number = number<<6 | uint64(bits.TrailingZeros64(t.Mask(m)))
		}
		least = min(least, number)
	}
	return least
}

// Starts returns n different positions as FENs, not held out and not over:
// a third from each ending, either side to move, drawn uniformly with the
// seed. Both colours are the strong side equally often.
func (t Tables) Starts(n int, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var all []string
	for k, p := range Pieces {
		var boards []chess.Board
		for pos := range open(t[p], false) {
			boards = append(boards, pos.Board)
		}
		for _, b := range draw(rng, boards, (n+len(Pieces)-1-k)/len(Pieces)) {
			all = append(all, b.FEN())
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// draw returns n of the boards, or all where there are fewer, with black as the
// strong side in every second one. boards is shuffled.
func draw(rng *rand.Rand, boards []chess.Board, n int) []chess.Board {
	rng.Shuffle(len(boards), func(i, j int) { boards[i], boards[j] = boards[j], boards[i] })
	boards = boards[:min(n, len(boards))]
	for i := 1; i < len(boards); i += 2 {
		boards[i] = boards[i].Recoloured()
	}
	return boards
}

// open yields the positions of an ending that are not over, as none is with a mate ahead:
// the held-out ones, or the others.
func open(t *syzygy.Table, heldOut bool) iter.Seq[syzygy.Position] {
	return func(yield func(syzygy.Position) bool) {
		for pos := range t.All {
			if HeldOut(&pos.Board) == heldOut && (pos.Plies > 0 || !over(&pos.Board)) && !yield(pos) {
				return
			}
		}
	}
}

// strongToMove says whether the side with the third man is to move.
func strongToMove(b *chess.Board) bool { return bits.OnesCount64(b.OurMen()) == 2 }

// over says whether a position has no move or too little material.
func over(b *chess.Board) bool {
	var list chess.MoveList
	b.GenerateMoves(&list)
	return list.N == 0 || b.InsufficientMaterial()
}

// Question is a held-out position with its value for the side to move.
type Question struct {
	Kind
	Board  chess.Board
	Walked bool // a game of the run went through it, or an image of it
}

// Walked are the positions of the exam's endings that games went through, by their
// canonical numbers: to be held out is not to be a start, and games go where they go.
type Walked map[uint64]bool

// Add takes down a position, if it is of an ending of the exam.
func (w Walked) Add(b *chess.Board) {
	if bits.OnesCount64(b.Occupied()) != 3 {
		return
	}
	for _, p := range Pieces {
		if b.Ours(p)|b.Theirs(p) != 0 {
			w[canonical(b)] = true
		}
	}
}

// Mark marks the questions that games went through.
func (w Walked) Mark(set []Question) {
	for i := range set {
		set[i].Walked = w[canonical(&set[i].Board)]
	}
}

// Kind is a kind of question.
type Kind struct {
	Piece  chess.PieceType
	WDL    int  // +1 win, 0 draw, -1 loss
	Strong bool // the side with the third man is to move
}

// quotas are how many of 24 questions are of a kind. A side with a third man
// never loses and one without never wins, so that wins are the strong side's and
// losses the weak side's.
var quotas = []struct {
	Kind
	of24 int
}{
	{Kind{chess.Pawn, 1, true}, 4}, {Kind{chess.Queen, 1, true}, 2}, {Kind{chess.Rook, 1, true}, 2},
	{Kind{chess.Pawn, -1, false}, 4}, {Kind{chess.Queen, -1, false}, 2}, {Kind{chess.Rook, -1, false}, 2},
	{Kind{chess.Pawn, 0, true}, 4}, {Kind{chess.Pawn, 0, false}, 2}, {Kind{chess.Queen, 0, false}, 1}, {Kind{chess.Rook, 0, false}, 1},
}

// HeldOutSet returns n held-out positions, n at least 24 and exact in multiples
// of 24, else rounded by kind: a third wins, a third draws, a third losses; half
// with either side to move; half of the wins and losses and three quarters of the
// draws from the pawn ending. (The draws of queen and rook have the weak side to
// move, which takes the piece: the strong side to move always wins there.)
func (t Tables) HeldOutSet(n int, seed uint64) []Question {
	rng := rand.New(rand.NewPCG(seed, 2))
	pools := map[Kind][]chess.Board{}
	for _, p := range Pieces {
		for pos := range open(t[p], true) {
			k := Kind{p, pos.WDL, strongToMove(&pos.Board)}
			pools[k] = append(pools[k], pos.Board)
		}
	}
	var set []Question
	before := 0
	for _, q := range quotas {
		upTo := before + q.of24
		for _, b := range draw(rng, pools[q.Kind], upTo*n/24-before*n/24) {
			set = append(set, Question{Kind: q.Kind, Board: b})
		}
		before = upTo
	}
	return set
}

// courseDraws: one start in so many is drawn at the end of a course.
const courseDraws = 4

// StagedStarts returns up to n start positions as FENs, from easy to hard: a course,
// of which a net plays as much as it masters (selfplay.OrderMastery). Each comes from
// an ending chosen at random, and is won or lost at a distance to mate that grows in
// equal steps from mate in one to the longest of all endings. Beyond an ending's own
// longest it is drawn evenly. So the net first learns what the last moves of a win
// look like, and then reaches those positions from farther and farther away; it mates
// with the queen before it needs that for a pawn. Drawn positions come in as the course
// goes on: none at first, one in four at the end. Beside mates in one they would teach
// that all that looks otherwise is drawn. The solver chooses only where games begin;
// moves and values are the net's own. No start is held out, over, or there twice; both
// colours are the strong side about equally often.
func (t Tables) StagedStarts(n int, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, 4))
	stages := map[chess.PieceType][][]chess.Board{} // by distance in plies; 0 = drawn
	longest := 0
	for _, p := range Pieces {
		stages[p] = make([][]chess.Board, t[p].Longest()+2)
		longest = max(longest, t[p].Longest())
		for pos := range open(t[p], false) {
			stages[p][pos.Plies] = append(stages[p][pos.Plies], pos.Board)
		}
	}
	starts, used := make([]string, 0, n), map[string]bool{}
	for place := range n {
		for range 20 { // tries, since a position may be there already
			ending := stages[Pieces[rng.IntN(len(Pieces))]]
			board, ok := startAt(ending, longest*place/n, rng.IntN(courseDraws*n) < place, rng)
			if !ok || used[board.FEN()] {
				continue
			}
			starts = append(starts, board.FEN())
			used[board.FEN()] = true
			break
		}
	}
	return starts
}

// startAt draws a position of an ending, whose positions lie by distance in plies (0 =
// drawn): a drawn one, or one that is decided further than beyond, as far as the ending
// goes. False: there is none at that distance.
func startAt(ending [][]chess.Board, beyond int, drawn bool, rng *rand.Rand) (b chess.Board, ok bool) {
	distance := 0
	if !drawn {
		distance = 1 + beyond
		if last := len(ending) - 1; distance > last {
			distance = 1 + rng.IntN(last)
		}
	}
	if len(ending[distance]) == 0 {
		return b, false
	}
	b = ending[distance][rng.IntN(len(ending[distance]))]
	if rng.IntN(2) == 1 {
		b = b.Recoloured()
	}
	return b, true
}
