package encoding

import (
	"math/bits"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// Format V2 shows, of the boards before the newest, those that were repetitions when they
// came, one after the other.
func TestEncodeCanonicalV2(t *testing.T) {
	for _, c := range []struct {
		moves []string
		want  []int // plies before the newest
	}{
		{nil, []int{0}},
		{[]string{"g1f3", "g8f6", "b1c3"}, []int{0}},
		{[]string{"g1f3", "g8f6", "f3g1", "f6g8"}, []int{0}},                                    // itself a repetition
		{[]string{"g1f3", "g8f6", "f3g1", "f6g8", "b1c3"}, []int{0, 1}},                         // the start came again
		{[]string{"g1f3", "g8f6", "f3g1", "f6g8", "b1c3", "b8c6", "c3b1"}, []int{0, 3}},         // with a gap
		{[]string{"g1f3", "g8f6", "f3g1", "f6g8", "b1c3", "b8c6", "c3b1", "c6b8"}, []int{0, 4}}, // the same, the third time
		{[]string{"g1f3", "g8f6", "f3g1", "f6g8", "e2e4", "g8f6"}, []int{0}},                    // none before a pawn's move
	} {
		h := line(t, "", c.moves...)
		b := NewBatch(1)
		b.Format = FormatCanonicalV2
		var l chess.MoveList
		h.Board().GenerateMoves(&l)
		AppendPosition(b, h, &l)
		var want [NumMasks]uint64
		for k, ago := range c.want {
			dst := (*[PlanesPerBoard]uint64)(want[k*PlanesPerBoard:])
			boardMasks(dst, h.At(h.Len()-1-ago), ago&1 == 1)
			if h.Repetitions(h.Len()-1-ago) > 0 {
				dst[planeRepetition] = allOnes
			}
		}
		if CanonicalTransform(h.Board()) != 0 {
			t.Fatal("the board is turned")
		}
		if b.Masks[0] != want {
			t.Errorf("%v: not the boards %v before the newest", c.moves, c.want)
		}
	}
}

// TestBatchFormats holds the rows of a batch against EncodeFormat: the planes that Plain and Squares
// make of the scalars, and the indices of moves.
func TestBatchFormats(t *testing.T) {
	for _, h := range []*chess.History{
		line(t, "", "e2e4"),
		line(t, "", "e2e4", "g7g6", "e4e5", "f7f5"),
		line(t, "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9"),
		line(t, "r3k2r/8/8/8/8/8/8/R3K2R w Qk - 5 20", "e1d1"),
		line(t, "4k3/8/8/1pP5/8/8/8/1K6 w - b6 0 30"), // flipped
		line(t, "8/8/4k3/8/2q5/8/1K6/7R b - - 7 60"),
	} {
		var l chess.MoveList
		h.Board().GenerateMoves(&l)
		for _, f := range InputFormats() {
			b := NewBatch(1)
			b.Format = f
			AppendPosition(b, h, &l)
			var masks [NumMasks]uint64
			var aux Aux
			turned := EncodeFormat(f, h, &masks, &aux)
			if b.Masks[0] != masks {
				t.Errorf("format %d: other masks", f)
			}
			for i, m := range l.Slice() {
				if got := b.LegalOf(0)[i]; got != PolicyIndex(turned.Move(m)) || got == NoPolicyIndex {
					t.Errorf("format %d: move %v has index %d", f, m, got)
				}
			}
			if f == FormatClassical {
				continue // ExpandPlanes's
			}
			s := b.Scalars[0]
			plain := s.Plain(f)
			var got [NumPlanes - NumMasks]uint64
			got[4] = -uint64(plain.BlackToMove)
			s.Squares(f, func(plane, sq int) { got[plane-NumMasks] |= 1 << sq })
			want := [len(got)]uint64{aux.Castling[0], aux.Castling[1], 0, 0, aux.SideOrEP}
			if f.armageddon() && aux.BlackToMove {
				want[6] = allOnes
			}
			if got != want || plain.Rule50 != uint8(h.Board().Rule50()) || plain.OurOO|plain.OurOOO|plain.TheirOO|plain.TheirOOO != 0 {
				t.Errorf("format %d, %s: planes from 104 on %x of %+v, want %x", f, h.Board().FEN(), got, s, want)
			}
			if bits.OnesCount64(aux.SideOrEP) > 1 && f >= FormatCanonical {
				t.Errorf("format %d: en passant %x", f, aux.SideOrEP)
			}
		}
	}
}
