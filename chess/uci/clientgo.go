package uci

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/chess"
)

// Position is a start position and the legal moves that led from it to the one
// to think about.
type Position struct {
	Start chess.Board
	Moves []chess.Move
}

// Limit says when a search ends: when the first of the limits that are not zero
// is reached. Times are sent in whole milliseconds, 1 at least; with one of the
// clocks given, both are sent.
type Limit struct {
	Nodes        int64
	Depth        int // plies
	MoveTime     time.Duration
	WTime, BTime time.Duration // left on white's and black's clock
	WInc, BInc   time.Duration // added after each move
	MovesToGo    int           // until time is added; 0 = never
	Mate         int           // moves
	Infinite     bool          // until the context ends
}

// Answer is what an engine found.
type Answer struct {
	Move   chess.Move    // of the position; NoMove only where it has no legal move
	Ponder chess.Move    // the answer it expects, or NoMove
	Info   Info          // the last it said of its best line
	Time   time.Duration // from go to bestmove, by our clock
}

// Go has the engine think about a position and returns its move. Setting up the
// position is not part of Answer.Time.
//
// At the end of ctx the search is stopped: the error then wraps ctx's cause, and
// the Answer is nevertheless the engine's, if it came within Grace. A search
// without a context that ends waits for ever for an engine that hangs.
//
// An illegal move, or none where there are some, is an error that wraps
// ErrIllegal; the engine may be used further. A Chess960 position wants an
// engine with the option UCI_Chess960, else the error wraps ErrOption.
func (c *Client) Go(ctx context.Context, p Position, l Limit) (Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return Answer{}, c.err
	}
	board, position, err := p.command()
	if err != nil {
		return Answer{}, err
	}
	command, err := l.command()
	if err != nil {
		return Answer{}, err
	}
	if chess960 := p.Start.Castles960(); chess960 != c.chess960 {
		if err := c.setOption("UCI_Chess960", strconv.FormatBool(chess960)); err != nil {
			return Answer{}, err
		}
	}
	if err := c.send(position); err != nil {
		return Answer{}, err
	}
	if err := c.ready(ctx); err != nil { // what an earlier search left behind comes before
		return Answer{}, err
	}
	return c.search(ctx, &board, command)
}

// search sends go and reads up to bestmove.
func (c *Client) search(ctx context.Context, board *chess.Board, command string) (Answer, error) {
	began := time.Now()
	if err := c.send(command); err != nil {
		return Answer{}, err
	}
	var info infoReader
	var late <-chan time.Time
	stop := ctx.Done()
	for {
		select {
		case l, open := <-c.proc.lines:
			if !open {
				return Answer{}, c.gone()
			}
			word, rest, _ := strings.Cut(l.text, " ")
			if word == "info" {
				info.take(rest)
			}
			if word != "bestmove" {
				continue
			}
			a := Answer{Time: l.at.Sub(began), Info: info.finish(board)}
			err := c.bestMove(&a, board, rest)
			if err == nil && ctx.Err() != nil {
				err = c.failed("was stopped", context.Cause(ctx))
			}
			return a, err
		case <-stop:
			stop = nil
			if err := c.send("stop"); err != nil {
				return Answer{}, err
			}
			timer := time.NewTimer(c.config.Grace)
			defer timer.Stop()
			late = timer.C
		case <-late:
			return Answer{}, errors.Join(c.hung(fmt.Sprintf("sent no bestmove within %s of stop", c.config.Grace)), context.Cause(ctx))
		}
	}
}

// bestMove reads what follows the word "bestmove".
func (c *Client) bestMove(a *Answer, board *chess.Board, rest string) error {
	var legal chess.MoveList
	board.GenerateMoves(&legal)
	words := strings.Fields(rest)
	if len(words) == 0 {
		words = []string{""}
	}
	if legal.N == 0 && (words[0] == "0000" || words[0] == "(none)") {
		return nil
	}
	m, err := board.ParseUCI(words[0])
	if err != nil {
		return c.failed(fmt.Sprintf("played %q in %s", cut(words[0]), board.FEN()), ErrIllegal)
	}
	a.Move = m
	if len(words) > 2 && words[1] == "ponder" {
		next := *board
		next.Make(m)
		a.Ponder, _ = next.ParseUCI(words[2]) // NoMove where it is none
	}
	return nil
}

// command returns the board that the position ends at and the line that sets it
// up. Moves are checked: an engine would go on with a wrong position in silence.
func (p *Position) command() (chess.Board, string, error) {
	board, chess960 := p.Start, p.Start.Castles960()
	var text strings.Builder
	if p.Start == chess.StartBoard() {
		text.WriteString("position startpos")
	} else {
		text.WriteString("position fen " + p.Start.FEN())
	}
	if len(p.Moves) > 0 {
		text.WriteString(" moves")
	}
	var legal chess.MoveList
	for i, m := range p.Moves {
		if board.GenerateMoves(&legal); legal.Index(m) < 0 {
			return board, "", fmt.Errorf("move %d of the position, %s (from the mover's view), is illegal in %s", i+1, m, board.FEN())
		}
		text.WriteString(" " + board.UCI(m, chess960))
		board.Make(m)
	}
	return board, text.String(), nil
}

// command returns the go line.
func (l *Limit) command() (string, error) {
	if min(l.WTime, l.BTime, l.WInc, l.BInc, l.MoveTime) < 0 || l.Nodes < 0 || min(l.Depth, l.MovesToGo, l.Mate) < 0 {
		return "", fmt.Errorf("a limit of a search is negative: %+v", *l)
	}
	text := "go"
	add := func(said bool, name string, n int64) {
		if said {
			text += " " + name + " " + strconv.FormatInt(n, 10)
		}
	}
	clock, gain := l.WTime > 0 || l.BTime > 0, l.WInc > 0 || l.BInc > 0
	add(clock, "wtime", milliseconds(l.WTime))
	add(clock, "btime", milliseconds(l.BTime))
	add(clock && gain, "winc", l.WInc.Milliseconds())
	add(clock && gain, "binc", l.BInc.Milliseconds())
	add(clock && l.MovesToGo > 0, "movestogo", int64(l.MovesToGo))
	add(l.MoveTime > 0, "movetime", milliseconds(l.MoveTime))
	add(l.Nodes > 0, "nodes", l.Nodes)
	add(l.Depth > 0, "depth", int64(l.Depth))
	add(l.Mate > 0, "mate", int64(l.Mate))
	if text == "go" && !l.Infinite {
		return "", errors.New("a search wants a limit: nodes, depth, a time, a mate, or infinite")
	}
	if l.Infinite {
		text += " infinite"
	}
	return text, nil
}

// milliseconds rounds down, but to 1 at least: 0 means other things to engines.
func milliseconds(d time.Duration) int64 { return max(1, d.Milliseconds()) }
