package importer

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

var nan = float32(math.NaN())

// same compares values, NaN being equal to NaN.
func same(a, b encoding.QDM, tolerance float64) bool {
	for _, p := range [][2]float32{{a.Q, b.Q}, {a.D, b.D}, {a.M, b.M}} {
		if (p[0] != p[0]) != (p[1] != p[1]) || math.Abs(float64(p[0]-p[1])) > tolerance {
			return false
		}
	}
	return true
}

// TestQOfPawns holds the formula at some points: tan(pi/4) = 1 at 90
// centipawns, the others from another program's arithmetic.
func TestQOfPawns(t *testing.T) {
	for _, c := range []struct{ pawns, q float64 }{
		{0, 0}, {0.9, math.Pi / 4 / 1.5637541897}, {-0.9, -math.Pi / 4 / 1.5637541897},
		{1, 0.535878}, {2, 0.734094}, {0.25, 0.173267}, {1000, 1}, {-1e9, -1},
	} {
		if got := QOfPawns(c.pawns); math.Abs(got-c.q) > 1e-6 {
			t.Errorf("%v pawns: %v, want %v", c.pawns, got, c.q)
		}
	}
	// The inverse of what uci writes: cp = 90 tan(1.5637541897 q).
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for range 1000 {
		q := 1.98*rng.Float64() - 0.99
		if got := QOfPawns(0.9 * math.Tan(1.5637541897*q)); math.Abs(got-q) > 1e-9 {
			t.Fatalf("q %v comes back as %v", q, got)
		}
	}
}

// TestReadAnnotation holds each form against the value that it means.
func TestReadAnnotation(t *testing.T) {
	u := encoding.UnknownQDM
	q := func(pawns float64) encoding.QDM { return encoding.QDM{Q: float32(QOfPawns(pawns)), D: nan, M: nan} }
	mate := func(side float32) encoding.QDM { return encoding.QDM{Q: side, D: 0, M: nan} }
	for _, c := range []struct {
		comment            string
		root, white, after encoding.QDM
		visits             uint32
	}{
		{"", u, u, u, 0},
		{"a fine move", u, u, u, 0},
		{"[%eval 0.25]", u, u, q(0.25), 0},
		{"good [%eval -1.5,20] [%clk 0:01:00]", u, u, q(-1.5), 0},
		{"[%eval #3]", u, u, mate(1), 0},
		{"[%eval #-3]", u, u, mate(-1), 0},
		{"[%eval #0]", u, u, u, 0},
		{"[%eval nan]", u, u, u, 0},
		{"+0.31/12 5.2s", q(0.31), u, u, 0},
		{"-1.05/9 0.4s, Black resigns", q(-1.05), u, u, 0},
		{"(Nf3) 0.00/1 0s", q(0), u, u, 0},
		{"+M5/20 1.2s", mate(1), u, u, 0},
		{"-M12/30 1.2s, Black mates", mate(-1), u, u, 0},
		{"book", u, u, u, 0},
		{"1/2 offered", u, u, u, 0},
		{"d=30, sd=52, mt=123, n=1000, pv=Nf3 Nf6, wv=0.12, R50=50", u, q(0.12), u, 0},
		{"d=1, wv=-M14,", u, mate(-1), u, 0},
		{"book, mb=+0+0+0+0+0,", u, u, u, 0},
		{"wv=x", u, u, u, 0},
		{"q=+0.123 d=0.45 m=57 n=101", encoding.QDM{Q: 0.123, D: 0.45, M: 57}, u, u, 101},
		{"q=-0.999 d=0.01", encoding.QDM{Q: -0.999, D: 0.001, M: nan}, u, u, 0},
		{"q=2 d=0.5", u, u, u, 0},
		{"q=+0.5 word n=3", encoding.QDM{Q: 0.5, D: nan, M: nan}, u, u, 0},
	} {
		a := readAnnotation(c.comment, math.NaN())
		if !same(a.root, c.root, 1e-6) || !same(a.white, c.white, 1e-6) || !same(a.after, c.after, 1e-6) || a.visits != c.visits {
			t.Errorf("%q: %+v", c.comment, a)
		}
	}
	a := readAnnotation("[%eval 0.9]", 0.6)
	if want := 0.6 * (1 - math.Pi/4/1.5637541897); math.Abs(float64(a.after.D)-want) > 1e-6 {
		t.Errorf("draw probability %v, want %v", a.after.D, want)
	}
	if a := readAnnotation("-M3/4", 0.6); a.root.D != 0 {
		t.Errorf("a mate is a draw with probability %v", a.root.D)
	}
}

// FuzzReadAnnotation: whatever a comment says, the values are in their ranges.
func FuzzReadAnnotation(f *testing.F) {
	for _, s := range []string{"[%eval 0.25]", "[%eval #-3]", "+0.31/12 5.2s", "wv=M3", "q=+0.1 d=0.45 m=57 n=101", "q=1 d=1", "q=1 d=1 d", "wv=1e999"} {
		f.Add(s, 0.5)
	}
	f.Fuzz(func(t *testing.T, comment string, draws float64) {
		if !(draws >= 0 && draws <= 1) {
			draws = math.NaN()
		}
		a := readAnnotation(strings.TrimSpace(comment), draws)
		for _, v := range []encoding.QDM{a.root, a.white, a.after} {
			if math.Abs(float64(v.Q)) > 1 || v.D < 0 || v.D > 1 || v.M < 0 || math.IsInf(float64(v.M), 0) {
				t.Fatalf("%q: %+v", comment, v)
			}
			if v.Q == v.Q && v.D == v.D && math.Abs(float64(v.Q))+float64(v.D) > 1+1e-6 {
				t.Fatalf("%q: %+v leaves a negative probability", comment, v)
			}
		}
	})
}
