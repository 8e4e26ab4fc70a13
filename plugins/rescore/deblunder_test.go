package rescore

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// searched sets the value of the best move and of the move played at ply.
func searched(g *record.Game, ply int, best, played encoding.QDM) {
	g.Plies[ply].Best, g.Plies[ply].Played = best, played
}

func wantResults(t *testing.T, name string, g *record.Game, want ...encoding.QDM) {
	t.Helper()
	for i, w := range want {
		got := g.ResultAt(i)
		if math.Abs(float64(got.Q-w.Q)) > 1e-6 || math.Abs(float64(got.D-w.D)) > 1e-6 || math.Abs(float64(got.M-w.M)) > 1e-4 {
			t.Errorf("%s: ply %d: %+v, want %+v", name, i, got, w)
		}
	}
}

var nan = float32(math.NaN())

var fourMoves = []string{"e2e4", "e7e5", "g1f3", "b8c6"}

// One blunder by hand: black, to move at ply 3 of a game that white won, had
// Q 0.5 and played a move of -0.5; at ply 1 a second one mixes that again.
func TestDeblunderByHand(t *testing.T) {
	g := played(t, "", fourMoves...)
	g.WhiteResult = 1
	searched(g, 2, encoding.QDM{Q: 0.5, D: 0.25, M: 40}, encoding.QDM{Q: -0.5, D: 0.25, M: 10})
	out := rescored(t, Deblunder{Threshold: 0.5, Width: 0.25}, g)
	// 1 - 0.5 is above the threshold by two widths: r = 1.
	wantResults(t, "whole", out, encoding.QDM{Q: 0.5, D: 0.25, M: 42}, encoding.QDM{Q: -0.5, D: 0.25, M: 41}, encoding.QDM{Q: 0.5, D: 0.25, M: 40}, encoding.QDM{Q: -1, D: 0, M: 1})

	// r = (1 - 1)/0.5 + 0.5 = 1/2 of the result 1 and of the best move's 0.5.
	out = rescored(t, Deblunder{Threshold: 1, Width: 0.5}, g)
	wantResults(t, "half", out, encoding.QDM{Q: 0.75, D: 0.125, M: 23}, encoding.QDM{Q: -0.75, D: 0.125, M: 22}, encoding.QDM{Q: 0.75, D: 0.125, M: 21}, encoding.QDM{Q: -1, M: 1})

	searched(g, 1, encoding.QDM{Q: 0.25, M: float32(math.NaN()), D: float32(math.NaN())}, encoding.QDM{Q: -0.75})
	out = rescored(t, Deblunder{Threshold: 1, Width: 0.5}, g)
	// Half of -0.75 and 0.25; D of the best move unknown: 0; M unknown: kept.
	wantResults(t, "twice", out, encoding.QDM{Q: 0.25, D: 0.0625, M: 23}, encoding.QDM{Q: -0.25, D: 0.0625, M: 22}, encoding.QDM{Q: 0.75, D: 0.125, M: 21}, encoding.QDM{Q: -1, M: 1})
}

func TestDeblunderRatio(t *testing.T) {
	d := Deblunder{Threshold: 0.5, Width: 0.25}
	nan := math.NaN()
	for _, c := range []struct {
		name         string
		d            Deblunder
		best, played float64
		proven       bool
		want         float64
	}{
		{"equal", d, 0.5, 0.5, false, 0},
		{"better than best", d, -0.5, 0.5, false, 0},
		{"at the edge", d, 0.375, 0, false, 0},
		{"above the edge", d, 0.4375, 0, false, 0.25},
		{"at the threshold", d, 0.5, 0, false, 0.5},
		{"upper edge", d, 0.625, 0, false, 1},
		{"far above", d, 0.75, -0.75, false, 1},
		{"no width, at the threshold", Deblunder{Threshold: 0.5}, 0.5, 0, false, 0},
		{"no width, above", Deblunder{Threshold: 0.5}, 0.5625, 0, false, 1},
		{"into a certain loss", d, -0.875, -1, false, 1},
		{"lost anyway", d, -1, -1, false, 0},
		{"throws a proven win away", d, 1, 0.875, true, 1},
		{"win not proven", d, 1, 0.875, false, 0},
		{"another win", d, 1, 1, true, 0},
		{"best unknown", d, nan, -0.5, false, 0},
		{"played unknown", d, 1, nan, true, 0},
	} {
		p := record.Ply{Best: encoding.QDM{Q: float32(c.best)}, Played: encoding.QDM{Q: float32(c.played)}}
		if c.proven {
			p.Flags = record.BestProven
		}
		if got := c.d.ratio(&p); got != c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

// A game without blunders, and an aborted one, is returned itself.
func TestDeblunderLeavesAlone(t *testing.T) {
	g := played(t, "", fourMoves...)
	g.WhiteResult = 1
	for i := range g.Plies {
		searched(g, i, encoding.QDM{Q: 0.5, D: 0.25, M: 3}, encoding.QDM{Q: 0.5, D: 0.25, M: 3})
	}
	if out := rescored(t, Deblunder{Threshold: 0.1, Width: 0.06}, g); out != g {
		t.Errorf("without blunders: %+v", out.Results)
	}
	searched(g, 3, encoding.QDM{Q: 0.5}, encoding.QDM{Q: -0.5})
	g.End, g.WhiteResult = record.EndAborted, 0
	if out := rescored(t, Deblunder{Threshold: 0.1, Width: 0.06}, g); out != g {
		t.Errorf("aborted: %+v", out.Results)
	}
}

// TestDeblunderAgainstReference holds random games against the definition,
// position by position in float64.
func TestDeblunderAgainstReference(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	changed := 0
	for range 50 {
		g := randomMoves(t, rng, "", 40)
		for i := range g.Plies {
			for _, v := range []*encoding.QDM{&g.Plies[i].Best, &g.Plies[i].Played} {
				d := rng.Float32()
				*v = encoding.QDM{Q: (2*rng.Float32() - 1) * (1 - d), D: d, M: 99 * rng.Float32()}
			}
			if rng.IntN(5) == 0 {
				g.Plies[i].Played = g.Plies[i].Best
			}
		}
		d := Deblunder{Threshold: 0.3 + 0.7*rng.Float64(), Width: 0.5 * rng.Float64()}
		out := rescored(t, d, g)
		if out.Results != nil {
			changed++
		}
		for i := range g.Plies {
			want := reference(d, g, i)
			got := out.ResultAt(i)
			for k, diff := range []float64{float64(got.Q) - want[0], float64(got.D) - want[1], (float64(got.M) - want[2]) / 100} {
				if math.Abs(diff) > 1e-5 { // one float32 rounding a ply
					t.Fatalf("ply %d: %+v, want %v (value %d)", i, got, want, k)
				}
			}
		}
	}
	if changed < 40 {
		t.Errorf("only %d of 50 games have blunders", changed)
	}
}

// reference is the outcome of ply i: that of the game up to the next blunder
// at or after i, turned back ply by ply, mixed at the blunder with its best move.
func reference(d Deblunder, g *record.Game, i int) [3]float64 {
	next := i
	for next < len(g.Plies) && !blunders(d, &g.Plies[next]) {
		next++
	}
	if next == len(g.Plies) {
		v := g.ResultAt(i)
		return [3]float64{float64(v.Q), float64(v.D), float64(v.M)}
	}
	var z [3]float64
	if next+1 < len(g.Plies) {
		after := reference(d, g, next+1)
		z = [3]float64{-after[0], after[1], after[2] + 1}
	} else {
		v := g.ResultAt(next)
		z = [3]float64{float64(v.Q), float64(v.D), float64(v.M)}
	}
	p := &g.Plies[next]
	r := min(1, (float64(p.Best.Q)-float64(p.Played.Q)-d.Threshold)/d.Width+0.5)
	for k, best := range []float32{p.Best.Q, p.Best.D, p.Best.M} {
		z[k] = (1-r)*z[k] + r*float64(best)
	}
	if (next-i)%2 == 1 {
		z[0] = -z[0]
	}
	z[2] += float64(next - i)
	return z
}

func blunders(d Deblunder, p *record.Ply) bool {
	return float64(p.Best.Q)-float64(p.Played.Q) > d.Threshold-d.Width/2
}
