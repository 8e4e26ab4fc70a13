package uci

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/chessbrain/chessbrain/chess"
)

// maxNumber bounds the numbers of go: eleven days in milliseconds.
const maxNumber = 1_000_000_000

// maxPerft bounds the plies of go perft.
const maxPerft = 20

// limits says when a search ends. Whatever they say, it ends where its outcome is
// proven and where the tree has used its room.
type limits struct {
	nodes    int           // visits of the root, those of a kept tree included; 0 = no limit
	depth    int           // mean plies of the simulations; 0 = no limit
	mate     int           // moves to a mate; the search ends where it has proven one, however long
	moveTime time.Duration // 0 = no limit
	onClock  bool
	clock    clock // of the side to move, if onClock
	infinite bool  // until stop
	ponder   bool  // until ponderhit or stop; then the others count
	only     []chess.Move
	perft    int // plies to count; no search at all
}

// timed says whether a time limits the search.
func (l *limits) timed() bool { return l.onClock || l.moveTime > 0 }

// visits returns the limit of visits, 0 = none: those asked for, else none where
// something else ends the search, else those of a plain go.
func (l *limits) visits(plain int) int {
	if l.nodes > 0 || l.infinite || l.ponder || l.timed() || l.depth > 0 || l.mate > 0 {
		return l.nodes
	}
	return plain
}

// parseGo reads the arguments of go in a position; unknown words are ignored, as
// the protocol asks.
func parseGo(args []string, b *chess.Board) (limits, error) {
	var l limits
	values := map[string]int{}
	for i := 0; i < len(args); i++ {
		switch name := args[i]; name {
		case "infinite":
			l.infinite = true
		case "ponder":
			l.ponder = true
		case "searchmoves":
			for ; i+1 < len(args) && !isGoWord(args[i+1]); i++ {
				m, err := b.ParseUCI(args[i+1])
				if err != nil {
					return l, fmt.Errorf("go searchmoves: %w", err)
				}
				l.only = append(l.only, m)
			}
			if len(l.only) == 0 {
				return l, fmt.Errorf("go searchmoves wants moves")
			}
		default:
			if !isGoWord(name) {
				continue
			}
			i++
			if i == len(args) {
				return l, fmt.Errorf("go %s wants a number", name)
			}
			n, err := strconv.Atoi(args[i])
			if err != nil {
				return l, fmt.Errorf("go %s wants a number, not %q", name, args[i])
			}
			values[name] = max(-maxNumber, min(n, maxNumber))
		}
	}
	return l, l.take(values, b.SideToMove())
}

// isGoWord says whether a word of go has a meaning.
func isGoWord(word string) bool { return slices.Contains(goWords, word) }

var goWords = []string{"searchmoves", "ponder", "wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime", "infinite", "perft"}

// take sets the limits that are numbers.
func (l *limits) take(values map[string]int, side chess.Color) error {
	l.nodes, l.depth, l.mate = max(0, values["nodes"]), max(0, values["depth"]), max(0, values["mate"])
	time0, increment := "wtime", "winc"
	if side == chess.Black {
		time0, increment = "btime", "binc"
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	if n, ok := values["movetime"]; ok {
		l.moveTime = ms(max(1, n))
	} else if left, ok := values[time0]; ok {
		l.onClock = true
		l.clock = clock{left: ms(left), increment: ms(max(0, values[increment])), movesToGo: max(0, values["movestogo"])}
	}
	if n, ok := values["perft"]; ok {
		if n < 1 || n > maxPerft {
			return fmt.Errorf("go perft wants plies, 1 to %d, not %d", maxPerft, n)
		}
		l.perft = n
	}
	return nil
}
