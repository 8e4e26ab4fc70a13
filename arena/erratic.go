package arena

import (
	"io"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
)

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
