package record

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

var nan = float32(math.NaN())

// rescoredGame is the sample with outcomes of its own: white was winning
// before the second move, and the length of the game before it is an estimate.
func rescoredGame(t testing.TB) *Game {
	g := sampleGame(t)
	g.SetResult(0, encoding.QDM{Q: 0.25, D: 0.5, M: 4})
	g.SetResult(1, encoding.QDM{Q: 1, D: 0, M: 20.5})
	return g
}

func TestResultAt(t *testing.T) {
	g := rescoredGame(t)
	want := []encoding.QDM{{Q: 0.25, D: 0.5, M: 4}, {Q: 1, M: 20.5}, {Q: -1, M: 2}, {Q: 1, M: 1}}
	for ply, w := range want {
		if got := g.ResultAt(ply); got != w {
			t.Errorf("ply %d: %+v, want %+v", ply, got, w)
		}
	}
	stored := []encoding.QDM{{Q: 0.25, D: 0.5, M: nan}, {Q: nan, D: nan, M: 20.5}, encoding.UnknownQDM, encoding.UnknownQDM}
	for ply, w := range stored {
		if !sameQDM(g.Results[ply], w) {
			t.Errorf("Results[%d] = %+v, want %+v", ply, g.Results[ply], w)
		}
	}
	if err := g.Validate(); err != nil {
		t.Error(err)
	}
	var r Replayer
	b := encoding.NewTrainBatch(4)
	if err := r.AppendRows(b, g, []int{0, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	for ply, w := range want {
		if got := b.Targets[ply][encoding.TargetResult]; got != w {
			t.Errorf("row %d: %+v, want %+v", ply, got, w)
		}
	}
}

// What equals the game's own outcome leaves no trace.
func TestSetResultBack(t *testing.T) {
	g := rescoredGame(t)
	g.SetResult(1, encoding.QDM{Q: 1, M: 3})
	g.SetResult(0, encoding.QDM{Q: -1, M: 4})
	if g.Results != nil || !equalGames(g, sampleGame(t)) {
		t.Errorf("Results = %+v", g.Results)
	}
	g.SetResult(2, encoding.QDM{Q: -1, M: 2})
	if g.Results != nil {
		t.Errorf("an equal outcome is stored: %+v", g.Results)
	}
}

// An aborted game has outcomes only where they were given.
func TestResultsOfAbortedGame(t *testing.T) {
	g := playedGame(t, "", "e2e4", "e7e5")
	g.End = EndAborted
	g.SetResult(1, encoding.QDM{Q: -1, M: 7})
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	if got := g.ResultAt(0); !sameQDM(got, encoding.UnknownQDM) {
		t.Errorf("ply 0: %+v", got)
	}
	if got, want := g.ResultAt(1), (encoding.QDM{Q: -1, M: 7}); got != want {
		t.Errorf("ply 1: %+v, want %+v", got, want)
	}
}

func TestSideAt(t *testing.T) {
	for seed := range uint64(10) {
		g := randomGame(t, seed, roundTripStarts[seed%5], 9)
		b, err := g.StartBoard()
		if err != nil {
			t.Fatal(err)
		}
		for ply := range g.Plies {
			if got, want := g.SideAt(ply), b.SideToMove(); got != want {
				t.Fatalf("%q ply %d: %v, want %v", g.Start, ply, got, want)
			}
			b.Make(g.Plies[ply].Move)
		}
	}
	odd := Game{Start: "\t8/8/8/8/8/4k3/8/3QK3  b - - 0 1"}
	if odd.SideAt(0) != chess.Black || odd.SideAt(1) != chess.White {
		t.Error("white space hides the side")
	}
}

// Random outcomes go through the bytes; such a game has version 2, one without
// them version 1, as programs before it wrote.
func TestResultsRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	for seed := range uint64(20) {
		g := randomGame(t, seed, roundTripStarts[seed%5], 40)
		if len(g.Plies) == 0 {
			continue
		}
		if b := mustAppend(t, g); b[len(magic)] != 1 {
			t.Fatalf("version %d without results", b[len(magic)])
		}
		for i := range g.Plies {
			if d := rng.Float32(); rng.IntN(3) > 0 {
				g.SetResult(i, encoding.QDM{Q: (2*rng.Float32() - 1) * (1 - d), D: d, M: 90 * rng.Float32()})
			}
		}
		g.SetResult(0, encoding.QDM{D: 0.5, M: 3})
		b := mustAppend(t, g)
		back, n, err := Decode(b)
		if err != nil || n != len(b) || b[len(magic)] != 2 || !equalGames(g, back) {
			t.Fatalf("game %d: version %d, %d of %d bytes, %v", seed, b[len(magic)], n, len(b), err)
		}
		head, plies, size, err := DecodeHeader(b)
		if err != nil || plies != len(g.Plies) || size != len(b) || head.ID != g.ID || head.Results != nil {
			t.Fatalf("header: %+v, %d plies, %d bytes, %v", head, plies, size, err)
		}
	}
}

func TestResultsRefused(t *testing.T) {
	inf := float32(math.Inf(1))
	for name, change := range map[string]func(g *Game){
		"entries":      func(g *Game) { g.Results = g.Results[:3] },
		"both are":     func(g *Game) { g.Results[2].Q = 1 },
		"Q is +Inf":    func(g *Game) { g.Results[0].Q = inf },
		"Q is -1.5":    func(g *Game) { g.Results[0].Q = -1.5 },
		"negative win": func(g *Game) { g.Results[0].Q = 0.75 },
		"M is -1":      func(g *Game) { g.Results[1].M = -1 },
		"M is +Inf":    func(g *Game) { g.Results[1].M = inf },
	} {
		g := rescoredGame(t)
		change(g)
		var inv *InvalidError
		if err := g.Validate(); !errors.As(err, &inv) || inv.Field != "results" || !strings.Contains(inv.Reason, name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Append(nil, g); err == nil {
			t.Errorf("%s: Append accepts it", name)
		}
	}
}

// The bytes of the results are refused where no encoder writes them.
func TestDecodeRefusesResults(t *testing.T) {
	g := rescoredGame(t)
	body := bodyOf(t, mustAppend(t, g))
	at := len(body) - len(appendBytes(nil, string(g.Extra))) - resultBytes*len(g.Plies)
	for name, b := range map[string][]byte{
		"without plies":        resealAs(versionResults, bodyOf(t, mustAppend(t, &Game{}))),
		"results: 48 bytes":    resealAs(versionResults, body[:at+7]),
		"NaN spelt":            resealAs(versionResults, append(append(body[:at:at], 1, 0, 0xc0, 0x7f), body[at+4:]...)),
		"leave a negative win": resealAs(versionResults, append(append(body[:at:at], 0, 0, 0x40, 0x3f), body[at+4:]...)),
	} {
		back, _, err := Decode(b)
		if back != nil || err == nil || !strings.Contains(err.Error(), name) || errors.Is(err, ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShortTermOfRescored: the last position's result is where TD begins.
func TestShortTermOfRescored(t *testing.T) {
	g := playedGame(t, "", "e2e4", "e7e5")
	for i := range g.Plies {
		g.Plies[i].Root = encoding.QDM{Q: 0.5, D: 0.25, M: 10}
	}
	g.End = EndMaxPlies
	g.SetResult(1, encoding.QDM{Q: -1, M: 30})
	b := encoding.NewTrainBatch(2)
	r := Replayer{Extra: Extra{ShortTerm: 0.5}}
	if err := r.AppendRows(b, g, []int{0, 1}); err != nil {
		t.Fatal(err)
	}
	for ply, want := range []encoding.QDM{{Q: 0.375, D: 0.1875, M: 15.5}, {Q: -0.25, D: 0.125, M: 20}} {
		if got := b.Targets[ply][encoding.TargetST]; got != want {
			t.Errorf("ply %d: %+v, want %+v", ply, got, want)
		}
	}
}

// Read as version 1, the same body is not a game: the results are in the place
// of what ends it.
func TestResultsNeedTheirVersion(t *testing.T) {
	body := bodyOf(t, mustAppend(t, rescoredGame(t)))
	if g, _, err := Decode(reseal(body)); g != nil || err == nil {
		t.Errorf("version 1 with results: %+v, %v", g, err)
	}
	body = bodyOf(t, mustAppend(t, sampleGame(t)))
	if g, _, err := Decode(resealAs(versionResults, body)); g != nil || err == nil || !strings.Contains(err.Error(), "results") {
		t.Errorf("version 2 without results: %+v, %v", g, err)
	}
}

// TestEndCounts: the most frequent first, and of the cut games those that somebody won, where the counts tell.
func TestEndCounts(t *testing.T) {
	for _, c := range []struct {
		ends    map[string]int64
		decided int64
		want    string
	}{
		{map[string]int64{"checkmate": 41, "max-plies": 159}, 181, "max-plies 159 (140 won on material), checkmate 41"},
		{map[string]int64{"checkmate": 3, "resign": 2, "stalemate": 4, "max-plies": 3, "aborted": 1}, 6, "stalemate 4, checkmate 3, max-plies 3 (1 won on material), resign 2, aborted 1"},
		{map[string]int64{"checkmate": 3, "max-plies": 3}, 3, "checkmate 3, max-plies 3"},
		{map[string]int64{"checkmate": 3, "max-plies": 3}, 0, "checkmate 3, max-plies 3"},
		{map[string]int64{"checkmate": 3, "max-plies": 3}, 9, "checkmate 3, max-plies 3 (3 won on material)"}, // counted while games end
		{map[string]int64{"tablebase": 1, "max-plies": 3}, 2, "max-plies 3, tablebase 1"},
		{map[string]int64{"unknown": 1, "max-plies": 3}, 2, "max-plies 3, unknown 1"},
		{nil, 0, ""},
	} {
		if got := EndCountsOf(c.ends, c.decided); got != c.want {
			t.Errorf("%v, %d decided: %q, want %q", c.ends, c.decided, got, c.want)
		}
	}
}
