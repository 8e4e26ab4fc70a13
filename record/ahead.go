package record

import (
	"math"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// ahead returns what became of the position at ply, which is b. g must be valid.
func (g *Game) ahead(b chess.Board, ply int) (a encoding.Ahead) {
	if ply+1 < len(g.Plies) {
		reply := g.Plies[ply+1].Move
		a.From, a.To = reply.From()^encoding.RankFlip, reply.To()^encoding.RankFlip
		if p := reply.Promotion(); p != chess.Knight && p != chess.NoPiece {
			a.Promotion = p
		}
	}
	if ply+encoding.AheadPlies > len(g.Plies) {
		return a
	}
	var began [64]chess.Square // where the man on a square stood
	for sq := range began {
		began[sq] = chess.Square(sq)
	}
	a.Survive = b.Occupied()
	for i, p := range g.Plies[ply : ply+encoding.AheadPlies] {
		view := chess.Square(i&1) * encoding.RankFlip
		from, to := p.Move.From()^view, p.Move.To()^view
		if b.IsCastling(p.Move) { // to is the rook's square
			king, rook := began[from], began[to]
			rank, kingTo, rookTo := from&encoding.RankFlip, chess.Square(2), chess.Square(3)
			if to > from {
				kingTo, rookTo = 6, 5
			}
			began[rank|kingTo], began[rank|rookTo] = king, rook
		} else {
			if taken := to; b.IsCapture(p.Move) {
				if man, _ := b.PieceAt(p.Move.To()); man == chess.NoPiece { // en passant
					taken = to&7 | from&encoding.RankFlip
				}
				a.Survive &^= 1 << began[taken]
			}
			began[to] = began[from]
		}
		b.Make(p.Move)
	}
	a.Known, a.Material = true, int8(max(math.MinInt8, min(math.MaxInt8, b.MaterialBalance())))
	return a
}
