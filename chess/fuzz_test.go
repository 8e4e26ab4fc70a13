package chess

import (
	"errors"
	"testing"
)

func FuzzFEN(f *testing.F) {
	for _, fen := range starts {
		f.Add(fen)
	}
	f.Add("4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1")
	f.Fuzz(func(t *testing.T, fen string) {
		b, err := ParseFEN(fen)
		if err != nil {
			var fe *FENError
			if !errors.As(err, &fe) || fe.Field == "" || fe.Reason == "" {
				t.Fatalf("%q: error %v", fen, err)
			}
			return
		}
		if broken := checkBoard(&b); broken != "" {
			t.Fatalf("%q: %s", fen, broken)
		}
		if again := mustFEN(t, b.FEN()); again != b {
			t.Fatalf("%q does not come back", fen)
		}
		if again := mustFEN(t, b.ShredderFEN()); again != b {
			t.Fatalf("%q does not come back by Shredder-FEN", fen)
		}
		var l MoveList
		b.GenerateMoves(&l)
		if l.N != b.countMoves() || l.N > 218 {
			t.Fatalf("%q: %d moves, counted %d", fen, l.N, b.countMoves())
		}
		for _, m := range l.Slice() {
			c := b
			c.Make(m)
			if broken := checkBoard(&c); broken != "" {
				t.Fatalf("%q, %v: %s", fen, m, broken)
			}
			if back, err := b.ParseSAN(b.SAN(m)); err != nil || back != m {
				t.Fatalf("%q: SAN %s gives %v, %v", fen, b.SAN(m), back, err)
			}
		}
	})
}

// fuzzMove holds what any accepted move text must satisfy.
func fuzzMove(t *testing.T, fen, text string, parse func(b *Board, s string) (Move, error)) {
	b, err := ParseFEN(fen)
	if err != nil {
		return
	}
	m, err := parse(&b, text)
	if err != nil {
		var me *MoveError
		if !errors.As(err, &me) || m != NoMove {
			t.Fatalf("%q: %v, %v", text, m, err)
		}
		return
	}
	var l MoveList
	b.GenerateMoves(&l)
	if l.Index(m) < 0 {
		t.Fatalf("%q in %q: %v is not legal", text, fen, m)
	}
}

func FuzzUCI(f *testing.F) {
	f.Add(StartFEN, "e2e4")
	f.Add("8/P6k/8/8/8/8/8/K7 w - - 0 1", "a7a8q")
	f.Add("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1")
	f.Fuzz(func(t *testing.T, fen, text string) { fuzzMove(t, fen, text, (*Board).ParseUCI) })
}

func FuzzSAN(f *testing.F) {
	f.Add(StartFEN, "Ng1-f3!?")
	f.Add("8/P6k/8/8/8/8/8/K7 w - - 0 1", "a8=Q+")
	f.Add("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "O-O-O")
	f.Fuzz(func(t *testing.T, fen, text string) { fuzzMove(t, fen, text, (*Board).ParseSAN) })
}
