package syzygy

import (
	"cmp"
	"math/bits"

	"github.com/chessbrain/chessbrain/chess"
)

// Results from the view of the side to move, as WDL returns them. Cursed wins and
// blessed losses are draws by the 50-move rule, if the other side insists.
const (
	Loss        = -2
	BlessedLoss = -1
	Draw        = 0
	CursedWin   = 1
	Win         = 2
)

// WDL returns the result of b for its side to move, -2 (Loss) to 2 (Win), for a
// counter of the 50-move rule at 0 (that of b is not looked at). En passant is
// taken into account. ok is false where b has castling rights, too many men or a
// table is missing or broken (see Err).
func (t *Tables) WDL(b *chess.Board) (wdl int, ok bool) {
	if !t.may(b) {
		return 0, false
	}
	wdl, _, ok = t.result(b, false)
	return wdl, ok
}

// Probe returns +1 for a win, 0 for a draw, -1 for a loss of the side to move; a
// cursed win and a blessed loss are draws. ok is false where the counter of the
// 50-move rule is not 0, as the result may then be another, and where WDL is.
func (t *Tables) Probe(b *chess.Board) (wdl int, ok bool) {
	if b.Rule50() != 0 {
		return 0, false
	}
	wdl, ok = t.WDL(b)
	return wdl / 2, ok
}

// DTZ returns the distance in plies to the next capture, pawn move or mate, for
// the side to move: positive for a win, negative for a loss, 0 for a draw, beyond
// 100 for cursed wins and blessed losses; a side that is mated has -1. The winner
// takes the shortest way that keeps the result, the loser the longest.
//
// Many tables count moves, so that n may mean n or n+1 plies (-n: n or n+1 too)
// where that cannot change a result: n + Rule50 <= 99 is a win for sure. ok is as
// for WDL, and false where the table of distances is missing.
func (t *Tables) DTZ(b *chess.Board) (dtz int, ok bool) {
	if !t.may(b) {
		return 0, false
	}
	return t.distance(b, true)
}

// may says whether tables can know b.
func (t *Tables) may(b *chess.Board) bool {
	return bits.OnesCount64(b.Occupied()) <= t.men && !b.MayCastle()
}

// result returns WDL. With pawnMoves it also looks one ply ahead at pawn moves,
// and zeroing is then true where a capture or pawn move reaches the result, so
// that the distance is 1 and the tables need not hold one.
//
// Tables hold whatever compresses best where a capture is as good as the stored
// result or better, and know no en passant: captures are searched first.
func (t *Tables) result(b *chess.Board, pawnMoves bool) (wdl int, zeroing, ok bool) {
	var list chess.MoveList
	b.GenerateMoves(&list)
	best, seen := Loss, 0
	for _, m := range list.Slice() {
		if !isZeroing(b, m) || !pawnMoves && !b.IsCapture(m) {
			continue
		}
		seen++
		child := *b
		child.Make(m)
		w, _, ok := t.result(&child, false)
		if !ok {
			return 0, false, false
		}
		if best = max(best, -w); best == Win {
			return Win, true, true
		}
	}
	if seen > 0 && seen == list.N {
		return best, true, true // nothing else can be played, en passant included
	}
	stored, ok := Draw, true
	if bits.OnesCount64(b.Occupied()) > 2 {
		stored, _, ok = t.stored(t.wdl, b, (*pairs).result)
	}
	if !ok {
		return 0, false, false
	}
	if best >= stored && seen > 0 {
		return best, best > Draw, true
	}
	return stored, false, true
}

// isZeroing says whether a move resets the counter of the 50-move rule.
func isZeroing(b *chess.Board, m chess.Move) bool {
	return b.IsCapture(m) || b.Ours(chess.Pawn)>>m.From()&1 != 0
}

// distance returns DTZ. Tables hold one side to move; for the other one the moves
// are tried (tryMoves), and then the replies must be held.
func (t *Tables) distance(b *chess.Board, tryMoves bool) (dtz int, ok bool) {
	wdl, zeroing, ok := t.result(b, true)
	if !ok || wdl == Draw {
		return 0, ok
	}
	if zeroing {
		return atZeroing(wdl), true
	}
	plies, held, ok := t.stored(t.dtz, b, func(p *pairs, v uint16) (int, error) { return p.distance(v, wdl) })
	switch {
	case !ok || !held && !tryMoves:
		return 0, false
	case held:
		return plies * sign(wdl), true
	}
	return t.distanceByMoves(b, wdl)
}

// distanceByMoves returns the distance of a position with the result wdl, no
// draw, from those of the positions one ply on.
func (t *Tables) distanceByMoves(b *chess.Board, wdl int) (dtz int, ok bool) {
	var list chess.MoveList
	b.GenerateMoves(&list)
	var child chess.Board
	best := 0
	for _, m := range list.Slice() {
		child = *b
		child.Make(m)
		d, ok := t.moveDistance(b, &child, m, false)
		if !ok {
			return 0, false
		}
		if sign(d) == sign(wdl) && (best == 0 || d < best) {
			best = d
		}
	}
	if best == 0 {
		return -1, true // mated
	}
	return best, true
}

// moveDistance returns the distance of b if m is played, for b's side to move, child
// being after it: 1 for a mate, 0 where m only draws. Without tryMoves b must be of the
// side that the table does not hold unless m is a capture or pawn move.
func (t *Tables) moveDistance(b, child *chess.Board, m chess.Move, tryMoves bool) (int, bool) {
	switch {
	case isZeroing(b, m):
		w, _, ok := t.result(child, false)
		return atZeroing(-w), ok
	case b.Mates(m):
		return 1, true
	}
	d, ok := t.distance(child, tryMoves)
	return -d - sign(d), ok
}

// atZeroing returns the distance where a capture or pawn move with the result
// wdl for its mover is played at once.
func atZeroing(wdl int) int {
	if wdl == CursedWin || wdl == BlessedLoss {
		return 101 * wdl
	}
	return sign(wdl)
}

// sign returns -1, 0 or 1.
func sign(n int) int { return cmp.Compare(n, 0) }
