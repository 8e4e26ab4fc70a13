package chess

import (
	"errors"
	"strings"
	"testing"
)

func TestUCIMoves(t *testing.T) {
	const castling = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
	cases := []struct{ fen, text, standard, chess960 string }{
		{castling, "e1g1", "e1g1", "e1h1"},
		{castling, "e1h1", "e1g1", "e1h1"},
		{castling, "e1c1", "e1c1", "e1a1"},
		{castling, "e1f1", "e1f1", "e1f1"},
		{"r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8a8", "e8c8", "e8a8"},
		{"8/P6k/8/8/8/8/8/K7 w - - 0 1", "a7a8n", "a7a8n", "a7a8n"},
		{"k7/8/8/8/8/8/8/5KR1 w G - 0 1", "f1g1", "f1g1", "f1g1"},       // castling: the rook stands there
		{"k7/8/8/8/8/8/8/5K1R w H - 0 1", "f1g1", "f1g1", "f1g1"},       // a king step, not castling
		{"k7/8/8/8/8/8/8/1R2K3 w B - 0 1", "e1b1", "e1c1", "e1b1"},      // 960 castling
		{"k7/8/8/8/8/8/8/2R1K3 w C - 0 1", "e1c1", "e1c1", "e1c1"},      // target is the rook itself
		{"4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1", "d4e3", "d4e3", "d4e3"},   // en passant
		{"4k3/8/8/8/8/8/3p4/K3N3 b - - 0 1", "d2e1q", "d2e1q", "d2e1q"}, // taking promotion
	}
	for _, c := range cases {
		b := mustFEN(t, c.fen)
		m, err := b.ParseUCI(c.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if b.UCI(m, false) != c.standard || b.UCI(m, true) != c.chess960 {
			t.Errorf("%s %s: %s and %s, want %s and %s", c.fen, c.text, b.UCI(m, false), b.UCI(m, true), c.standard, c.chess960)
		}
	}
	b := StartBoard()
	for text, reason := range map[string]string{
		"e2e5": "illegal", "0000": "malformed", "": "malformed", "e2e4x": "malformed", "e2e4q": "illegal",
		"e7e5": "illegal", "e1g1": "illegal", "e2e44": "malformed", "E2E4": "malformed", "e2e9": "malformed",
	} {
		_, err := b.ParseUCI(text)
		var me *MoveError
		if !errors.As(err, &me) || !strings.HasPrefix(me.Reason, reason) || me.Text != text {
			t.Errorf("%q: %v, want %s", text, err, reason)
		}
	}
}

func TestSANMoves(t *testing.T) {
	cases := []struct{ fen, uci, san string }{
		{StartFEN, "g1f3", "Nf3"},
		{StartFEN, "e2e4", "e4"},
		{"k7/8/8/8/8/8/8/KN3N2 w - - 0 1", "b1d2", "Nbd2"},
		{"k7/8/8/1N6/8/8/8/KN6 w - - 0 1", "b1a3", "N1a3"},
		{"8/k7/8/8/4Q2Q/8/8/K6Q w - - 0 1", "h4e1", "Qh4e1"},
		{"k7/8/8/8/8/3N4/8/KN3N2 w - - 0 1", "d3f2", "Nf2"},
		{"4k3/8/8/8/8/8/4r3/R3K2R w KQ - 0 1", "e1e2", "Kxe2"},
		{"r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1h1", "O-O"},
		{"r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8a8", "O-O-O"},
		{"5k2/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1", "O-O+"},
		{"8/P6k/8/8/8/8/8/K7 w - - 0 1", "a7a8r", "a8=R"},
		{"1n2k3/P7/8/8/8/8/8/K7 w - - 0 1", "a7b8q", "axb8=Q+"},
		{"4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1", "d4e3", "dxe3"},
		{"rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2", "d8h4", "Qh4#"},
		{"3k4/8/8/8/1b6/2N5/8/4K1N1 w - - 0 1", "g1e2", "Ne2"}, // the other knight is pinned
	}
	for _, c := range cases {
		b := mustFEN(t, c.fen)
		m, err := b.ParseUCI(c.uci)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := b.SAN(m); got != c.san {
			t.Errorf("%s %s: %s, want %s", c.fen, c.uci, got, c.san)
		}
		if back, err := b.ParseSAN(c.san); err != nil || back != m {
			t.Errorf("%s: %s gives %v, %v", c.fen, c.san, back, err)
		}
	}
}

func TestSANParsing(t *testing.T) {
	castling := "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
	cases := []struct{ fen, text, uci string }{
		{StartFEN, "Ng1f3", "g1f3"}, {StartFEN, "Ng1-f3!?", "g1f3"}, {StartFEN, "e2e4", "e2e4"},
		{StartFEN, "e2-e4", "e2e4"}, {StartFEN, "N1f3", "g1f3"}, {StartFEN, "Nf3+", "g1f3"},
		{castling, "0-0", "e1h1"}, {castling, "0-0-0+", "e1a1"}, {castling, "O-O!", "e1h1"},
		{"8/P6k/8/8/8/8/8/K7 w - - 0 1", "a8Q", "a7a8q"}, {"8/P6k/8/8/8/8/8/K7 w - - 0 1", "a8=N", "a7a8n"},
		{"4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1", "dxe3e.p.", "d4e3"},
		{"4k3/8/8/8/8/8/2bB4/4K3 w - - 0 1", "Bc3", "d2c3"},
	}
	for _, c := range cases {
		b := mustFEN(t, c.fen)
		m, err := b.ParseSAN(c.text)
		if err != nil || b.UCI(m, true) != c.uci {
			t.Errorf("%s %s: %v, %v, want %s", c.fen, c.text, m, err, c.uci)
		}
	}
	refused := []struct{ fen, text, reason string }{
		{StartFEN, "", "malformed"}, {StartFEN, "e", "malformed"}, {StartFEN, "--", "malformed"},
		{StartFEN, "Zf3", "malformed"}, {StartFEN, "e9", "malformed"}, {StartFEN, "Nf3=Q", "malformed"},
		{StartFEN, "e5", "illegal"}, {StartFEN, "Nxf3", "illegal"}, {StartFEN, "O-O", "illegal"},
		{StartFEN, "Pe4", "malformed"}, {StartFEN, "e4=Q", "illegal"}, {StartFEN, "=Q", "malformed"},
		{"8/P6k/8/8/8/8/8/K7 w - - 0 1", "a8", "illegal"}, // the piece is missing
		{"k7/8/8/8/8/8/8/KN3N2 w - - 0 1", "Nd2", "ambiguous: "},
		{"k7/8/8/8/8/8/8/KN3N2 w - - 0 1", "Nxd2", "illegal"},
	}
	for _, c := range refused {
		b := mustFEN(t, c.fen)
		_, err := b.ParseSAN(c.text)
		var me *MoveError
		if !errors.As(err, &me) || !strings.HasPrefix(me.Reason, c.reason) {
			t.Errorf("%s %q: %v, want %s", c.fen, c.text, err, c.reason)
		}
	}
}

// TestCastling960 holds rules that standard chess does not show.
func TestCastling960(t *testing.T) {
	for _, c := range []struct {
		name, fen, san string
		legal          bool
		after          string
	}{
		{"king stays", "6k1/8/8/8/8/8/8/6KR w H - 0 1", "O-O", true, "6k1/8/8/8/8/8/8/5RK1 b - - 1 1"},
		{"king and rook swap", "k7/8/8/8/8/8/8/5KR1 w G - 0 1", "O-O", true, "k7/8/8/8/8/8/8/5RK1 b - - 1 1"},
		{"king passes the rook", "7k/8/8/8/8/8/8/1K1R4 w D - 0 1", "O-O", true, "7k/8/8/8/8/8/8/5RK1 b - - 1 1"}, // over its own rook
		{"pinned rook uncovers", "k7/8/8/8/8/8/8/qRK5 w B - 0 1", "O-O-O", false, ""},
		{"attacked field between", "k4r2/8/8/8/8/8/8/4K2R w H - 0 1", "O-O", false, ""},
		{"rook may pass an attack", "1r2k3/8/8/8/8/8/8/R3K3 w A - 0 1", "O-O-O", true, "1r2k3/8/8/8/8/8/8/2KR4 b - - 1 1"},
		{"man in the rook's way", "4k3/8/8/8/8/8/8/RN2K3 w A - 0 1", "O-O-O", false, ""},
	} {
		b := mustFEN(t, c.fen)
		m, err := b.ParseSAN(c.san)
		if (err == nil) != c.legal {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.after != "" {
			b.Make(m)
			if b.FEN() != c.after {
				t.Errorf("%s: %s, want %s", c.name, b.FEN(), c.after)
			}
		}
	}
}
