package arena

import (
	"io"
	"math/rand/v2"
	"time"

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

func (e *erratic) Limits() Limits {
	if l, ok := e.Player.(Limited); ok {
		return l.Limits()
	}
	return Limits{}
}

func (e *erratic) OneGame() bool {
	l, ok := e.Player.(Limited)
	return ok && l.OneGame()
}

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
	spent    time.Duration
}

func (s *erraticSeat) Start(line *chess.History, color chess.Color, rng *rand.Rand) {
	s.rng, s.thinking = rng, false
	s.Seat.Start(line, color, rng)
}

func (s *erraticSeat) Step(line *chess.History, legal *chess.MoveList) (chess.Move, bool) {
	if s.spent = 0; !s.thinking && s.rng.Float64() < s.share {
		return legal.Moves[s.rng.IntN(legal.N)], true
	}
	m, ok := s.Seat.Step(line, legal)
	if t, timed := s.Seat.(Timekeeper); ok && timed {
		s.spent = t.Spent()
	}
	s.thinking = !ok
	return m, ok
}

func (s *erraticSeat) Clocks(c Clocks) {
	if t, ok := s.Seat.(Timekeeper); ok {
		t.Clocks(c)
	}
}

// Spent is 0 for a random move.
func (s *erraticSeat) Spent() time.Duration { return s.spent }

// Quit speaks for the player: it alone answers chess.NoMove, if it can fail.
func (s *erraticSeat) Quit() (end End, note string) { return s.Seat.(Quitter).Quit() }
