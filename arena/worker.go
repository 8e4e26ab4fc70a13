package arena

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/chessbrain/chessbrain/chess"
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
		if c, ok := t.(io.Closer); ok {
			defer c.Close() // ends engines: nothing of the match is lost by how they end
		}
	}
	slots := make([]*slot, m.cfg.Parallel)
	for i := range slots {
		slots[i] = &slot{match: m, seats: [2]Seat{tables[0].NewSeat(), tables[1].NewSeat()}, line: chess.NewHistory(chess.StartBoard())}
	}
	for {
		waiting := 0
		for _, p := range slots {
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

// slot holds one game at a time.
type slot struct {
	match *match
	seats [2]Seat // by player
	line  *chess.History
	legal chess.MoveList // at the end of the line
	game  *Game          // nil = none under way

	thinking bool             // the mover's Step was called for this move
	left     [2]time.Duration // on the clocks, by player
	verdicts verdicts
}

// run goes on with the slot's game, and with the next ones, until a seat waits
// for its table, or, waits = false, no more games are wanted.
func (p *slot) run(ctx context.Context) (waits bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if p.game != nil && !p.thinking && p.match.cfg.Share != nil && p.match.over(p.game.Number) {
			p.game = nil // somebody else was faster
		}
		if p.game == nil {
			number, ok := p.match.ticket()
			if !ok {
				return false, nil
			}
			err = p.start(number) // the game may be over at once
		} else {
			waits, err = p.step()
		}
		if waits || err != nil {
			return waits, err
		}
	}
}

// start begins a game.
func (p *slot) start(number int) error {
	opening := &p.match.cfg.Openings[number/2]
	setLine(p.line, opening)
	p.line.Board().GenerateMoves(&p.legal)
	p.game = &Game{Number: number, White: number % 2, Start: opening.Board, OpeningPlies: len(opening.Moves)}
	p.thinking, p.verdicts = false, verdicts{}
	seed := selfplay.GameSeed(p.match.cfg.Seed, 0, uint64(number))
	for player, s := range p.seats {
		p.left[player] = p.match.limits[player].Base
		s.Start(p.line, p.color(player), rand.New(rand.NewPCG(seed, uint64(1+player))))
	}
	return p.endIfOver()
}

// color returns the colour of a player in this game.
func (p *slot) color(player int) chess.Color { return chess.Color(player ^ p.game.White) }

// step has the player to move think, and makes its move. waits: it needs its
// table's Round first.
func (p *slot) step() (waits bool, err error) {
	mover := p.game.White ^ int(p.line.Board().SideToMove())
	seat := p.seats[mover]
	if !p.thinking {
		seat.Clocks(p.clocks(mover))
	}
	a, ok := seat.Step(p.line, &p.legal)
	if p.thinking = !ok; !ok {
		return true, nil
	}
	if a.End != "" {
		return false, p.lose(mover, a.End, a.Note)
	}
	if late, note := p.spend(mover, a.Spent); late {
		return false, p.lose(mover, EndTime, note)
	}
	if p.legal.Index(a.Move) < 0 {
		return false, fmt.Errorf("player %s: illegal move %s in %s", p.match.cfg.Players[mover].Name(), a.Move, p.line.Board().FEN())
	}
	return false, p.play(mover, &a)
}

// play makes a legal move.
func (p *slot) play(mover int, a *Answer) error {
	p.verdicts.note(&p.match.cfg.Adjudicate, mover, a.Score, a.Scored, p.line.Board().FullMove())
	p.line.Push(a.Move)
	for _, s := range p.seats {
		s.Played(a.Move)
	}
	p.line.Board().GenerateMoves(&p.legal)
	return p.endIfOver()
}
