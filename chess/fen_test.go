package chess

import (
	"errors"
	"strings"
	"testing"
)

func TestFENRefused(t *testing.T) {
	cases := []struct{ fen, field, reason string }{
		{"nqrbkrnr/bnnbnbnn/8/8/8/8/NNNBPNBN/QNRPKPQQ w - - 0 1", "board", "pawn on the first or last rank"},
		{"rnbqkbnrr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "board", "more than 8 files in rank 8"},
		{"rnbqkbn/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "board", "want 8 files in rank 8, have 7"},
		{"rnbqkbnr/pppppppp/9/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "board", "unknown man '9'"},
		{"rnbqkbnr/pppppppp/44/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "board", "two digits"},
		{"rnbqkbnr/pppppppp/81/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "board", "two digits"},
		{"rnbqkbnr/pppppppp/8/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "board", "want 8 ranks, have 9"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP w KQkq - 0 1", "board", "want 8 ranks, have 7"},
		{"rnbqkxnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "board", "unknown man 'x'"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR g KQkq - 0 1", "side", "want w or b"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq i6 0 1", "en passant", "want a field"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq A6 0 1", "en passant", "want a field"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq e3 0 1", "en passant", "not on the rank"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq e6 0 1", "en passant", "no pawn"},
		{"rnbqkbnr/pppp1ppp/4p3/4p3/8/8/PPPPPPPP/RNBQKBNR w KQkq e6 0 1", "en passant", "no pawn"},
		{"rnbqkbn1/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "castling", "right k without a rook"},
		{"rnbq1bnr/ppppkppp/8/4p3/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "castling", "right k without the king"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KKkq - 0 1", "castling", "two rights"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KHkq - 0 1", "castling", "two rights"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w Bkq - 0 1", "castling", "without a rook"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQxq - 0 1", "castling", "unknown letter 'x'"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkqK - 0 1", "castling", "more than four"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - -1 1", "halfmove clock", "whole number"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - x 1", "halfmove clock", "whole number"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 10000", "fullmove number", "whole number"},
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0", "fields", "have 5"},
		{"", "fields", "have 0"},
		{"8/8/8/8/8/8/8/4K3 w - - 0 1", "board", "no king"},
		{"4k3/8/8/8/8/8/4K3/4K3 w - - 0 1", "board", "two kings"},
		{"8/8/8/3kK3/8/8/8/8 w - - 0 1", "board", "side by side"},
		{"4k3/4R3/8/8/8/8/8/4K3 w - - 0 1", "board", "side not to move is in check"},
		{"4k3/pppppppp/p7/8/8/8/8/4K3 w - - 0 1", "board", "more than 8 pawns"},
		{"4k3/pppppppp/8/8/qq6/8/8/4K3 w - - 0 1", "board", "more pieces"},
	}
	for _, c := range cases {
		_, err := ParseFEN(c.fen)
		var fe *FENError
		if !errors.As(err, &fe) || fe.Field != c.field || !strings.Contains(fe.Reason, c.reason) {
			t.Errorf("%q: %v, want %s: %s", c.fen, err, c.field, c.reason)
		}
	}
}

// TestFENWritten: what comes out for what goes in.
func TestFENWritten(t *testing.T) {
	cases := []struct{ in, fen, shredder string }{
		{StartFEN, StartFEN, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha - 0 1"},
		{"4k3/8/8/8/8/8/8/4K3 b - - 7 33", "4k3/8/8/8/8/8/8/4K3 b - - 7 33", ""},
		{"4k3/8/8/8/8/8/8/4K3 w - -", "4k3/8/8/8/8/8/8/4K3 w - - 0 1", ""},
		{"4k3/8/8/8/8/8/8/4K3 w - - 0 0", "4k3/8/8/8/8/8/8/4K3 w - - 0 1", ""},
		{"4k3/8/8/8/8/8/8/R3K1RR w GA - 0 1", "4k3/8/8/8/8/8/8/R3K1RR w GQ - 0 1", "4k3/8/8/8/8/8/8/R3K1RR w GA - 0 1"},
		{"4k3/8/8/8/8/8/8/RR2K2R w KB - 0 1", "4k3/8/8/8/8/8/8/RR2K2R w KB - 0 1", "4k3/8/8/8/8/8/8/RR2K2R w HB - 0 1"},
		{"rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b qkQK e3 0 3", "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3", ""},
		{"rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", ""},
	}
	for _, c := range cases {
		b := mustFEN(t, c.in)
		if b.FEN() != c.fen {
			t.Errorf("%s: %s, want %s", c.in, b.FEN(), c.fen)
		}
		if c.shredder != "" && b.ShredderFEN() != c.shredder {
			t.Errorf("%s: %s, want %s", c.in, b.ShredderFEN(), c.shredder)
		}
	}
}

// TestEnPassantFlag: set beside an enemy pawn only, pinned or not.
func TestEnPassantFlag(t *testing.T) {
	for _, c := range []struct {
		fen, move string
		want      Square
	}{
		{"4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1", "e2e4", 44},  // e3 seen by black is e6
		{"4k3/8/8/8/8/3p4/4P3/4K3 w - - 0 1", "e2e4", 64},  // pawn too far
		{"4k3/8/8/8/p7/8/7P/4K3 w - - 0 1", "h2h4", 64},    // no wrap round the edge
		{"4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1", "e2e3", 64},  // single step
		{"4k3/8/8/8/4p3/8/3P4/B3K3 w - - 0 1", "d2d4", 43}, // the taker is free
		{"3k4/8/8/8/3p4/8/4P3/3RK3 w - - 0 1", "e2e4", 44}, // the taker is pinned: set all the same
	} {
		b := mustFEN(t, c.fen)
		m, err := b.ParseUCI(c.move)
		if err != nil {
			t.Fatal(err)
		}
		b.Make(m)
		if b.EnPassant() != c.want {
			t.Errorf("%s %s: %v, want %v", c.fen, c.move, b.EnPassant(), c.want)
		}
	}
}
