package uci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/chessbrain/chessbrain/chess"
)

// How a clock is spent.
const (
	movesAhead = 30 // that a clock without movestogo is spread over
	maxAhead   = 50 // the same, at most, with movestogo
	movesKept  = 70 // for which the overhead is kept back, on a clock without movestogo
	maxToGo    = 1000
	stretch    = 3 // times the usual time for a move that is not clear
)

// clock is what a side's clock says before its move.
type clock struct {
	left, increment time.Duration
	movesToGo       int // until time is added, 0 = never
}

// budget is how long a move may take, from go to our answer.
type budget struct {
	soft time.Duration // then the search ends if its best move is clear
	hard time.Duration // then it ends; never below soft
}

// budget spreads the clock over the moves to come, each of which loses the
// overhead beside its thinking and gains the increment. As long as moves lose no
// more than that and answers come in time, the clock does not run out: the
// overhead of all moves up to the next time control, or of the next 70, is never
// spent on thinking, and of what is left 5 % stay. 70 are a balance: with a lag of
// 50 ms, 5 s last for 100 moves that are all played at once, or for 80 of which the
// first are thought about.
func (c clock) budget(overhead time.Duration) budget {
	most := (c.left - overhead) * 19 / 20
	if most <= 0 {
		return budget{} // answer at once
	}
	spread, kept := movesAhead, movesKept
	if c.movesToGo > 0 {
		spread, kept = min(c.movesToGo, maxAhead), min(c.movesToGo, maxToGo)-1
	}
	pool := c.left - overhead
	if gain := c.increment - overhead; gain > 0 {
		pool += gain * time.Duration(spread-1)
	} else {
		pool += gain * time.Duration(kept)
	}
	room := min(pool, most)
	if room <= 0 {
		return budget{}
	}
	soft := min(pool/time.Duration(spread), room)
	return budget{soft: soft, hard: min(stretch*soft, soft+(room-soft)/2)}
}

// fixed is the budget of go movetime: all of it but the overhead, of which half
// stays in any case.
func fixed(moveTime, overhead time.Duration) budget {
	t := max(moveTime-overhead, moveTime/2)
	return budget{soft: t, hard: t}
}

// standing is what a search on the clock knows of its two most visited moves.
type standing struct {
	best, second uint32  // visits
	leads        bool    // no visited move has a higher Q than the best one
	rate         float64 // visits a second; 0 = not known yet
	single       bool    // there is no other move
}

// enough says whether a search may end: elapsed is the time since go, running
// that of our clock (less where it pondered), step what the next evaluation is
// expected to take.
func (b budget) enough(elapsed, running, step time.Duration, top standing) bool {
	switch {
	case running+step > b.hard, top.single:
		return true
	case elapsed >= b.soft:
		return top.leads
	}
	// No move can catch up within the usual time.
	return top.rate > 0 && float64(top.best-top.second) > top.rate*(b.soft-elapsed).Seconds()
}

// pace foretells how long evaluations take.
type pace struct {
	longest time.Duration // of late
	leaves  int           // of the largest batch so far
}

// note takes in how long an evaluation of so many leaves took.
func (p *pace) note(leaves int, took time.Duration) {
	p.longest = max(took, p.longest-p.longest/8)
	p.leaves = max(p.leaves, leaves)
}

// of returns what an evaluation of so many leaves is expected to take at most; a
// larger batch than any so far is taken to need more in proportion.
func (p *pace) of(leaves int) time.Duration {
	if p.leaves == 0 {
		return 0
	}
	return p.longest * time.Duration(max(p.leaves, leaves)) / time.Duration(p.leaves)
}

// span is the time of one search, from go to bestmove. The goroutine of the
// commands makes, releases and ends it; the one that thinks asks it.
type span struct {
	limits
	budget
	began time.Time     // of go
	freed time.Time     // since when our clock runs: began, or ponderhit; set before free is closed
	free  chan struct{} // closed when the move may be sent; never of an infinite search
	timer *time.Timer   // ends the evaluation under way at the hard limit
}

// newSpan returns the span of a search with limits. cancel ends the search.
func newSpan(l limits, began time.Time, overhead time.Duration, cancel context.CancelFunc) *span {
	s := &span{limits: l, began: began, free: make(chan struct{})}
	switch {
	case l.moveTime > 0:
		s.budget = fixed(l.moveTime, overhead)
	case l.onClock:
		s.budget = l.clock.budget(overhead)
	}
	if !l.ponder {
		s.release(began, cancel)
	}
	return s
}

// release starts our clock, where it does not run yet. A search that pondered
// without any limit ends with it.
func (s *span) release(now time.Time, cancel context.CancelFunc) {
	if s.running() || s.infinite {
		return
	}
	s.freed = now
	close(s.free)
	switch {
	case s.timed():
		s.timer = time.AfterFunc(s.hard-time.Since(now), cancel)
	case s.ponder && s.visits(0) == 0 && s.depth == 0 && s.mate == 0:
		cancel()
	}
}

// end stops the timer.
func (s *span) end() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// running says whether our clock runs.
func (s *span) running() bool {
	select {
	case <-s.free:
		return true
	default:
		return false
	}
}

// spent says whether the time is up, or as good as.
func (s *span) spent(now time.Time, step time.Duration, top standing, analyse bool) bool {
	if !s.timed() || !s.running() {
		return false
	}
	running := now.Sub(s.freed)
	if s.moveTime > 0 || analyse { // all of it is wanted
		return running+step > s.hard || running >= s.soft && s.moveTime == 0
	}
	return s.enough(now.Sub(s.began), running, step, top)
}

// maxNumber bounds the numbers of go: eleven days in milliseconds.
const maxNumber = 1_000_000_000

// maxPerft bounds the plies of go perft.
const maxPerft = 20

// noPerft are the plies of a go perft that is wrong. It asks for no move.
const noPerft = -1

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
	perft    int // plies to count, or noPerft; no search at all
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
// the protocol asks. A limit that is wrong is none: the GUI waits for a move in any
// case, and the rest has to lead to one.
func parseGo(args []string, b *chess.Board) (l limits, wrong []error) {
	values := map[string]int{}
	for i := 0; i < len(args); i++ {
		switch name := args[i]; {
		case name == "infinite":
			l.infinite = true
		case name == "ponder":
			l.ponder = true
		case !isGoWord(name): // ignored
		case i+1 == len(args) || isGoWord(args[i+1]):
			wrong = append(wrong, fmt.Errorf("go %s wants %s", name, wanted(name)))
		case name == "searchmoves":
			for ; i+1 < len(args) && !isGoWord(args[i+1]); i++ {
				m, err := b.ParseUCI(args[i+1])
				if err != nil {
					wrong = append(wrong, fmt.Errorf("go searchmoves: %w", err))
					continue
				}
				l.only = append(l.only, m)
			}
		default:
			i++
			if n, ok := goNumber(name, args[i]); ok {
				values[name] = n
			} else {
				wrong = append(wrong, fmt.Errorf("go %s wants %s, not %q", name, wanted(name), args[i]))
			}
		}
	}
	l.take(values, b.SideToMove())
	if slices.Contains(args, "perft") && l.perft == 0 {
		l.perft = noPerft
	}
	return l, wrong
}

// goNumber reads the number of a word of go and says whether it is one that the word may
// have. A clock may be below zero: it is overdrawn.
func goNumber(name, text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // too large a number is bounded as any
		return 0, false
	}
	switch name {
	case "nodes", "depth", "mate", "movestogo":
		ok = n >= 0
	case "perft":
		ok = n >= 1 && n <= maxPerft
	default:
		ok = true
	}
	return max(-maxNumber, min(n, maxNumber)), ok
}

// wanted says what stands behind a word of go.
func wanted(name string) string {
	switch name {
	case "searchmoves":
		return "moves"
	case "nodes", "depth", "mate", "movestogo":
		return "a number, 0 or more"
	case "perft":
		return fmt.Sprintf("plies, 1 to %d", maxPerft)
	}
	return "a number"
}

// isGoWord says whether a word of go has a meaning.
func isGoWord(word string) bool { return slices.Contains(goWords, word) }

var goWords = []string{"searchmoves", "ponder", "wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime", "infinite", "perft"}

// take sets the limits that are numbers.
func (l *limits) take(values map[string]int, side chess.Color) {
	l.nodes, l.depth, l.mate, l.perft = values["nodes"], values["depth"], values["mate"], values["perft"]
	time0, increment := "wtime", "winc"
	if side == chess.Black {
		time0, increment = "btime", "binc"
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	if n, ok := values["movetime"]; ok {
		l.moveTime = ms(max(1, n))
	} else if left, ok := values[time0]; ok {
		l.onClock = true
		l.clock = clock{left: ms(left), increment: ms(max(0, values[increment])), movesToGo: values["movestogo"]}
	}
}
