package mcts

import (
	"cmp"
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// signatureVisits is the search length of the signature.
const signatureVisits = 200

// signaturePositions are fixed: openings, tactics, castling and en-passant
// rights, promotions, a Chess960 start and endgames.
var signaturePositions = [20]string{
	"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
	"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
	"8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
	"r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
	"rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
	"r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 b - - 0 10",
	"r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3",
	"rnbqkb1r/pp2pppp/3p1n2/8/3NP3/8/PPP2PPP/RNBQKB1R w KQkq - 1 5",
	"rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
	"r1bq1rk1/pp2bppp/2n1pn2/3p4/2PP4/2N2N2/PP2BPPP/R1BQ1RK1 b - - 4 9",
	"2r3k1/pp3ppp/4p3/3pP3/3P4/1P3N2/P4PPP/2R3K1 w - - 0 24",
	"8/8/4k3/3p4/3P4/4K3/8/8 w - - 10 60",
	"8/k1P5/8/1K6/8/8/8/8 w - - 0 1",
	"8/8/8/8/8/4k3/4q3/6K1 w - - 20 80",
	"4k3/8/8/8/8/8/R7/4K2R w K - 0 1",
	"6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1",
	"3b4/rp1r1k2/8/1RP2p1p/p1KP4/P3P2P/5P2/1R2B3 b - - 2 30",
	"nrbkqbrn/pppppppp/8/8/8/8/PPPPPPPP/NRBKQBRN w KQkq - 0 1",
	"8/1P4k1/8/8/3n4/8/6Kp/5R2 b - - 96 90",
	"1k1r4/pp3R2/6pp/4p3/2B3b1/4Q3/PPP2B2/2K5 b - - 0 1",
}

// Signature returns one number that changes only when the search is meant to
// change: FNV-1a (64 bit) over 20 fixed positions, each searched for 200 visits
// with the default settings and HashEvaluator, of the position's FEN and the
// visits of its legal moves in ascending order of the moves. It is the same on
// every CPU and takes some milliseconds.
func Signature() uint64 {
	cfg := DefaultConfig()
	cfg.Simulations = signatureVisits
	searches := make([]*Search, len(signaturePositions))
	for i, fen := range signaturePositions {
		board, err := chess.ParseFEN(fen)
		if err != nil {
			panic(fmt.Sprintf("signature position %q: %v", fen, err))
		}
		searches[i] = New(&cfg, nil)
		searches[i].Reset(chess.NewHistory(board))
		searches[i].Begin(nil, false)
	}
	runAll(searches, &HashEvaluator{}, encoding.NewBatch(len(searches)))
	sum := fnv.New64a()
	for i, s := range searches {
		sum.Write([]byte(signaturePositions[i]))
		writeVisits(sum, s.Root().Moves)
	}
	return sum.Sum64()
}

// runAll searches in lock step until all are done; the evaluator cannot fail.
func runAll(searches []*Search, ev *HashEvaluator, b *encoding.Batch) {
	for busy := true; busy; {
		busy = false
		b.Reset()
		for _, s := range searches {
			s.Gather(b, 1)
		}
		_ = ev.Evaluate(context.Background(), b)
		for _, s := range searches {
			s.Apply(b)
			busy = busy || !s.Done()
		}
	}
}

// writeVisits hashes move and visits, little endian, sorted by move.
func writeVisits(sum hash.Hash64, moves []MoveStats) {
	moves = slices.Clone(moves)
	slices.SortFunc(moves, func(a, b MoveStats) int { return cmp.Compare(a.Move, b.Move) })
	for _, m := range moves {
		sum.Write([]byte{
			byte(m.Move), byte(m.Move >> 8),
			byte(m.N), byte(m.N >> 8), byte(m.N >> 16), byte(m.N >> 24),
		})
	}
}
