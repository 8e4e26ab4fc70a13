package encoding

import (
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

func TestTransformSquares(t *testing.T) {
	const a2, b3, g7 = 8, 17, 54
	for _, c := range []struct {
		t    Transform
		from chess.Square
		want chess.Square
	}{
		{0, a2, 8}, {FlipFiles, a2, 15}, {MirrorRanks, a2, 48}, {Transpose, a2, 62},
		{Transpose, b3, 53}, {Transpose, g7, 9}, {FlipFiles | MirrorRanks | Transpose, 33, 12},
	} {
		if got := c.t.Square(c.from); got != c.want {
			t.Errorf("transform %d of square %d = %d, want %d", c.t, c.from, got, c.want)
		}
	}
}

// Masks move as their squares do, and Inverse undoes.
func TestTransformMasks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for tr := range NumTransforms {
		for sq := range chess.Square(NumSquares) {
			if got, want := tr.Mask(1<<sq), uint64(1)<<tr.Square(sq); got != want {
				t.Fatalf("transform %d of mask of %d = %x, want %x", tr, sq, got, want)
			}
			if got := tr.Inverse().Square(tr.Square(sq)); got != sq {
				t.Fatalf("inverse of transform %d moves %d to %d", tr, sq, got)
			}
		}
		m := rng.Uint64()
		if got := tr.Inverse().Mask(tr.Mask(m)); got != m {
			t.Errorf("inverse of transform %d: %x -> %x", tr, m, got)
		}
	}
}

func TestTransformMove(t *testing.T) {
	if got, want := FlipFiles.Move(parseMove("a7b8q")), parseMove("h7g8q"); got != want {
		t.Errorf("flip of a7b8q = %#04x, want %#04x", got, want)
	}
	if got, want := (FlipFiles | MirrorRanks | Transpose).Move(parseMove("b5b6")), parseMove("e2f2"); got != want {
		t.Errorf("transform 7 of b5b6 = %#04x, want %#04x", got, want)
	}
	// A transformed move is a policy entry exactly if the move is one.
	for tr := range NumTransforms {
		for _, m := range policyMoves[:numPlainMoves] {
			if PolicyIndex(tr.Move(m)) == NoPolicyIndex {
				t.Fatalf("transform %d of %#04x has no policy index", tr, m)
			}
		}
	}
}

// Facts of lc0's own encoder tests.
func TestEncodeCanonicalFacts(t *testing.T) {
	for _, c := range []struct {
		fen       string
		transform Transform
		p5, p11   uint64
	}{
		{"3r4/4k3/8/1K6/8/8/8/8 w - - 0 1", FlipFiles | MirrorRanks | Transpose, 1 << 12, 1 << 38},
		{"3r4/4k3/2K5/8/8/8/8/8 w - - 0 1", FlipFiles | MirrorRanks, 1 << 21, 1 << 11},
	} {
		var m [NumMasks]uint64
		var aux Aux
		h := line(t, c.fen)
		if got := EncodeFormat(FormatCanonical, h, &m, &aux); got != c.transform {
			t.Errorf("%s: transform %d, want %d", c.fen, got, c.transform)
		}
		if m[5] != c.p5 || m[11] != c.p11 {
			t.Errorf("%s: kings %x %x, want %x %x", c.fen, m[5], m[11], c.p5, c.p11)
		}
	}
	m, _ := encode(line(t, "3r4/4k3/8/1K6/8/8/8/8 w - - 0 1"))
	if m[5] != 1<<33 || m[11] != 1<<52 {
		t.Errorf("format 1: kings %x %x", m[5], m[11])
	}
}

func TestEncodeFormatStart(t *testing.T) {
	for _, f := range []InputFormat{FormatCastlingPlanes, FormatCanonical} {
		var m [NumMasks]uint64
		var aux Aux
		if tr := EncodeFormat(f, line(t, ""), &m, &aux); tr != 0 {
			t.Errorf("format %d: transform %d, want none", f, tr)
		}
		if want := (Aux{Castling: [4]uint64{1 | 1<<56, 1<<7 | 1<<63}}); aux != want {
			t.Errorf("format %d: %+v, want %+v", f, aux, want)
		}
		if [PlanesPerBoard]uint64(m[:]) != startPlanes {
			t.Errorf("format %d: planes %x", f, m[:PlanesPerBoard])
		}
	}
	var m [NumMasks]uint64
	var aux Aux
	EncodeFormat(FormatClassical, line(t, "", "g1f3"), &m, &aux)
	want := Aux{Castling: [4]uint64{allOnes, allOnes, allOnes, allOnes}, SideOrEP: allOnes, Rule50: 1, BlackToMove: true}
	if aux != want {
		t.Errorf("format 1: %+v, want %+v", aux, want)
	}
}

func TestEncodeCanonicalEnPassant(t *testing.T) {
	var m [NumMasks]uint64
	var aux Aux
	EncodeFormat(FormatCanonical, line(t, "", "e2e4", "g7g6", "e4e5", "f7f5"), &m, &aux)
	if aux.SideOrEP != 1<<61 {
		t.Errorf("plane 108 = %x, want %x", aux.SideOrEP, uint64(1)<<61)
	}
	for p, v := range m[PlanesPerBoard:] {
		if v != 0 {
			t.Fatalf("plane %d = %x, want no history", p+PlanesPerBoard, v)
		}
	}
}

// The history stops after a position with rule50 = 0 and at a change of
// castling rights.
func TestEncodeCanonicalHistory(t *testing.T) {
	for _, c := range []struct {
		moves []string
		want  int // boards shown
	}{
		{[]string{"g1f3", "g8f6", "b1c3"}, 4},
		{[]string{"e2e4", "g8f6", "g1f3"}, 3},
		{[]string{"g1f3", "g8f6", "h1g1", "b8c6"}, 2},
		{[]string{"g1f3", "g8f6", "b1c3", "b8c6", "c3b1", "c6b8", "f3g1", "f6g8", "g1f3"}, 8},
	} {
		var m [NumMasks]uint64
		var aux Aux
		EncodeFormat(FormatCanonical, line(t, "", c.moves...), &m, &aux)
		got := 0
		for got < HistoryLen && m[got*PlanesPerBoard+5] != 0 {
			got++
		}
		if got != c.want {
			t.Errorf("%v: %d boards, want %d", c.moves, got, c.want)
		}
	}
}

// Positions that are images of each other have the same canonical input.
func TestCanonicalIsInvariant(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		men := rng.Perm(64)[:5]
		base := placeFEN(men, 0)
		var want [NumMasks]uint64
		var aux Aux
		b, err := chess.ParseFEN(base)
		if err != nil {
			continue // the side not to move is in check, or the kings touch
		}
		EncodeFormat(FormatCanonical, chess.NewHistory(b), &want, &aux)
		for tr := range NumTransforms {
			fen := placeFEN(men, tr)
			var got [NumMasks]uint64
			EncodeFormat(FormatCanonical, line(t, fen), &got, &aux)
			if got != want {
				t.Fatalf("%s and its image %s differ", base, fen)
			}
		}
	}
}

// placeFEN writes a FEN with men K, k, R, b, n on the squares after tr.
func placeFEN(squares []int, tr Transform) string {
	var board [64]byte
	for i, sq := range squares {
		board[tr.Square(chess.Square(sq))] = "KkRbn"[i]
	}
	var fen []byte
	for r := 7; r >= 0; r-- {
		for f := range 8 {
			c := board[r*8+f]
			last := len(fen) - 1
			switch {
			case c != 0:
				fen = append(fen, c)
			case f > 0 && fen[last] <= '8' && fen[last] >= '1':
				fen[last]++
			default:
				fen = append(fen, '1')
			}
		}
		if r > 0 {
			fen = append(fen, '/')
		}
	}
	return string(fen) + " w - - 0 1"
}
