package uci

import (
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
)

// How often the GUI is told of a search: at most after shortest, where the best
// move or the depth changed, and at least after longest.
const (
	shortest = 100 * time.Millisecond
	longest  = time.Second
)

// thought is one search under way, and what the GUI was told of it last.
type thought struct {
	e      *Engine
	began  time.Time
	reused uint32      // visits of the kept tree
	before mcts.Counts // of earlier searches
	hits   uint64      // of the tables, before

	shown time.Time
	best  chess.Move
	depth int
}

// newThought notes what a search that has just begun starts from; the tables had
// so many hits before it.
func (e *Engine) newThought(s *span, hits uint64) *thought {
	return &thought{e: e, began: s.began, shown: s.began, reused: e.search.Root().N, before: e.search.Counts(), hits: hits}
}

func (t *thought) root() mcts.RootStats { return t.e.search.Root() }

// over says whether the search is to end for another reason than its visits; step
// is what the next evaluation is expected to take.
func (t *thought) over(s *span, root *mcts.RootStats, single bool, step time.Duration) bool {
	if root.Proven != mcts.Unproven || s.depth > 0 && t.meanDepth() >= s.depth {
		return true
	}
	if !s.timed() {
		return false
	}
	now := time.Now()
	top := standingOf(root)
	top.single = single && root.N > 1
	if visits := root.N - min(t.reused, root.N); visits >= 100 {
		top.rate = float64(visits) / max(now.Sub(t.began).Seconds(), 1e-3)
	}
	return s.spent(now, step, top, t.e.settings.analyse)
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
	root := t.root()
	if passed >= longest || root.N > 0 && (root.Moves[root.Best].Move != t.best || t.meanDepth() != t.depth) {
		t.show()
	}
}

// show tells the GUI of the search, a line for each of the best moves.
func (t *thought) show() {
	root := t.root()
	if root.N == 0 {
		return // the evaluator failed: nothing is known
	}
	t.shown, t.best, t.depth = time.Now(), root.Moves[root.Best].Move, t.meanDepth()
	order := root.Order(nil)
	r := report{
		depth: t.depth, selDepth: t.e.search.Deepest(), nodes: root.N, elapsed: t.shown.Sub(t.began),
		hashFull: int(1000 * t.e.cache.Full()), tableHits: t.e.tableHits() - t.hits, wdl: t.e.settings.showWDL,
	}
	r.newNodes = root.N - min(t.reused, root.N)
	for i, k := range order[:min(len(order), t.e.settings.multiPV)] {
		pv := t.e.search.PVOf(nil, k)
		r.selDepth = max(r.selDepth, len(pv))
		r.lines = append(r.lines, reportLine{number: i + 1, value: valueOf(&root, k), proven: root.Moves[k].Proven, pv: pv})
	}
	for _, text := range r.format(t.e.line.Board(), t.e.settings.chess960) {
		t.e.say("%s", text)
	}
}
