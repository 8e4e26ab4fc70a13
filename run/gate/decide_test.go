package gate

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/arena"
)

// progress is how far a match of total games is with these counts.
func progress(total, wins, draws, losses int) arena.Progress {
	return arena.Progress{Total: total, Count: arena.Count{Wins: wins, Draws: draws, Losses: losses}}
}

// TestPoints holds the rule of points: draws count half, so many points are
// enough, and a match ends as soon as it is decided.
func TestPoints(t *testing.T) {
	for _, c := range []struct {
		share              float64
		total, wins, draws int
		losses             int
		decided, accepted  bool
	}{
		{0.5, 200, 0, 0, 0, false, false},
		{0.5, 200, 100, 0, 0, true, true},    // 100 games won of 200
		{0.5, 200, 99, 1, 0, false, false},   // half a point is missing
		{0.5, 200, 99, 2, 0, true, true},     //
		{0.5, 200, 0, 200, 0, true, true},    // the candidate wins ties
		{0.5, 200, 0, 0, 100, false, false},  // all of the rest would do
		{0.5, 200, 0, 1, 100, true, false},   // 99.5 are within reach
		{0.55, 200, 110, 0, 0, true, true},   // 0.55 * 200 is a little above 110 in floating point
		{0.55, 200, 109, 1, 90, true, false}, // 109.5
		{0.55, 200, 109, 0, 0, false, false}, //
		{0.6, 10, 6, 0, 0, true, true},       //
		{0.6, 10, 1, 0, 5, true, false},      //
		{1, 4, 3, 0, 0, false, false},        // nothing may be lost
		{1, 4, 3, 1, 0, true, false},         //
		{0, 4, 0, 0, 1, true, true},          // nothing is asked for
	} {
		v := rule{share: c.share}.judge(progress(c.total, c.wins, c.draws, c.losses))
		if v.decided != c.decided || v.accepted != c.accepted || v.decided != (v.reason != "") {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

// TestPointsReference plays random matches to the end: the verdict of the first
// moment that is decided is that of all games, and all games decide.
func TestPointsReference(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		total := 2 * (1 + rng.IntN(20))
		need := rng.IntN(2*total + 1) // in half points
		r := rule{share: float64(need) / float64(2*total)}
		p, half, first := progress(total, 0, 0, 0), 0, verdict{}
		for range total {
			switch k := rng.IntN(3); k {
			case 0:
				p.Losses++
			case 1:
				p.Draws, half = p.Draws+1, half+1
			default:
				p.Wins, half = p.Wins+1, half+2
			}
			if v := r.judge(p); !first.decided {
				first = v
			}
		}
		if !first.decided || first.accepted != (half >= need) {
			t.Fatalf("%d of %d half points in %d games: %+v", half, need, total, first)
		}
	}
}

// TestSequential holds what a sequential test means for a net: H1 accepts, H0
// rejects, and so does a match that is open at its end.
func TestSequential(t *testing.T) {
	r := rule{share: 0, sprt: &arena.SPRT{Elo0: 0, Elo1: 50, Alpha: 0.05, Beta: 0.05}}
	for _, c := range []struct {
		pairs             arena.Pentanomial
		total             int
		decided, accepted bool
		says              string
	}{
		{arena.Pentanomial{}, 400, false, false, ""},
		{arena.Pentanomial{0, 10, 40, 30, 20}, 400, true, true, "H1 after 100 pairs"},
		{arena.Pentanomial{20, 30, 40, 10, 0}, 400, true, false, "H0 after 100 pairs"},
		{arena.Pentanomial{1, 2, 4, 3, 1}, 400, false, false, ""},
		{arena.Pentanomial{1, 2, 4, 3, 1}, 22, true, false, "undecided after 11 pairs"},
	} {
		v := r.judge(arena.Progress{Total: c.total, Pairs: c.pairs})
		if v.decided != c.decided || v.accepted != c.accepted || !strings.Contains(v.reason, c.says) || v.test == nil {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}
