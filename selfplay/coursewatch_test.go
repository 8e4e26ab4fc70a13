package selfplay

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/record"
)

// course returns a course of n lines, n at most 1000.
func course(t *testing.T, n int) *Openings {
	t.Helper()
	var starts []Start
	for i := range n {
		b := chesstest.Board(t, fmt.Sprintf("4k3/8/8/8/8/8/4P3/4K3 w - - 0 %d", i+1))
		starts = append(starts, Start{Board: b, Weight: 1})
	}
	o, err := NewOpenings(starts, OrderMastery, 0)
	if err != nil {
		t.Fatal(err)
	}
	o.Mastery = 0.5
	return o
}

// courseGame is a game from a line.
func courseGame(o *Openings, line int, result int8) *record.Game {
	return &record.Game{Start: o.Starts[line].Board.FEN(), WhiteResult: result}
}

// TestCourseWatch: decided games of the newest part move the front to the end of
// the list, drawn ones back to its first part; others do not count; and a watch
// that was stored goes on as one that was not.
func TestCourseWatch(t *testing.T) {
	const n = 800
	o := course(t, n)
	var w CourseWatch
	if w.Count(courseGame(o, 0, 1), o) || w.Lines != n/courseLeast || w.Decided != 0 {
		t.Fatalf("a game from an old line: %+v", w)
	}
	for range 1000 {
		w.Count(courseGame(o, w.Lines-1, 0), o)
	}
	if w.Lines != n/courseLeast {
		t.Errorf("the front moved on drawn games: %+v", w)
	}
	games := 0
	for ; w.Lines < n && games < 2*courseSteps; games++ { // three of four are decided
		w.Count(courseGame(o, newest(w.Lines), int8(min(games%4, 1))*int8(1-games%2*2)), o)
		if line := newest(w.Lines) - 1; w.Count(courseGame(o, line, 0), o) {
			t.Fatalf("line %d of %d moved the front", line, w.Lines)
		}
	}
	if games > courseSteps+2*courseMemory {
		t.Errorf("%d games for a course that is mastered: %+v", games, w)
	}
	stored, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var again CourseWatch
	if err := json.Unmarshal(stored, &again); err != nil {
		t.Fatal(err)
	}
	for i := range 500 { // none is decided any more
		g := courseGame(o, n-1-i%10, 0)
		if a, b := w.Count(g, o), again.Count(g, o); a != b || w != again {
			t.Fatalf("game %d: %+v, after a stop %+v", i, w, again)
		}
	}
	if w.Lines > n*3/4 {
		t.Errorf("the front stayed while all was drawn: %+v", w)
	}
	before := w
	w.Count(&record.Game{Start: "4k3/8/8/8/8/8/3P4/4K3 w - - 0 1", WhiteResult: 1}, o)
	branch := courseGame(o, w.Lines-1, 1)
	branch.Ordinal = branchBit
	w.Count(branch, o)
	other, _ := NewOpenings(nil, OrderRandom, 0)
	w.Count(courseGame(o, w.Lines-1, 1), other)
	w.Count(courseGame(o, w.Lines-1, 1), nil)
	if w != before {
		t.Errorf("games that are none of the course's count: %+v, were %+v", w, before)
	}
	short := course(t, 20) // the list was exchanged
	w.Count(courseGame(short, 19, 1), short)
	if w.Lines > 20 {
		t.Errorf("the front %d of a list of 20", w.Lines)
	}
}

// TestCourseLine: what a game draws lies before the front, half of it in the newest
// part and the rest anywhere, and is the same whenever it is drawn.
func TestCourseLine(t *testing.T) {
	const n, games = 800, 20000
	o := course(t, n)
	for _, front := range []int{0, n / courseLeast, 300, n, n + 100} {
		open := min(max(front, n/courseLeast), n)
		a, b := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
		recent, least, most := 0, n, 0
		for k := range uint64(games) {
			line := o.index(1, k, front, a)
			if again := o.index(1, k, front, b); again != line {
				t.Fatalf("front %d: game %d takes line %d and %d", front, k, line, again)
			}
			if line >= newest(open) {
				recent++
			}
			least, most = min(least, line), max(most, line)
		}
		if share := float64(recent) / games; share < .60 || share > .65 { // 1/2 + 1/2 of 1/4
			t.Errorf("front %d: %.3f of the games are of the newest part", front, share)
		}
		if least != 0 || most != open-1 {
			t.Errorf("front %d: lines %d to %d", front, least, most)
		}
	}
}

func TestCourseRefused(t *testing.T) {
	o := course(t, 10)
	twice := append(o.Starts[:5:5], o.Starts[2])
	if _, err := NewOpenings(twice, OrderMastery, 0); err == nil || !strings.Contains(err.Error(), "starts 3 and 6") {
		t.Errorf("a position that is there twice: %v", err)
	}
	if err := o.validate(); err != nil {
		t.Error(err)
	}
	o.Mirrored = true
	if o.validate() == nil {
		t.Error("a mirrored course")
	}
	o.Mirrored, o.Mastery = false, 0
	if o.validate() == nil {
		t.Error("a course without a share of mastery")
	}
}
