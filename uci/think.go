package uci

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/chess"
)

// maxNodes bounds a search that only time or stop ends, so that its tree stays
// within about a gigabyte.
const maxNodes = 2_000_000

// limits says when a search ends.
type limits struct {
	nodes    int
	moveTime time.Duration // 0 = no limit
	infinite bool          // until stop
}

func (l limits) timed() bool { return l.infinite || l.moveTime > 0 }

// parseGo reads the arguments of go. The clock is spent evenly: 1/30 of what is
// left (or 1/movestogo) and most of the increment, less a safety margin.
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
			if i+1 == len(args) {
				return l, fmt.Errorf("go %s wants a number", name)
			}
			i++
			n, err := strconv.Atoi(args[i])
			if err != nil {
				return l, fmt.Errorf("go %s wants a number, not %q", name, args[i])
			}
			values[name] = n
		}
	}
	l.nodes = min(values["nodes"], maxNodes)
	if values["depth"] > 0 || values["mate"] > 0 { // no such limit in this search: think a fixed while
		l.moveTime = time.Second
	}
	left, increment := values["wtime"], values["winc"]
	if side == chess.Black {
		left, increment = values["btime"], values["binc"]
	}
	_, clock := values["wtime"]
	if _, black := values["btime"]; clock || black {
		share := 30
		if n := values["movestogo"]; n > 0 {
			share = n
		}
		spend := left/share + increment*3/4
		l.moveTime = time.Duration(max(10, min(spend, left-50))) * time.Millisecond
	}
	if n, ok := values["movetime"]; ok {
		l.moveTime = time.Duration(max(1, n)) * time.Millisecond
	}
	return l, nil
}

// think searches until a limit and sends info lines and the move. A position
// always gets at least its own evaluation.
func (e *Engine) think(ctx context.Context, l limits) {
	began := time.Now()
	shown := began
	for !e.search.Done() {
		e.batch.Reset()
		e.search.Gather(e.batch, e.leaves)
		if e.batch.N > 0 {
			// The evaluation is not cancelled: its leaves must be backed up.
			if err := e.Net.Evaluate(context.WithoutCancel(ctx), e.batch); err != nil {
				e.say("info string error: %v", err)
				break
			}
		}
		e.search.Apply(e.batch)
		now := time.Now()
		if ctx.Err() != nil || (l.moveTime > 0 && !l.infinite && now.Sub(began) >= l.moveTime) {
			break
		}
		if now.Sub(shown) >= time.Second {
			shown = now
			e.info(began)
		}
	}
	if l.infinite {
		<-ctx.Done() // bestmove follows stop only
	}
	e.info(began)
	root := e.search.Root()
	e.say("bestmove %s", e.line.Board().UCI(root.Moves[root.Best].Move, e.chess960))
}

// info sends nodes, speed, score and the best move so far.
func (e *Engine) info(began time.Time) {
	root := e.search.Root()
	elapsed := time.Since(began)
	nps := int(float64(root.N) / max(elapsed.Seconds(), 1e-3))
	line := e.search.PV(nil)
	board, moves := *e.line.Board(), make([]string, 0, len(line))
	for _, m := range line {
		moves = append(moves, board.UCI(m, e.chess960))
		board.Make(m)
	}
	e.say("info depth %d nodes %d nps %d time %d score cp %d pv %s", len(line), root.N, nps, elapsed.Milliseconds(),
		Centipawns(float64(root.Value.Q)), strings.Join(moves, " "))
}

// Centipawns maps Q in [-1,1] to the scale that GUIs show: 0 at 0, about 100
// at 0.27, with lc0's tangent form 90*tan(1.5637541897*q).
func Centipawns(q float64) int {
	return int(math.Round(90 * math.Tan(1.5637541897*max(-1, min(1, q)))))
}
