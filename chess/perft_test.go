package chess

import "testing"

func TestPerftLiteral(t *testing.T) {
	for _, c := range []struct {
		fen   string
		depth int
		want  uint64
	}{
		{StartFEN, 5, 4865609},
		{"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 4, 4085603},
	} {
		b, err := ParseFEN(c.fen)
		if err != nil {
			t.Fatal(err)
		}
		if got := Perft(&b, c.depth); got != c.want {
			t.Errorf("%s depth %d: %d, want %d", c.fen, c.depth, got, c.want)
		}
	}
}
