package syzygy

import (
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
)

// openShared opens the tables of three and four men.
func openShared(t testing.TB) *Tables {
	t.Helper()
	tables, err := Open(golden.Path(t, "syzygy"))
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func parse(t testing.TB, fen string) *chess.Board {
	t.Helper()
	b, err := chess.ParseFEN(fen)
	if err != nil {
		t.Fatalf("%s: %v", fen, err)
	}
	return &b
}
