package lc0

import (
	"errors"
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// ErrNoResult says that a game has no result, without which Leela's records
// cannot be.
var ErrNoResult = errors.New("the game was aborted and has no result")

// Leela's input formats that AppendV6 writes.
const (
	formatClassical      = uint32(encoding.FormatClassical)
	formatCastlingPlanes = uint32(encoding.FormatCastlingPlanes)
)

// AppendV6 appends a game as Leela's V6 records, V6Size bytes each, from the
// first row that is trained on (a policy and a weight above 0) to the last move.
//
// Leela's rescorer finds the moves by comparing neighbours, so that no position
// may be missing in between: a row that is not trained on, such as a cheap
// search of the playout cap, is a record with the Placeholder flag, which the
// rescorer uses and then drops. Without a policy it has probability 1 on the
// move played. Moves before the first trained row show in its history planes.
//
// Where a value is not known (a move that was played without a visit), it is
// that of the next position, turned round and a ply longer; at the end of the
// game, the result. Draw probabilities are lowered by what rounding needs to
// keep win and loss from being negative. A record.Ply does not say which move
// Best is of: where Played equals Best it is taken to be the move played, if that
// has the largest policy or Best is proven, else the largest of the other moves.
// That may be wrong where several moves have the most visits.
//
// Input format is 1, but 2 in Chess960, where format 1 cannot say which rook
// castles. Row weights other than 0 have no place. Nothing is appended of a game
// without a trained row. Errors: an
// *record.InvalidError, or ErrNoResult of an aborted game; dst is then returned
// as it was.
func AppendV6(dst []byte, g *record.Game) ([]byte, error) {
	if err := g.Validate(); err != nil {
		return dst, fmt.Errorf("write V6 records: %w", err)
	}
	if g.End == record.EndAborted {
		return dst, fmt.Errorf("write V6 records: %w", ErrNoResult)
	}
	first := 0
	for first < len(g.Plies) && !trained(&g.Plies[first]) {
		first++
	}
	if first == len(g.Plies) {
		return dst, nil
	}
	start, err := g.StartBoard()
	if err != nil {
		return dst, fmt.Errorf("write V6 records: %w", err)
	}
	dst = slices.Grow(dst, (len(g.Plies)-first)*V6Size)
	w := v6Writer{game: g, history: chess.NewHistory(start), reached: reachedValues(g)}
	w.record.InputFormat = formatClassical
	if g.Flags&record.Chess960 != 0 || castles960(&start) {
		w.record.InputFormat = formatCastlingPlanes
	}
	for i := range g.Plies {
		if i >= first {
			w.fill(i, first)
			dst = w.record.Append(dst)
		}
		w.history.Push(g.Plies[i].Move)
	}
	return dst, nil
}

// trained says whether a row is drawn for training.
func trained(p *record.Ply) bool { return p.Kind != record.PolicyNone && p.Weight > 0 }

// v6Writer replays a valid game and describes its positions.
type v6Writer struct {
	game    *record.Game
	history *chess.History
	moves   chess.MoveList
	reached []encoding.QDM // see reachedValues
	record  V6
}

// fill describes the position before ply i, the history's newest. first is the
// first ply with a record.
func (w *v6Writer) fill(i, first int) {
	g, p, r := w.game, &w.game.Plies[i], &w.record
	board := w.history.Board()
	w.fillInput(board)
	w.moves.N = 0
	board.GenerateMoves(&w.moves)
	w.fillPolicy(p)
	after := turned(w.reached[i+1])
	r.Root = drawnIn(w.reached[i])
	r.Played = drawnIn(known(p.Played, after))
	r.Best = drawnIn(known(p.Best, after))
	r.Orig = drawnIn(p.Orig)
	if i == first {
		r.PliesLeft = w.pliesLeft(len(g.Plies) - first)
	} else {
		r.PliesLeft--
	}
	r.ResultQ, r.ResultD = float32(g.Result(board.SideToMove())), 0
	if g.WhiteResult == 0 {
		r.ResultD = 1
	}
	r.Visits = p.Visits
	r.PlayedIdx = encoding.PolicyIndex(p.Move)
	r.BestIdx = encoding.PolicyIndex(bestMove(p, w.moves.Slice()))
	r.PolicyKLD = max(p.KLD, 0)
	r.Invariance = w.flags(p)
}

// fillInput writes planes, castling rights, side and rule50.
func (w *v6Writer) fillInput(b *chess.Board) {
	r := &w.record
	var s encoding.Scalars
	encoding.Encode(w.history, &r.Planes, &s)
	r.Castling = [4]uint8{s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO}
	if r.InputFormat == formatCastlingPlanes {
		for i := range r.Castling {
			if rook, ok := b.CastlingRook(i < 2, i&1 == 1); ok {
				r.Castling[i] = 1 << rook.File()
			}
		}
	}
	r.SideOrEP, r.Rule50 = s.BlackToMove, s.Rule50
}

// fillPolicy writes the policy of p over w.moves.
func (w *v6Writer) fillPolicy(p *record.Ply) {
	probs := &w.record.Probabilities
	for i := range probs {
		probs[i] = -1
	}
	total := uint64(0)
	for _, n := range p.Counts {
		total += uint64(n)
	}
	for j, m := range w.moves.Slice() {
		v := float32(0)
		switch {
		case p.Kind == record.PolicyProbs:
			v = p.Probs[j]
		case total > 0:
			v = float32(float64(p.Counts[j]) / float64(total))
		case m == p.Move: // not searched, or a single move that needed no visit
			v = 1
		}
		probs[encoding.PolicyIndex(m)] = v
	}
}

// pliesLeft is Leela's estimate for the first of n records: the last one's
// best_m and the records after the first, rounded as one float32 sum.
func (w *v6Writer) pliesLeft(n int) float32 {
	last := len(w.game.Plies) - 1
	best := known(w.game.Plies[last].Best, turned(w.reached[last+1]))
	return float32(best.M+float32(n)) - 1
}

func (w *v6Writer) flags(p *record.Ply) Invariance {
	f := Invariance(0)
	if p.Flags&record.BestProven != 0 {
		f |= BestProven
	}
	if p.Flags&record.Adjudicated != 0 {
		f |= Adjudicated
	}
	if w.game.Flags&record.MaxPliesHit != 0 {
		f |= MaxLength
	}
	if !trained(p) {
		f |= Placeholder
	}
	return f
}

// bestMove returns the move that p.Best is of, as AppendV6 says. Among equals
// that tell nothing it is the one with the lowest number.
func bestMove(p *record.Ply, legal []chess.Move) chess.Move {
	if p.Kind == record.PolicyNone || len(legal) == 1 {
		return p.Move
	}
	share := func(j int) float64 {
		if p.Kind == record.PolicyProbs {
			return float64(p.Probs[j])
		}
		return float64(p.Counts[j])
	}
	best, played, most := -1, 0, 0.0
	for j, m := range legal {
		most = max(most, share(j))
		if m == p.Move {
			played = j
			if p.Played != p.Best {
				continue
			}
		}
		if best < 0 || share(j) > share(best) || share(j) == share(best) && m < legal[best] {
			best = j
		}
	}
	if p.Played == p.Best && (share(played) == most || p.Flags&record.BestProven != 0) {
		return p.Move
	}
	return legal[best]
}

// castles960 says whether a castling right of b has a king or a rook elsewhere
// than in standard chess.
func castles960(b *chess.Board) bool {
	for _, ours := range [2]bool{true, false} {
		king, home := b.Ours(chess.King), uint64(1)<<4
		if !ours {
			king, home = b.Theirs(chess.King), 1<<60
		}
		for _, kingside := range [2]bool{true, false} {
			rook, ok := b.CastlingRook(ours, kingside)
			if ok && (king != home || rook.File() != 0 && !kingside || rook.File() != 7 && kingside) {
				return true
			}
		}
	}
	return false
}
