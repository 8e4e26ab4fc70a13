package chess

import "slices"

const (
	quietNodes = 20_000 // positions of a QuietBalance at most
	matedValue = 1000   // pawns; beyond any material
)

// QuietBalance returns the material balance, in pawns for the side to move, after the
// captures and promotions that both sides make as long as they pay; exact between
// alpha and beta, and no closer to them beyond. A side in check makes any move.
func (b *Board) QuietBalance(alpha, beta int) int {
	nodes := 0
	return b.quietBalance(alpha, beta, &nodes)
}

func (b *Board) quietBalance(alpha, beta int, nodes *int) int {
	*nodes++
	best := b.MaterialBalance()
	check := b.InCheck()
	if *nodes >= quietNodes || !check && best >= beta {
		return best
	}
	var legal MoveList
	b.GenerateMoves(&legal)
	switch {
	case legal.N == 0 && check:
		return -matedValue
	case legal.N == 0:
		return 0 // stalemate
	case check:
		best = -matedValue
	default:
		alpha = max(alpha, best)
	}
	slices.SortStableFunc(legal.Slice(), func(m, n Move) int { return b.Gain(n) - b.Gain(m) })
	for _, m := range legal.Slice() {
		if !check && b.Gain(m) == 0 {
			break
		}
		child := *b
		child.Make(m)
		if v := -child.quietBalance(-beta, -alpha, nodes); v > best {
			if best = v; best >= beta {
				break
			}
			alpha = max(alpha, best)
		}
	}
	return best
}
