package record

import (
	"errors"
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// A row equals what encoding says of the position reached by hand.
func TestAppendRowInputs(t *testing.T) {
	var r Replayer
	b := encoding.NewTrainBatch(4)
	for seed := range uint64(10) {
		g := randomGame(t, seed, roundTripStarts[seed%5], 40)
		start, err := g.StartBoard()
		if err != nil {
			t.Fatal(err)
		}
		h := chess.NewHistory(start)
		var l chess.MoveList
		b.Reset()
		for ply := range g.Plies {
			if err := r.AppendRow(b, g, ply); err != nil {
				t.Fatal(err)
			}
			var m [encoding.NumMasks]uint64
			var s encoding.Scalars
			encoding.Encode(h, &m, &s)
			if b.Masks[ply] != m || b.Scalars[ply] != s {
				t.Fatalf("game %d ply %d: inputs differ", seed, ply)
			}
			l.N = 0
			h.Board().GenerateMoves(&l)
			for j, mv := range l.Slice() {
				if b.LegalOf(ply)[j] != encoding.PolicyIndex(mv) {
					t.Fatalf("game %d ply %d: legal move %d differs", seed, ply, j)
				}
			}
			h.Push(g.Plies[ply].Move)
		}
	}
}

func TestAppendRowTargets(t *testing.T) {
	g := sampleGame(t)
	var r Replayer
	b := encoding.NewTrainBatch(0)
	if err := r.AppendRows(b, g, []int{0, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	for i := range g.Plies {
		p, tg := &g.Plies[i], b.Targets[i]
		q := float32(1) // black mates: ply 1 and 3 are black's
		if i%2 == 0 {
			q = -1
		}
		if want := (encoding.QDM{Q: q, D: 0, M: float32(4 - i)}); tg[encoding.TargetResult] != want {
			t.Errorf("ply %d: result %+v, want %+v", i, tg[encoding.TargetResult], want)
		}
		for target, want := range map[encoding.Target]encoding.QDM{
			encoding.TargetRoot: p.Root, encoding.TargetBest: p.Best, encoding.TargetPlayed: p.Played,
			encoding.TargetOrig: p.Orig, encoding.TargetST: encoding.UnknownQDM,
		} {
			if !sameQDM(tg[target], want) {
				t.Errorf("ply %d: target %d = %+v, want %+v", i, target, tg[target], want)
			}
		}
		if b.Weight[i] != p.Weight {
			t.Errorf("ply %d: weight %g, want %g", i, b.Weight[i], p.Weight)
		}
		for j, v := range b.PolicyOf(i) {
			var want float32
			switch p.Kind {
			case PolicyCounts:
				want = float32(float64(p.Counts[j]) / float64(CountSum(p.Counts)))
			case PolicyProbs:
				want = p.Probs[j]
			}
			if v != want {
				t.Errorf("ply %d: policy %d = %g, want %g", i, j, v, want)
			}
		}
	}
}

func TestGameResult(t *testing.T) {
	g := playedGame(t, "", "e2e4", "e7e5")
	g.End = EndMaxPlies
	if got, want := g.ResultAt(1), (encoding.QDM{Q: 0, D: 1, M: 1}); got != want {
		t.Errorf("draw: %+v, want %+v", got, want)
	}
	g.End = EndAborted
	if got := g.ResultAt(0); !sameQDM(got, encoding.UnknownQDM) {
		t.Errorf("aborted: %+v, want unknown", got)
	}
}

// TestShortTermTarget: TD(theta) by hand, with a position that was not searched.
func TestShortTermTarget(t *testing.T) {
	g := playedGame(t, "", "f2f3", "e7e5", "g2g4", "d8h4")
	g.End, g.WhiteResult = EndCheckmate, -1
	for i, q := range []float32{0.4, 0, -0.6, 0.8} {
		g.Plies[i].Root = encoding.QDM{Q: q, D: 0.1, M: 9}
	}
	g.Plies[1].Root = encoding.UnknownQDM
	b := encoding.NewTrainBatch(4)
	r := Replayer{Extra: Extra{ShortTerm: 0.75}}
	want := []encoding.QDM{
		{Q: 0.25*0.4 - 0.75*0.8625, D: 0.025 + 0.75*0.04375},
		{Q: 0.8625, D: 0.04375},
		{Q: 0.25*-0.6 - 0.75*0.95, D: 0.025 + 0.75*0.025},
		{Q: 0.25*0.8 + 0.75*1, D: 0.025, M: 0.25*9 + 0.75*1},
	}
	want[2].M = 0.25*9 + 0.75*(want[3].M+1)
	want[1].M = want[2].M + 1
	want[0].M = 0.25*9 + 0.75*(want[1].M+1)
	if err := r.AppendRows(b, g, []int{0, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if got := b.Targets[i][encoding.TargetST]; math.Abs(float64(got.Q-w.Q)) > 1e-6 || math.Abs(float64(got.D-w.D)) > 1e-6 || math.Abs(float64(got.M-w.M)) > 1e-5 {
			t.Errorf("ply %d: %+v, want %+v", i, got, w)
		}
	}

	g.End, g.WhiteResult = EndAborted, 0 // the last search is all that is known
	b.Reset()
	if err := r.AppendRows(b, g, []int{3}); err != nil {
		t.Fatal(err)
	}
	if got := b.Targets[0][encoding.TargetST]; got != g.Plies[3].Root {
		t.Errorf("aborted: %+v, want %+v", got, g.Plies[3].Root)
	}
}

// A game that was cut says who is ahead, and not how many plies were left; a rescorer may
// know.
func TestNoPliesLeftAtTheCut(t *testing.T) {
	g := playedGame(t, "", "e2e4", "e7e5", "g1f3")
	g.End, g.WhiteResult = EndMaxPlies, 1
	g.SetResult(2, encoding.QDM{Q: 1, M: 30})
	b, e := encoding.NewTrainBatch(6), opened(t, g)
	if err := errors.Join(new(Replayer).AppendRows(b, g, []int{0, 1, 2}), new(Seeker).AppendRows(b, &e, []int{0, 1, 2})); err != nil {
		t.Fatal(err)
	}
	for i := range b.N {
		got := b.Targets[i][encoding.TargetResult]
		if want := []float32{1, -1, 1}[i%3]; got.Q != want || i%3 < 2 && got.M == got.M || i%3 == 2 && got.M != 30 {
			t.Errorf("row %d: %+v", i, got)
		}
	}
}

// One legal move without visits has probability 1.
func TestForcedMovePolicy(t *testing.T) {
	g := playedGame(t, "7k/8/6K1/8/8/8/8/Q7 b - - 0 1", "h8g8")
	g.Plies[0].Kind, g.Plies[0].Counts = PolicyCounts, []uint32{0}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	var r Replayer
	b := encoding.NewTrainBatch(1)
	if err := r.AppendRow(b, g, 0); err != nil {
		t.Fatal(err)
	}
	if p := b.PolicyOf(0); len(p) != 1 || p[0] != 1 {
		t.Errorf("policy = %v, want [1]", p)
	}
}

func TestAppendRowsRefuses(t *testing.T) {
	var r Replayer
	b := encoding.NewTrainBatch(1)
	for name, plies := range map[string][]int{
		"past the end": {4}, "negative": {-1}, "descending": {2, 1}, "huge": {0, 1 << 40},
	} {
		var inv *InvalidError
		if err := r.AppendRows(b, sampleGame(t), plies); !errors.As(err, &inv) || b.N != 0 {
			t.Errorf("%s: %v with %d rows, want an InvalidError and none", name, err, b.N)
		}
	}
	g := sampleGame(t)
	g.Plies[1].Probs = g.Plies[1].Probs[:3]
	if err := r.AppendRows(b, g, []int{0, 1}); err == nil || b.N != 1 {
		t.Errorf("short policy: %v with %d rows", err, b.N)
	}
}

func TestAppendRowsAllocations(t *testing.T) {
	g := randomGame(t, 5, "", 60)
	var r Replayer
	b := encoding.NewTrainBatch(8)
	plies := []int{1, 7, 7, len(g.Plies) - 1}
	run := func() {
		b.Reset()
		if err := r.AppendRows(b, g, plies); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(50, run); n != 0 {
		t.Errorf("%v allocations per call, want 0", n)
	}
}

func BenchmarkAppendRow(b *testing.B) {
	g := randomGame(b, 3, "", 100)
	var r Replayer
	batch := encoding.NewTrainBatch(1)
	ply := 0
	for b.Loop() {
		batch.Reset()
		ply = (ply + 37) % len(g.Plies)
		if err := r.AppendRow(batch, g, ply); err != nil {
			b.Fatal(err)
		}
	}
}
