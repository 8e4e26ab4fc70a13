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

// How often the GUI is told of a search: at most after shortest, where the best
// move or the depth changed, and at least after longest.
const (
	shortest = 100 * time.Millisecond
	longest  = time.Second
)

// often is how often a search on the clock is asked for its moves: that takes as long
// as some of its visits.
const often = time.Millisecond

// thought is one search under way, and what the GUI was told of it last.
type thought struct {
	e      *Engine
	began  time.Time
	reused uint32      // visits of the kept tree
	before mcts.Counts // of earlier searches
	hits   uint64      // of the tables, before
	single bool        // there is no choice

	top   standing // at asked
	asked time.Time
	shown time.Time
	best  chess.Move
	depth int
}

// over says whether the search, which has n visits, is to end for another reason than
// these or its outcome; step is what the next evaluation is expected to take.
func (t *thought) over(s *span, n uint32, step time.Duration) bool {
	if s.depth > 0 && t.meanDepth() >= s.depth {
		return true
	}
	if !s.timed() {
		return false
	}
	now := time.Now()
	if now.Sub(t.asked) >= often {
		root := t.e.search.Root()
		t.asked, t.top = now, standingOf(&root)
	}
	t.top.single = t.single && n > 1
	if visits := n - min(t.reused, n); visits >= 100 {
		t.top.rate = float64(visits) / max(now.Sub(t.began).Seconds(), 1e-3)
	}
	return s.spent(now, step, t.top, t.e.settings.analyse)
}

// standingOf returns how the best move stands against the others; proven losses
// are none.
func standingOf(root *mcts.RootStats) standing {
	best := &root.Moves[root.Best]
	top := standing{best: best.N, leads: true}
	for i := range root.Moves {
		m := &root.Moves[i]
		if i == root.Best || m.N == 0 || m.Proven == mcts.ProvenLoss {
			continue
		}
		top.second = max(top.second, m.N)
		top.leads = top.leads && m.Q <= best.Q
	}
	top.second = min(top.second, top.best)
	return top
}

// meanDepth returns the mean plies of this search's simulations, 1 at least.
func (t *thought) meanDepth() int {
	now := t.e.search.Counts()
	n := now.Sum() - t.before.Sum()
	if n == 0 {
		return 1
	}
	return max(1, int((now.DepthSum-t.before.DepthSum+n/2)/n))
}

// progress tells the GUI of the search if there is news.
func (t *thought) progress() {
	passed := time.Since(t.shown)
	if passed < shortest {
		return
	}
	root := t.e.search.Root()
	if passed >= longest || root.N > 0 && (root.Moves[root.Best].Move != t.best || t.meanDepth() != t.depth) {
		t.show()
	}
}

// show tells the GUI of the search, a line for each of the best moves.
func (t *thought) show() {
	root := t.e.search.Root()
	if root.N == 0 {
		return // the evaluator failed: nothing is known
	}
	t.shown, t.best, t.depth = time.Now(), root.Moves[root.Best].Move, t.meanDepth()
	order := root.Order(nil)
	r := report{
		depth: t.depth, selDepth: t.e.search.Deepest(), nodes: root.N, elapsed: t.shown.Sub(t.began),
		hashFull: int(1000 * t.e.cache.Full()), tableHits: t.e.tables.hits.Load() - t.hits, wdl: t.e.settings.showWDL,
	}
	r.newNodes = root.N - min(t.reused, root.N)
	for i, k := range order[:min(len(order), t.e.settings.multiPV)] {
		m := &root.Moves[k]
		l := reportLine{number: i + 1, value: root.Value, proven: m.Proven, pv: t.e.search.PVOf(nil, k)}
		if m.N > 0 { // else it has no value of its own
			l.value = m.QDM()
		}
		r.selDepth = max(r.selDepth, len(l.pv))
		r.lines = append(r.lines, l)
	}
	for _, text := range r.format(t.e.line.Board(), t.e.settings.chess960) {
		t.e.say("%s", text)
	}
}
