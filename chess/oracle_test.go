package chess

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	notnil "github.com/notnil/chess"
)

// oracleMoves returns the legal moves of notnil/chess as UCI texts, sorted.
func oracleMoves(p *notnil.Position) []string {
	var out []string
	for _, m := range p.ValidMoves() {
		out = append(out, m.String())
	}
	slices.Sort(out)
	return out
}

func ourMoves(b *Board, l *MoveList) []string {
	out := make([]string, 0, l.N)
	for _, m := range l.Slice() {
		out = append(out, b.UCI(m, false))
	}
	slices.Sort(out)
	return out
}

// TestAgainstOracle plays 20 000 random positions move by move beside
// notnil/chess: legal moves, board, castling rights, counters and SAN agree.
func TestAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 0))
	left := scale(20000)
	var l MoveList
	for game := 0; left > 0; game++ {
		fen := starts[game%5] // the standard ones
		b := mustFEN(t, fen)
		load, err := notnil.FEN(fen)
		if err != nil {
			t.Fatal(err)
		}
		p := notnil.NewGame(load).Position()
		for ply := 0; ply < 150 && left > 0; ply++ {
			left--
			b.GenerateMoves(&l)
			ours, theirs := ourMoves(&b, &l), oracleMoves(p)
			if !slices.Equal(ours, theirs) {
				t.Fatalf("%s:\nours   %v\noracle %v", b.FEN(), ours, theirs)
			}
			compareFEN(t, b.FEN(), p.String())
			if l.N == 0 {
				break
			}
			i := rng.IntN(l.N)
			uci := b.UCI(l.Moves[i], false)
			m, err := notnil.UCINotation{}.Decode(p, uci)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range p.ValidMoves() { // with the tags that its notation and update want
				if v.String() == uci {
					m = v
				}
			}
			if san, want := b.SAN(l.Moves[i]), (notnil.AlgebraicNotation{}).Encode(p, m); san != want {
				t.Fatalf("%s: SAN %s, oracle %s", b.FEN(), san, want)
			}
			p = p.Update(m)
			b.Make(l.Moves[i])
		}
	}
}

// compareFEN compares all fields but the en-passant one, which the oracle sets
// after every double step; ours, where set, must be the same field.
func compareFEN(t *testing.T, ours, oracle string) {
	t.Helper()
	a, o := strings.Fields(ours), strings.Fields(oracle)
	for i := range a {
		if a[i] != o[i] && (i != 3 || a[i] != "-") {
			t.Fatalf("FEN field %d: %s, oracle %s", i, ours, oracle)
		}
	}
}
