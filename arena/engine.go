package arena

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
)

// EngineConfig describes a player that is a UCI engine.
type EngineConfig struct {
	Name    string            // "" = what the engine calls itself
	Path    string            // program, as uci.FindEngine takes it
	Args    []string          // its arguments
	Options map[string]string // UCI options, by name
	Limits  Limits            // at least one of them

	// Patience is how long a move without a limit of time may take, before the
	// engine counts as hung; 0 = 10 minutes.
	Patience time.Duration
	// Log gets what is said, of all processes of the engine, from several
	// goroutines at once; nil = nobody.
	Log io.Writer

	grace time.Duration // uci.ClientConfig's; 0 = its default
}

const (
	defaultPatience = 10 * time.Minute

	// lateGrace is how long after its time an engine is waited for before it is
	// stopped: what it says until then tells by how much it was late.
	lateGrace = time.Second
)

// String returns options and limits, as "nodes=100 Skill Level=0".
func (c *EngineConfig) String() string {
	var parts []string
	if l := c.Limits.String(); l != "" {
		parts = append(parts, l)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Options)) {
		parts = append(parts, name+"="+c.Options[name])
	}
	return strings.Join(parts, " ")
}

// engine is a UCI engine with its settings. Each game under way has a process of
// its own, which goes on to the next game.
type engine struct{ cfg EngineConfig }

// ErrEndless says that an engine has no limit.
var ErrEndless = errors.New("its search has no end: limit its nodes, its depth or its time")

// NewEngine returns a player that is a UCI engine. It starts the engine once,
// to see that it works and takes its options.
//
// An engine that makes an illegal move, oversteps its time, crashes or hangs
// loses the game (EndIllegal, EndTime, EndEngineDied; Game.Note says what it
// did) and is started again for the next one. One that then cannot be started
// ends the match.
func NewEngine(cfg EngineConfig) (Player, error) {
	if err := cfg.Limits.validate(); err != nil {
		return nil, fmt.Errorf("engine %s: %w", cfg.Path, err)
	}
	if l := cfg.Limits; l.Nodes == 0 && l.Depth == 0 && !l.Timed() {
		return nil, fmt.Errorf("engine %s: %w", cfg.Path, ErrEndless)
	}
	if cfg.Patience <= 0 {
		cfg.Patience = defaultPatience
	}
	e := &engine{cfg}
	client, err := e.start(context.Background())
	if err != nil {
		return nil, err
	}
	e.cfg.Name = cmp.Or(e.cfg.Name, client.Name)
	_ = client.Close() // an engine that does not know quit plays all the same
	return e, nil
}

// start starts a process; that is bounded in time.
func (e *engine) start(ctx context.Context) (*uci.Client, error) {
	return uci.Start(ctx, uci.ClientConfig{
		Path: e.cfg.Path, Args: e.cfg.Args, Options: e.cfg.Options, Grace: e.cfg.grace, Log: e.cfg.Log,
	})
}

func (e *engine) Name() string   { return e.cfg.Name }
func (e *engine) Limits() Limits { return e.cfg.Limits }
func (e *engine) OneGame() bool  { return true }

func (e *engine) NewTable(int) (Table, error) { return &engineTable{engine: e}, nil }

// engineTable has the engine's processes in one worker.
type engineTable struct {
	engine  *engine
	seats   []*engineSeat
	waiting []*engineSeat // for their move
}

func (t *engineTable) NewSeat() Seat {
	s := &engineSeat{table: t}
	t.seats = append(t.seats, s)
	return s
}

// Round has all processes that are asked for a move think at the same time.
func (t *engineTable) Round(ctx context.Context) error {
	var group errgroup.Group
	for _, s := range t.waiting {
		group.Go(func() error { return s.think(ctx) })
	}
	t.waiting = t.waiting[:0]
	return group.Wait()
}

// Close ends all processes.
func (t *engineTable) Close() error {
	var group errgroup.Group
	for _, s := range t.seats {
		group.Go(s.close)
	}
	return group.Wait()
}

// engineSeat is one process of the engine.
type engineSeat struct {
	table   *engineTable
	client  *uci.Client // nil = none
	newGame bool        // the process does not know of this game yet
	color   chess.Color
	clocks  Clocks

	position uci.Position // to think about
	thought  bool         // what follows is the answer to it
	answer   Answer
}

func (s *engineSeat) Start(_ *chess.History, color chess.Color, _ *rand.Rand) {
	s.newGame, s.color, s.thought = true, color, false
}

func (s *engineSeat) Clocks(c Clocks)   { s.clocks = c }
func (s *engineSeat) Played(chess.Move) {}

func (s *engineSeat) Step(line *chess.History, _ *chess.MoveList) (Answer, bool) {
	if s.thought {
		s.thought = false
		return s.answer, true
	}
	s.position.Start = *line.At(0)
	s.position.Moves = line.Moves(s.position.Moves[:0])
	s.table.waiting = append(s.table.waiting, s)
	return Answer{}, false
}

// errLate ends a search that takes too long.
var errLate = errors.New("the move took too long")

// think asks the process for its move. What the engine does wrong loses it the
// game and is no error.
func (s *engineSeat) think(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return fmt.Errorf("player %s: %w", s.table.engine.cfg.Name, err)
	}
	limit, patience := s.limit()
	thinking, cancel := context.WithTimeoutCause(ctx, patience, errLate)
	defer cancel()
	said, err := s.client.Go(thinking, s.position, limit)
	s.answer, s.thought = Answer{Move: said.Move, Spent: said.Time, Score: said.Score, Scored: said.Scored}, true
	if err == nil {
		return nil
	}
	if ctx.Err() != nil { // the match is stopped
		return errors.Join(ctx.Err(), err)
	}
	s.answer.Note = err.Error()
	timed := s.table.engine.cfg.Limits.Timed()
	switch died := errors.Is(err, uci.ErrExited) || errors.Is(err, uci.ErrHung); {
	case errors.Is(err, uci.ErrIllegal):
		s.answer.End = EndIllegal
	case errors.Is(err, errLate) && timed && !died:
		s.answer.End = EndTime
	case errors.Is(err, errLate) || died:
		s.answer.End = EndEngineDied
		s.drop()
	default:
		return err // the match asks for what the engine cannot do
	}
	return nil
}

// prepare starts the process where there is none, and tells it of a new game. A
// process that fails between two games is replaced.
func (s *engineSeat) prepare(ctx context.Context) error {
	if s.client != nil && s.newGame {
		if err := s.client.NewGame(ctx); err != nil {
			s.drop()
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.newGame = false
	if s.client != nil {
		return nil
	}
	var err error
	s.client, err = s.table.engine.start(ctx)
	return err
}

// limit returns the limits of a move, and how long its answer is waited for.
func (s *engineSeat) limit() (uci.Limit, time.Duration) {
	l := &s.table.engine.cfg.Limits
	limit := uci.Limit{Nodes: int64(l.Nodes), Depth: l.Depth, MoveTime: l.MoveTime}
	allowed := l.MoveTime
	if l.Base > 0 {
		limit.WTime, limit.BTime = s.clocks.Left[chess.White], s.clocks.Left[chess.Black]
		limit.WInc, limit.BInc = s.clocks.Increment[chess.White], s.clocks.Increment[chess.Black]
		allowed = s.clocks.Left[s.color]
	}
	if !l.Timed() {
		return limit, s.table.engine.cfg.Patience
	}
	return limit, allowed + l.Margin + lateGrace
}

// close ends the process, if there is one.
func (s *engineSeat) close() error {
	if s.client == nil {
		return nil
	}
	err := s.client.Close()
	s.client = nil
	return err
}

// drop ends a process that failed; that it does so badly is known.
func (s *engineSeat) drop() { _ = s.close() }
