package uci

import (
	"fmt"
	"strconv"
	"time"

	"github.com/chessbrain/chessbrain/chess"
)

// maxNodes bounds a search that only time or stop ends: its tree takes about a
// kilobyte a node.
const maxNodes = 1_000_000

// maxNumber bounds the numbers of go: eleven days in milliseconds.
const maxNumber = 1_000_000_000

// limits says when a search ends.
type limits struct {
	nodes    int           // 0 = no limit
	moveTime time.Duration // 0 = no limit
	infinite bool          // until stop
}

// visits returns the nodes of a search: those asked for, else all that memory
// allows where time or stop ends it, else those of a plain go.
func (l limits) visits(plain int) int {
	switch {
	case l.nodes > 0:
		return l.nodes
	case l.infinite || l.moveTime > 0:
		return maxNodes
	}
	return plain
}

// parseGo reads the arguments of go; unknown words are ignored, as the protocol
// asks. The clock is spent evenly: 1/30 of what is left (or 1/movestogo) and
// most of the increment, less a safety margin.
func parseGo(args []string, side chess.Color) (limits, error) {
	var l limits
	values := map[string]int{}
	for i := 0; i < len(args); i++ {
		switch name := args[i]; name {
		case "infinite", "ponder":
			l.infinite = true
		case "searchmoves":
			return l, fmt.Errorf("go searchmoves is not known here")
		case "nodes", "movetime", "wtime", "btime", "winc", "binc", "movestogo", "depth", "mate":
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
	l.nodes = max(0, min(values["nodes"], maxNodes))
	if values["depth"] > 0 || values["mate"] > 0 { // no such limit in this search: think a fixed while
		l.moveTime = time.Second
	}
	clock, increment := "wtime", "winc"
	if side == chess.Black {
		clock, increment = "btime", "binc"
	}
	if left, ok := values[clock]; ok {
		l.moveTime = clockTime(left, values[increment], values["movestogo"])
	}
	if n, ok := values["movetime"]; ok {
		l.moveTime = time.Duration(max(1, n)) * time.Millisecond
	}
	return l, nil
}

// clockTime returns what to spend on a move of the milliseconds left.
func clockTime(left, increment, movesToGo int) time.Duration {
	share := 30
	if movesToGo > 0 {
		share = movesToGo
	}
	spend := min(left/share+increment*3/4, left-50)
	return time.Duration(max(10, spend)) * time.Millisecond
}
