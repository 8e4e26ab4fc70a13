package lc0

import (
	"fmt"
	"math/bits"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// men are the twelve piece planes of a board as its mover sees it: our P N B R Q
// K, theirs.
type men [12]uint64

// menOf returns the men of board t of a record's history, 0 being the record's
// own, seen by that board's mover.
func menOf(r *Record, t int) (m men) {
	undo := r.transform().Inverse()
	for k := range m {
		m[k] = undo.Mask(r.Planes[t*encoding.PlanesPerBoard+k])
	}
	if t&1 == 0 {
		return m
	}
	for k := range 6 {
		m[k], m[k+6] = bits.ReverseBytes64(m[k+6]), bits.ReverseBytes64(m[k])
	}
	return m
}

// is says whether b has exactly these men.
func (m *men) is(b *chess.Board) bool {
	for k := range chess.NoPiece {
		if m[k] != b.Ours(k) || m[k+6] != b.Theirs(k) {
			return false
		}
	}
	return true
}

// leading returns the legal move of b, one of legal, that leads to the men of the next board.
func leading(b *chess.Board, legal []chess.Move, next *men) (chess.Move, bool) {
	for _, m := range legal {
		after := *b
		after.Make(m)
		if next.is(&after) {
			return m, true
		}
	}
	return chess.NoMove, false
}

// move finds the move played from record i.
func (r *recovery) move(i int) (chess.Move, error) {
	rec, b := &r.records[i], r.history.Board()
	told := moveAt(r.legal.Slice(), rec.transform(), rec.PlayedIdx)
	if i+1 == len(r.records) {
		switch {
		case told != chess.NoMove:
			return told, nil
		case rec.version() >= v6Version && rec.Visits > 0:
			return told, fmt.Errorf("played_idx %s is not legal in %s", encoding.PolicyString(rec.PlayedIdx), b.FEN())
		}
		r.extra.flags |= extraGuessed
		return r.guess(rec), nil
	}
	next := menOf(&r.records[i+1], 0)
	if told != chess.NoMove {
		if m, ok := leading(b, []chess.Move{told}, &next); ok {
			return m, nil
		}
	}
	m, ok := leading(b, r.legal.Slice(), &next)
	if !ok {
		return m, fmt.Errorf("no legal move leads from %s to the board of record %d", b.FEN(), i+1)
	}
	if rec.version() >= v6Version && rec.Visits > 0 {
		return m, fmt.Errorf("played_idx is %s, but record %d is the position after %s", encoding.PolicyString(rec.PlayedIdx), i+1, m)
	}
	return m, nil
}

// moveAt returns the legal move that has a policy index under t, NoMove if none has.
func moveAt(legal []chess.Move, t encoding.Transform, idx uint16) chess.Move {
	for _, m := range legal {
		if encoding.PolicyIndex(t.Move(m)) == idx {
			return m
		}
	}
	return chess.NoMove
}

// guess returns the last move of a game that does not tell it: one that ends
// the game with the result it had, else the likeliest after which the game is
// not over.
func (r *recovery) guess(rec *Record) chess.Move {
	t := rec.transform()
	best, rank, most := chess.NoMove, -1, float32(-2)
	var replies chess.MoveList
	for _, m := range r.legal.Slice() {
		r.history.Push(m)
		replies.N = 0
		r.history.Board().GenerateMoves(&replies)
		over := r.history.Terminal(replies.N)
		r.history.Truncate(r.history.Len() - 1)
		agrees := 1
		if over == chess.Checkmate && rec.ResultQ == 1 || over != chess.Checkmate && over != chess.NotOver && rec.ResultQ == 0 {
			agrees = 2
		} else if over != chess.NotOver {
			agrees = 0
		}
		p := rec.Probabilities[encoding.PolicyIndex(t.Move(m))]
		if agrees > rank || agrees == rank && p > most {
			best, rank, most = m, agrees, p
		}
	}
	return best
}
