package selfplay

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/record"
)

// CourseWatch moves the front of a course (OrderMastery): games begin in the lines
// before it. The front goes on while enough of the games are decided that began in
// the newest part, and goes back while too few are: a net that plays what it has not
// learnt yet draws its games, and learns from them that all is drawn. It depends on
// the games and their order only.
type CourseWatch struct {
	Lines   int     `json:"lines"`   // games may begin in so many lines, the list's first; 0 = not begun
	Decided float64 `json:"decided"` // running share of decided games of the newest part, [0,1]
}

const (
	courseLeast  = 16   // the first one in so many lines is always open
	courseNewest = 4    // the newest part is one in so many of the open lines, and begins every second game
	courseMemory = 32   // games that the running share covers
	courseSteps  = 1000 // the front passes the list in so many games of the newest part
)

// number numbers the starts of a course, so that a game's line can be told.
func (o *Openings) number() error {
	if o.Order != OrderMastery {
		return nil
	}
	o.lines = make(map[string]int, len(o.Starts))
	for i := range o.Starts {
		fen := o.Starts[i].Board.FEN()
		if first, twice := o.lines[fen]; twice {
			return fmt.Errorf("openings: starts %d and %d of the course are the same position", first+1, i+1)
		}
		o.lines[fen] = i
	}
	return nil
}

var errCourse = errors.New("openings: a course needs a share of mastery above 0 and no mirrored games")

// least is how many lines of a course are always open.
func (o *Openings) least() int { return (len(o.Starts) + courseLeast - 1) / courseLeast }

// newest returns where the newest part of the open lines begins.
func newest(front int) int { return front - (front+courseNewest-1)/courseNewest }

// courseLine draws one of the lines before the front: every second one from the
// newest part, the others from all.
func (o *Openings) courseLine(front int, rng *rand.Rand) int {
	front = min(max(front, o.least()), len(o.Starts))
	first := 0
	if rng.IntN(2) == 0 {
		first = newest(front)
	}
	return first + rng.IntN(front-first)
}

// Count takes a finished game and says whether the front moved. o is that of the
// games; with another order nothing is counted.
func (w *CourseWatch) Count(g *record.Game, o *Openings) bool {
	if o == nil || o.Order != OrderMastery {
		return false
	}
	before := min(max(w.Lines, o.least()), len(o.Starts))
	w.Lines = before
	line, known := o.lines[cmp.Or(g.Start, chess.StartFEN)]
	if _, _, _, branch := BranchOrdinal(g.Ordinal); branch || !known || line < newest(before) {
		return false
	}
	decided := 0.0
	if g.WhiteResult != 0 {
		decided = 1
	}
	w.Decided += (decided - w.Decided) / courseMemory
	step := (len(o.Starts) + courseSteps - 1) / courseSteps
	if w.Decided < o.Mastery {
		step = -step
	}
	w.Lines = min(max(before+step, o.least()), len(o.Starts))
	return w.Lines != before
}
