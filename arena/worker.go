package arena

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/selfplay"
)

// work plays games until no more are wanted. It returns ctx's error when that
// is cancelled; games under way are then dropped.
func (m *match) work(ctx context.Context) error {
	var tables [2]Table
	for i, p := range m.cfg.Players {
		t, err := p.NewTable(m.cfg.Parallel)
		if err != nil {
			return fmt.Errorf("player %s: %w", p.Name(), err)
		}
		tables[i] = t
	}
	places := make([]*place, m.cfg.Parallel)
	for i := range places {
		places[i] = newPlace(m, tables)
	}
	for {
		waiting := 0
		for _, p := range places {
			waits, err := p.run(ctx)
			if err != nil {
				return err
			}
			if waits {
				waiting++
			}
		}
		if waiting == 0 {
			return nil
		}
		for _, t := range tables {
			if err := t.Round(ctx); err != nil {
				return err
			}
		}
	}
}

// place holds one game at a time.
type place struct {
	match *match
	seats [2]Seat // by player
	pcg   [2]*rand.PCG
	rng   [2]*rand.Rand
	line  *chess.History
	legal chess.MoveList // at the end of the line
	game  *Game          // nil = none under way
}

func newPlace(m *match, tables [2]Table) *place {
	p := &place{match: m, line: chess.NewHistory(chess.StartBoard())}
	for i, t := range tables {
		p.seats[i] = t.NewSeat()
		p.pcg[i] = rand.NewPCG(0, 0)
		p.rng[i] = rand.New(p.pcg[i])
	}
	return p
}

// run goes on with the place's game, and with the next ones, until a seat waits
// for its table, or, waits = false, no more games are wanted.
func (p *place) run(ctx context.Context) (waits bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if p.game == nil {
			number, ok := p.match.ticket()
			if !ok {
				return false, nil
			}
			p.start(number)
			continue // the game may be over at once
		}
		m, ok := p.seats[p.mover()].Step(p.line, &p.legal)
		if !ok {
			return true, nil
		}
		if p.legal.Index(m) < 0 {
			return false, fmt.Errorf("player %s: illegal move %s in %s", p.match.cfg.Players[p.mover()].Name(), m, p.line.Board().FEN())
		}
		p.play(m)
	}
}

// start begins a game.
func (p *place) start(number int) {
	opening := &p.match.cfg.Openings[number/2]
	opening.line(p.line)
	p.line.Board().GenerateMoves(&p.legal)
	p.game = &Game{Number: number, White: number % 2, Start: opening.Start, OpeningPlies: len(opening.Moves)}
	seed := selfplay.GameSeed(p.match.cfg.Seed, 0, uint64(number))
	for player, s := range p.seats {
		p.pcg[player].Seed(seed, uint64(1+player))
		color := chess.White
		if player != p.game.White {
			color = chess.Black
		}
		s.Start(p.line, color, p.rng[player])
	}
	p.endIfOver()
}

// mover returns the player to move.
func (p *place) mover() int {
	if p.line.Board().SideToMove() == chess.White {
		return p.game.White
	}
	return 1 - p.game.White
}

// play makes a legal move.
func (p *place) play(m chess.Move) {
	p.line.Push(m)
	for _, s := range p.seats {
		s.Played(m)
	}
	p.line.Board().GenerateMoves(&p.legal)
	p.endIfOver()
}

// endIfOver hands the game in if it is over, and leaves the place empty.
func (p *place) endIfOver() {
	g := p.game
	g.End = record.EndOf(p.line.Terminal(p.legal.N))
	switch {
	case g.End == record.EndCheckmate && p.line.Board().SideToMove() == chess.White:
		g.WhiteResult = -1
	case g.End == record.EndCheckmate:
		g.WhiteResult = 1
	case g.End == record.EndUnknown && p.line.Len() > p.match.cfg.MaxPlies:
		g.End = record.EndMaxPlies
	}
	if g.End == record.EndUnknown {
		return
	}
	g.Moves = make([]chess.Move, p.line.Len()-1)
	for i := range g.Moves {
		g.Moves[i] = p.line.MoveAt(i)
	}
	p.match.deliver(g)
	p.game = nil
}
