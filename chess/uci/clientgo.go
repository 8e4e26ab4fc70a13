package uci

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	Only  []chess.Move // legal moves from which the engine chooses (searchmoves); none = all
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
}

// Answer is what an engine found.
type Answer struct {
	Move   chess.Move    // of the position; NoMove only where it has no legal move
	Scored bool          // it has said a score of its best line; then Score is the last
	Score  int           // centipawns for the side to move; see mateScore
	WDL    [3]int        // of 1000: win, draw, loss for the side to move, where an engine with UCI_ShowWDL says it
	Nodes  int64         // visited, as far as it said
	Depth  int           // plies
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
	for i, m := range p.Only {
		if i == 0 {
			command += " searchmoves"
		}
		command += " " + board.UCI(m, p.Start.Castles960())
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
	var a Answer
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
				a.read(rest)
			}
			if word != "bestmove" {
				continue
			}
			a.Time = l.at.Sub(began)
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
			late = time.After(c.config.Grace)
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
	return nil
}

// mateScore is the centipawns of a mate on the board; one in N moves is N less.
const mateScore = 32000

// read takes the score of what follows the word "info", if there is one that can be read.
// Lines of other than the best variation are passed over, and a bound (a search that
// left its window as it ended) does not replace a score.
func (a *Answer) read(text string) {
	text, _, _ = strings.Cut(" "+text, " pv ")
	text, _, _ = strings.Cut(text, " string ")
	next := *a
	words := strings.Fields(text)
	bound := a.Scored && (slices.Contains(words, "lowerbound") || slices.Contains(words, "upperbound"))
	for i, word := range words {
		if i+1 == len(words) {
			break
		}
		n, err := strconv.ParseInt(words[i+1], 10, 64)
		switch {
		case word == "score" && !bound:
			next.score(words[i+1:])
		case word == "wdl" && !bound:
			next.wdl(words[i+1:])
		case err != nil:
		case word == "multipv" && n != 1:
			return
		case word == "nodes" && n >= 0:
			next.Nodes = n
		case word == "depth" && n >= 0:
			next.Depth = int(n)
		}
	}
	*a = next
}

// wdl reads three numbers of a thousand.
func (a *Answer) wdl(words []string) {
	var parts [3]int
	for i := range parts {
		n, err := strconv.Atoi(words[min(i, len(words)-1)])
		if err != nil || n < 0 {
			return
		}
		parts[i] = n
	}
	if parts[0]+parts[1]+parts[2] == 1000 {
		a.WDL = parts
	}
}

// score reads "cp N" or "mate N".
func (a *Answer) score(words []string) {
	if len(words) < 2 {
		return
	}
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return
	}
	n = max(-mateScore, min(n, mateScore))
	switch {
	case words[0] == "cp":
		a.Score, a.Scored = n, true
	case words[0] == "mate" && n > 0:
		a.Score, a.Scored = mateScore-n, true
	case words[0] == "mate": // the mover is mated
		a.Score, a.Scored = -mateScore-n, true
	}
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
	if min(l.WTime, l.BTime, l.WInc, l.BInc, l.MoveTime) < 0 || l.Nodes < 0 || l.Depth < 0 {
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
	add(l.MoveTime > 0, "movetime", milliseconds(l.MoveTime))
	add(l.Nodes > 0, "nodes", l.Nodes)
	add(l.Depth > 0, "depth", int64(l.Depth))
	if text == "go" {
		return "", errors.New("a search wants a limit: nodes, depth or a time")
	}
	return text, nil
}

// milliseconds rounds down, but to 1 at least: 0 means other things to engines.
func milliseconds(d time.Duration) int64 { return max(1, d.Milliseconds()) }
