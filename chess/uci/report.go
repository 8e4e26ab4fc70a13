package uci

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// report is what the GUI is told of a search at one moment. Values are from the
// side to move.
type report struct {
	depth     int    // mean plies of the simulations
	selDepth  int    // plies of the deepest one
	nodes     uint32 // visits of the root
	newNodes  uint32 // the same without those of the kept tree
	elapsed   time.Duration
	hashFull  int // per mille of the cache
	tableHits uint64
	wdl       bool // win, draw and loss are shown
	lines     []reportLine
}

// reportLine is one of the best moves.
type reportLine struct {
	number int // from 1, the best
	value  encoding.QDM
	proven mcts.Proven
	pv     []chess.Move
}

// valueOf returns the value of the root's k-th move, of the root itself where the
// move has none.
func valueOf(root *mcts.RootStats, k int) encoding.QDM {
	if m := &root.Moves[k]; m.N > 0 {
		return m.QDM()
	}
	return root.Value
}

// format returns the report's info lines for a search of b.
func (r *report) format(b *chess.Board, chess960 bool) []string {
	nps := int(float64(r.newNodes) / max(r.elapsed.Seconds(), 1e-3))
	var lines []string
	for i := range r.lines {
		l := &r.lines[i]
		moves, end := movesText(b, l.pv, chess960)
		text := fmt.Sprintf("info depth %d seldepth %d multipv %d score %s", r.depth, max(r.selDepth, r.depth), l.number, l.score(&end))
		if r.wdl {
			w, d, loss := perMille(l.value)
			text += fmt.Sprintf(" wdl %d %d %d", w, d, loss)
		}
		text += fmt.Sprintf(" nodes %d nps %d hashfull %d tbhits %d time %d", r.nodes, nps, r.hashFull, r.tableHits, r.elapsed.Milliseconds())
		if moves != "" {
			text += " pv " + moves
		}
		lines = append(lines, text)
	}
	return lines
}

// movesText writes a line of moves from b and returns the position at its end.
func movesText(b *chess.Board, pv []chess.Move, chess960 bool) (text string, end chess.Board) {
	end = *b
	words := make([]string, 0, len(pv))
	for _, m := range pv {
		words = append(words, end.UCI(m, chess960))
		end.Make(m)
	}
	return strings.Join(words, " "), end
}

// score is "mate N" in moves, where the line ends with a mate that is proven, else
// "cp N". A win that only the tables know is no mate yet.
func (l *reportLine) score(end *chess.Board) string {
	var list chess.MoveList
	if end.GenerateMoves(&list); list.N == 0 && end.InCheck() {
		switch l.proven {
		case mcts.ProvenWin:
			return fmt.Sprintf("mate %d", (len(l.pv)+1)/2)
		case mcts.ProvenLoss:
			return fmt.Sprintf("mate %d", -(len(l.pv) / 2))
		}
	}
	return fmt.Sprintf("cp %d", Centipawns(float64(l.value.Q)))
}

// perMille returns the chances of a win, a draw and a loss, which sum to 1000.
func perMille(v encoding.QDM) (win, draw, loss int) {
	w, _, l := v.WDL()
	round := func(p float32) int { return int(math.Round(1000 * float64(max(0, min(p, 1))))) }
	win, loss = round(w), round(l)
	if win+loss > 1000 { // both were rounded up
		loss = 1000 - win
	}
	return win, 1000 - win - loss, loss
}

// Centipawns maps Q in [-1,1] to the scale that GUIs show: 0 at 0, about 100
// at 0.54, with lc0's tangent form 90*tan(1.5637541897*q).
func Centipawns(q float64) int {
	return int(math.Round(90 * math.Tan(1.5637541897*max(-1, min(1, q)))))
}
