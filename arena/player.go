package arena

import (
	"context"
	"io"
	"math/rand/v2"
	"time"

	"github.com/chessbrain/chessbrain/chess"
)

// Player is one of the two sides of a match. Its methods are called
// concurrently by the workers.
type Player interface {
	// Name stands in the PGN and in reports.
	Name() string
	// Limits are what the match bounds; the zero value is no limit.
	Limits() Limits
	// OneGame reports whether a worker should have one game of the player at a
	// time, unless it is told otherwise: each takes a process, or its time is
	// limited.
	OneGame() bool
	// NewTable returns the player's part of one worker, which has at most so
	// many games under way at once.
	NewTable(games int) (Table, error)
}

// Table is what a player's games in one worker share: an evaluator and its
// batch. It and its seats are used by one goroutine. A table that is an
// io.Closer is closed when the worker ends.
type Table interface {
	NewSeat() Seat
	// Round answers all seats whose last Step asked for it; the worker calls it
	// after it has stepped every game.
	Round(ctx context.Context) error
}

// Seat plays a player's moves in one game at a time.
type Seat interface {
	// Start begins a game whose line so far is line: its start position and the
	// opening's moves. rng is the seat's own stream of random numbers for this
	// game. Both are the caller's; rng may be kept until the next Start.
	Start(line *chess.History, color chess.Color, rng *rand.Rand)
	// Clocks is called before the first Step of each move.
	Clocks(Clocks)
	// Step thinks about the end of line, where the seat's player is to move and
	// legal (never empty) are the moves. ok is false if it must be called again
	// after the table's next Round.
	Step(line *chess.History, legal *chess.MoveList) (a Answer, ok bool)
	// Played tells the seat each move of the game, its own included.
	Played(m chess.Move)
}

// Answer is what a seat says of its move.
type Answer struct {
	Move   chess.Move    // one that is not legal is a programmer's bug and ends the match
	End    End           // where it is set, there is no move, and the player loses this game
	Note   string        // what happened then
	Spent  time.Duration // what the move took; 0 where time is not measured
	Score  int           // value of the move in centipawns, its player's view; a mate is above any other score
	Scored bool          // there is a Score
}

// Clocks is what is left to each colour, and what each of its moves adds. A
// colour without a clock has the other's.
type Clocks struct{ Left, Increment [2]time.Duration }

// chooser is a player that answers at once with a function of the position, its
// legal moves and random numbers. It is its own table.
type chooser struct {
	name   string
	choose func(b *chess.Board, legal *chess.MoveList, rng *rand.Rand) chess.Move
}

func (c *chooser) Name() string                { return c.name }
func (c *chooser) Limits() Limits              { return Limits{} }
func (c *chooser) OneGame() bool               { return false }
func (c *chooser) NewTable(int) (Table, error) { return c, nil }
func (c *chooser) NewSeat() Seat               { return &chooserSeat{player: c} }
func (c *chooser) Round(context.Context) error { return nil }

type chooserSeat struct {
	player *chooser
	rng    *rand.Rand
}

func (s *chooserSeat) Start(_ *chess.History, _ chess.Color, rng *rand.Rand) { s.rng = rng }

func (s *chooserSeat) Step(line *chess.History, legal *chess.MoveList) (Answer, bool) {
	return Answer{Move: s.player.choose(line.Board(), legal, s.rng)}, true
}

func (s *chooserSeat) Clocks(Clocks)     {}
func (s *chooserSeat) Played(chess.Move) {}

// Random returns the player of uniformly random legal moves.
func Random() Player {
	return &chooser{"random", func(_ *chess.Board, legal *chess.MoveList, rng *rand.Rand) chess.Move {
		return legal.Moves[rng.IntN(legal.N)]
	}}
}

// Greedy returns a fixed player that looks two plies ahead. Where one of its
// moves mates it plays the first of these (in generation order). Else a move's
// score is
//
//	gain(move) - max(0, gain of each legal answer)
//
// where the gain of a move is the value of the man it takes (pawn 1, knight and
// bishop 3, rook 5, queen 9; en passant takes a pawn) plus, for a promotion, the
// value of the new man less one. It plays a move with the highest score, each
// of several with the same probability. It knows nothing of defended men,
// answers to answers, checks, stalemate or draws.
func Greedy() Player { return &chooser{"greedy", greedyMove} }

// greedyMove returns the greedy player's move.
func greedyMove(b *chess.Board, legal *chess.MoveList, rng *rand.Rand) chess.Move {
	var answers, best chess.MoveList
	high := 0
	for _, m := range legal.Slice() {
		child := *b
		child.Make(m)
		child.GenerateMoves(&answers)
		if answers.N == 0 && child.InCheck() {
			return m
		}
		loss := 0
		for _, a := range answers.Slice() {
			loss = max(loss, child.Gain(a))
		}
		score := b.Gain(m) - loss
		if best.N == 0 || score > high {
			best.N, high = 0, score
		}
		if score == high {
			best.Moves[best.N] = m
			best.N++
		}
	}
	return best.Moves[rng.IntN(best.N)]
}

// erratic is a player that makes random moves now and then.
type erratic struct {
	Player
	name  string
	share float64
}

// Erratic returns a player that makes a share (in [0,1]) of its moves uniformly at
// random and has p make the others: a way to weaker opponents between players that
// are far apart.
func Erratic(name string, p Player, share float64) Player { return &erratic{p, name, share} }

func (e *erratic) Name() string { return e.name }

func (e *erratic) NewTable(games int) (Table, error) {
	t, err := e.Player.NewTable(games)
	return &erraticTable{t, e.share}, err
}

type erraticTable struct {
	Table
	share float64
}

func (t *erraticTable) NewSeat() Seat { return &erraticSeat{Seat: t.Table.NewSeat(), share: t.share} }

func (t *erraticTable) Close() error {
	if c, ok := t.Table.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type erraticSeat struct {
	Seat
	share    float64
	rng      *rand.Rand
	thinking bool // the player is asked for this move
}

func (s *erraticSeat) Start(line *chess.History, color chess.Color, rng *rand.Rand) {
	s.rng, s.thinking = rng, false
	s.Seat.Start(line, color, rng)
}

// Step says no score: random moves have none.
func (s *erraticSeat) Step(line *chess.History, legal *chess.MoveList) (Answer, bool) {
	if !s.thinking && s.rng.Float64() < s.share {
		return Answer{Move: legal.Moves[s.rng.IntN(legal.N)]}, true
	}
	a, ok := s.Seat.Step(line, legal)
	a.Scored, s.thinking = false, !ok
	return a, ok
}
