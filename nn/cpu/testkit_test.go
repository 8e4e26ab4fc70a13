package cpu

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// testNet returns a net whose batch norm, biases and last layers are not at
// their trivial starting values.
func testNet(t testing.TB, name string, seed uint64) *nn.Net {
	t.Helper()
	return nntest.DecidedNet(mustArch(t, name), seed)
}

// mustArch returns the net of a name, or that of nntest.AttentionNets behind a *.
func mustArch(t testing.TB, name string) nn.Arch {
	t.Helper()
	if a, ok := nntest.AttentionNets()[strings.TrimPrefix(name, "*")]; ok {
		return a
	}
	return nntest.Named(name)
}

// randomBatch returns n positions with random planes and legal moves; some have
// one legal move, one has all moves of the board.
func randomBatch(seed uint64, n int) *encoding.Batch { return nntest.Positions(seed, n, 1) }

func newEvaluator(t testing.TB, n *nn.Net, maxBatch int, p kernel.Precision) *Evaluator {
	t.Helper()
	c, err := New(n, p)
	if err != nil {
		t.Fatal(err)
	}
	return c.NewEvaluator(maxBatch)
}

// chessLikeSquares is the number of squares that the moves of chessLikeBatch
// start from, about that of a middle game.
const chessLikeSquares = 12

// chessLikeBatch is a random batch of about 30 moves a position that start from
// twelve squares.
func chessLikeBatch(n int) *encoding.Batch {
	rng := rand.New(rand.NewPCG(1, 2))
	table := encoding.ConvPolicyIndex()[:]
	b := encoding.NewBatch(n)
	for range n {
		var moves []uint16
		for _, sq := range rng.Perm(encoding.NumSquares)[:chessLikeSquares] {
			for plane := range encoding.NumConvUsed {
				if idx := slices.Index(table, uint16(plane*encoding.NumSquares+sq)); idx >= 0 && plane%7 == 0 {
					moves = append(moves, uint16(idx))
				}
			}
		}
		i := b.Grow(len(moves))
		copy(b.LegalOf(i), moves)
		for p := range b.Masks[i] {
			b.Masks[i][p] = rng.Uint64() & rng.Uint64() & rng.Uint64()
		}
	}
	return b
}
