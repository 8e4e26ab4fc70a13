package record

import (
	"encoding/binary"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// Seeker rebuilds single positions straight from the bytes of encoded games: it
// plays the moves up to the position and decodes nothing but that ply's policy
// and values. The rows are those that a [Replayer] makes of the decoded games,
// bit for bit. It keeps its scratch between calls and does not allocate once
// that has grown; the zero value is ready. One goroutine at a time.
type Seeker struct {
	// ShortTerm is the theta of TargetST, [0,1]; 0 leaves that target unknown.
	ShortTerm float64

	w    walker
	game Game // the start of the current game
	row  Ply

	totals []uint64
}

// Totals returns, for each row that the last call appended, the sum of the
// visits that its policy was made of, 0 where it was not made of visits. It is
// valid until the next call.
func (s *Seeker) Totals() []uint64 { return s.totals }

// AppendRows appends several positions of e in one replay, as
// [Replayer.AppendRows] describes. plies ascend; one may come twice. Errors are
// *InvalidError for numbers out of range or order and *CorruptError for bytes
// that neither Append nor Decode has passed; rows before the bad one have then
// been appended.
func (s *Seeker) AppendRows(b *encoding.TrainBatch, e *Encoded, plies []int) error {
	s.game.Start, s.totals = e.start, s.totals[:0]
	move := func(at int) (m chess.Move, err error) {
		if m = e.move(at); s.w.history.Board().OurMen()>>m.From()&1 == 0 {
			err = &CorruptError{Offset: e.moves + 2*at, Reason: "the move is not one of the side to move"}
		}
		return m, err
	}
	return s.w.visit(&s.game, e.plies, plies, move, func(ply int) error { return s.appendCurrent(b, e, ply) })
}

// appendCurrent appends the walker's position, which is that of ply.
func (s *Seeker) appendCurrent(b *encoding.TrainBatch, e *Encoded, ply int) error {
	rest, n := e.entry(ply)
	p := &s.row
	policy, err := p.readValues(rest[:n])
	if err != nil {
		return err
	}
	if s.w.history.Board().GenerateMoves(&s.w.moves); s.w.moves.N > 255 {
		return &CorruptError{Offset: e.moves, Reason: "the moves lead to no position of chess"}
	}
	i := encoding.AppendTrainPosition(b, s.w.history, &s.w.moves)
	s.totals = append(s.totals, 0)
	if !s.fillPolicy(b.PolicyOf(i), p.Kind, policy) {
		return &CorruptError{Offset: e.entries, Reason: "a policy does not lie beside the legal moves"}
	}
	side := s.w.history.Board().SideToMove()
	p.fillTargets(b, i, e.targetAt(side, ply))
	if s.ShortTerm > 0 {
		b.Targets[i][encoding.TargetST] = s.shortTerm(e, side, ply)
	}
	return nil
}

// targetAt is Game.targetAt from the bytes; side is to move at ply.
func (e *Encoded) targetAt(side chess.Color, ply int) encoding.QDM {
	own := encoding.UnknownQDM
	if e.results != 0 {
		b := e.src[e.results+resultBytes*ply:]
		own = encoding.QDM{Q: float(b, 0), D: float(b, 1), M: float(b, 2)}
	}
	return target(e.end, e.result, side, e.plies-ply, own)
}

// shortTerm is Game.shortTerm from the bytes; side is to move at ply.
func (s *Seeker) shortTerm(e *Encoded, side chess.Color, ply int) encoding.QDM {
	rest, _ := e.entry(ply)
	last, end, theta := e.plies-1, 0, s.ShortTerm
	for i := ply; i <= last; i++ {
		end += e.entrySize(i)
	}
	v := e.targetAt(side^chess.Color((last-ply)&1), last)
	var p Ply
	for i := last; ; i-- {
		size := e.entrySize(i)
		end -= size
		if _, err := p.readValues(rest[end : end+size]); err != nil {
			return encoding.UnknownQDM // Open's callers promise bytes of Append
		}
		if v = Blend(p.Root, v, theta); i == ply {
			return v
		}
		v.Q, v.M = -v.Q, v.M+1
	}
}

// entrySize returns the length of ply's entry.
func (e *Encoded) entrySize(ply int) int {
	return int(binary.LittleEndian.Uint16(e.src[e.moves+2*(e.plies+ply):]))
}

// fillPolicy writes the policy of an entry beside the legal moves; dst is
// zeros. It reports whether the bytes are sound.
func (s *Seeker) fillPolicy(dst []float32, kind PolicyKind, src []byte) bool {
	switch kind {
	case PolicyNone:
		return len(src) == 0
	case PolicyProbs:
		if len(src) != 4*len(dst) {
			return false
		}
		for k, j := range s.w.diskOrder() {
			dst[j] = float(src, k)
		}
		return true
	case PolicyCounts:
		return s.fillCounts(dst, src)
	}
	return false
}

func (s *Seeker) fillCounts(dst []float32, src []byte) bool {
	pairs, n := binary.Uvarint(src)
	if n <= 0 || pairs > uint64(len(dst)) {
		return false
	}
	if src = src[n:]; pairs == 0 { // a single legal move that needed no visits
		if len(dst) > 0 {
			dst[0] = 1
		}
		return len(dst) > 0 && len(src) == 0
	}
	order := s.w.diskOrder()
	sum, rest := uint64(0), src
	for range pairs {
		if len(rest) < 2 || int(rest[0]) >= len(order) {
			return false
		}
		v, n := binary.Uvarint(rest[1:])
		if n <= 0 {
			return false
		}
		sum += v
		rest = rest[1+n:]
	}
	s.totals[len(s.totals)-1] = sum
	for range pairs {
		v, n := binary.Uvarint(src[1:])
		dst[order[src[0]]] = ShareOf(v, sum)
		src = src[1+n:]
	}
	return len(src) == 0
}
