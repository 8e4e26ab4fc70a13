package python

import (
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/plugins/plugintest"
	"github.com/chessbrain/chessbrain/record"
)

const queens = `#!/usr/bin/env -S python3 -B
from chessbrain_plugin import Rescorer, serve

class Queens(Rescorer):
    name = "queens"
    version = "0.1.0"
    doc = "makes each policy one of promotions to a queen alone, where there are any"
    capabilities = ["deterministic", "needs-legal-moves"]

    def rescore(self, game):
        probs, kinds, start = [], bytearray(game.policy_kind), 0
        for i, size in enumerate(game.policy_size):
            queens = [move >> 12 == 4 for move in game.legal_moves[start:start + size]]
            start += size
            if kinds[i]:
                kinds[i] = 2
                n = sum(queens)
                probs += [q / n if n else 1 / size for q in queens]
        return {"policy_kind": bytes(kinds), "policy_size": game.policy_size, "probs": probs}

serve(Queens)
`

// A plugin without chess rules changes policies by the legal moves that it is
// sent: these are those of package chess, in its order.
func TestLegalMoves(t *testing.T) {
	h := over(t, program(t, "queens", queens), nil)
	r := rescorer(t, h, "queens", nil)
	games := plugintest.Games(11, 64)
	got, err := r.RescoreBatch(t.Context(), games)
	if err != nil {
		t.Fatal(err)
	}
	promotions := 0
	for i, g := range games {
		b, err := g.StartBoard()
		if err != nil {
			t.Fatal(err)
		}
		for ply := range g.Plies {
			var legal chess.MoveList
			b.GenerateMoves(&legal)
			queens := 0
			for _, m := range legal.Slice() {
				if m.Promotion() == chess.Queen {
					queens++
				}
			}
			promotions += min(queens, 1)
			checkQueens(t, i, ply, &g.Plies[ply], &got[i].Plies[ply], legal.Slice(), queens)
			b.Make(g.Plies[ply].Move)
		}
	}
	if promotions == 0 {
		t.Error("no position with a promotion")
	}
}

// checkQueens holds one policy against what the plugin says it does.
func checkQueens(t *testing.T, game, ply int, before, after *record.Ply, legal []chess.Move, queens int) {
	t.Helper()
	if before.Kind == record.PolicyNone {
		if after.Kind != record.PolicyNone {
			t.Fatalf("game %d, ply %d: a policy where there was none", game, ply)
		}
		return
	}
	if after.Kind != record.PolicyProbs || len(after.Probs) != len(legal) {
		t.Fatalf("game %d, ply %d: kind %d, %d entries for %d moves", game, ply, after.Kind, len(after.Probs), len(legal))
	}
	for k, m := range legal {
		want := float32(1 / float64(len(legal)))
		if queens > 0 {
			want = 0
			if m.Promotion() == chess.Queen {
				want = float32(1 / float64(queens))
			}
		}
		if after.Probs[k] != want {
			t.Fatalf("game %d, ply %d, move %v: %g, want %g", game, ply, m, after.Probs[k], want)
		}
	}
}
