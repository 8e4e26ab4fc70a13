package encoding

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// Two games that lc0 played, with the SHA-256 of what its training records say
// of every position: the 104 masks (bit i = square i, little endian), the six
// scalars, the index of the move played. Offsets 7440-8277 and 8344 of V6.
var leelaGames = []struct{ name, moves, sum string }{
	{"game_000007", "" +
		"e2e4 d7d5 e4e5 b7b5 b2b4 g8f6 c2c4 c8g4 d1g4 d8c8 g4c8",
		"6c4f5f5acf6128b3c53bafdec24819c6ae51056ed309a153a581142fbc1c5530"},
	{"game_000019", "" +
		"c2c4 c7c5 e2e4 g8f6 d2d4 d8c7 h2h3 f6d5 f2f4 d5f6 g2g4 g7g6 g1e2 h7h5 e2c3 a7a5 " +
		"c3a4 d7d5 b2b4 c5b4 a4b6 c7c5 f1e2 c5d6 b6d7 e7e5 e2d3 d6c6 d7f8 c8f5 e1h1 f5e4 " +
		"f4e5 e8d8 c1f4 c6c8 d1c2 b7b5 c2f2 h5g4 f1d1 f6g8 f2c2 g8h6 a2a4 h8f8 f4h6 c8c4 " +
		"b1c3 f7f5 d1b1 f5f4 c2b2 f8g8 b2b4 e4h1 c3e4 c4d4 g1f1 d8e8 h6g5 b8d7 b4e7",
		"cd508af371818ab29624745a149ba7f3cd5754e6b4899c0e477acf50c28a65ac"},
}

func TestEncodeGameSums(t *testing.T) {
	for _, c := range leelaGames {
		sum := sha256.New()
		h := chess.NewHistory(chess.StartBoard())
		for _, s := range strings.Fields(c.moves) {
			m, err := h.Board().ParseUCI(s)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			masks, sc := encode(h)
			for _, v := range []any{masks, sc, PolicyIndex(m)} {
				if err := binary.Write(sum, binary.LittleEndian, v); err != nil {
					t.Fatal(err)
				}
			}
			h.Push(m)
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != c.sum {
			t.Errorf("%s: sha256 of its inputs = %s, want %s", c.name, got, c.sum)
		}
	}
}
