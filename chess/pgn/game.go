package pgn

import (
	"fmt"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
)

// Game is one game. Moves are from the view of the side that makes them, as
// everywhere in package chess.
type Game struct {
	Tags   [][2]string // name and value, in file order
	Start  chess.Board
	Moves  []chess.Move
	Result string // "1-0", "0-1", "1/2-1/2" or "*"

	// Comments stand beside Moves, each after its move; "" = none, nil = none at
	// all. Read leaves them out, ReadOptions.Comments asks for them.
	Comments []string

	Index int // of the game in the input that it was read from, from 0
	Line  int // where it begins there, from 1; 0 = not read
}

// Tag returns the value of a tag, "" if there is none.
func (g *Game) Tag(name string) string {
	for _, t := range g.Tags {
		if t[0] == name {
			return t[1]
		}
	}
	return ""
}

// GameError says which game of a file could not be read, and where.
type GameError struct {
	Index  int // of the game, from 0
	Line   int // in the input, from 1
	Reason string
}

// Error implements error.
func (e *GameError) Error() string {
	return fmt.Sprintf("PGN game %d, line %d: %s", e.Index+1, e.Line, e.Reason)
}

// maxReported bounds the games that a ReadError lists.
const maxReported = 100

// ReadError lists the games that Read could not read; all others were delivered.
type ReadError struct {
	Games []*GameError // the first 100, in file order
	Total int          // all of them
}

// Error implements error; it names the first three.
func (e *ReadError) Error() string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%d bad games", e.Total)
	for i, g := range e.Games {
		if i == 3 {
			sb.WriteString("; ...")
			break
		}
		sb.WriteString("; " + g.Error())
	}
	return sb.String()
}

// Unwrap gives the listed GameErrors to errors.As.
func (e *ReadError) Unwrap() []error {
	out := make([]error, len(e.Games))
	for i, g := range e.Games {
		out[i] = g
	}
	return out
}

func isResult(s string) bool {
	return s == "1-0" || s == "0-1" || s == "1/2-1/2" || s == "*"
}
