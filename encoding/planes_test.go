package encoding

import (
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// line plays UCI moves from a FEN ("" = the start position).
func line(t testing.TB, fen string, moves ...string) *chess.History {
	t.Helper()
	b := chess.StartBoard()
	if fen != "" {
		var err error
		if b, err = chess.ParseFEN(fen); err != nil {
			t.Fatalf("ParseFEN(%q): %v", fen, err)
		}
	}
	h := chess.NewHistory(b)
	for _, s := range moves {
		m, err := h.Board().ParseUCI(s)
		if err != nil {
			t.Fatalf("move %s: %v", s, err)
		}
		h.Push(m)
	}
	return h
}

func encode(h *chess.History) (m [NumMasks]uint64, s Scalars) {
	for i := range m { // what Encode does not write shows
		m[i] = 0xdead
	}
	s = Scalars{9, 9, 9, 9, 9, 9}
	Encode(h, &m, &s)
	return m, s
}

var startPlanes = [PlanesPerBoard]uint64{
	0xff00, 0x42, 0x24, 0x81, 0x08, 0x10,
	0xff << 48, 0x42 << 56, 0x24 << 56, 0x81 << 56, 0x08 << 56, 0x10 << 56, 0,
}

func TestEncodeStart(t *testing.T) {
	m, s := encode(line(t, ""))
	var want [NumMasks]uint64
	copy(want[:], startPlanes[:])
	if m != want {
		t.Errorf("masks = %x", m)
	}
	if want := (Scalars{OurOOO: 1, OurOO: 1, TheirOOO: 1, TheirOO: 1}); s != want {
		t.Errorf("scalars = %+v, want %+v", s, want)
	}
}

func TestEncodeSideAndCounter(t *testing.T) {
	_, s := encode(line(t, "", "g1f3"))
	if s.BlackToMove != 1 || s.Rule50 != 1 {
		t.Errorf("after g1f3: %+v", s)
	}
	_, s = encode(line(t, "", "g1f3", "g8f6"))
	if s.BlackToMove != 0 || s.Rule50 != 2 {
		t.Errorf("after g1f3 g8f6: %+v", s)
	}
	_, s = encode(line(t, "r3k2r/8/8/8/8/8/8/R3K2R b Kq - 0 1"))
	if want := (Scalars{OurOOO: 1, TheirOO: 1, BlackToMove: 1}); s != want {
		t.Errorf("Kq, black to move: %+v, want %+v", s, want)
	}
	_, s = encode(line(t, "8/8/4k3/8/8/4K3/8/7R w - - 99 80"))
	if s.Rule50 != 99 {
		t.Errorf("rule50 = %d, want 99", s.Rule50)
	}
}

// History boards are seen by the current mover, whoever was to move then.
func TestEncodeHistoryView(t *testing.T) {
	m, _ := encode(line(t, "", "g1f3"))
	black := startPlanes // the start position as black sees it: the same but for king and queen files
	if got := [PlanesPerBoard]uint64(m[PlanesPerBoard:]); got != black {
		t.Errorf("step 1 = %x, want %x", got, black)
	}
	if got, want := m[planeTheirs+1], uint64(1<<57|1<<45); got != want {
		t.Errorf("white's knights as black sees them = %x, want %x", got, want)
	}
	m, _ = encode(line(t, "", "e2e4", "d7d5"))
	if got, want := m[0], uint64(0xff00&^(1<<12)|1<<28); got != want {
		t.Errorf("step 0 pawns = %x, want %x", got, want)
	}
	if got, want := m[PlanesPerBoard], uint64(0xff00&^(1<<12)|1<<28); got != want {
		t.Errorf("step 1 pawns = %x, want %x", got, want)
	}
	if got, want := m[2*PlanesPerBoard], uint64(0xff00); got != want {
		t.Errorf("step 2 pawns = %x, want %x", got, want)
	}
	if m[3*PlanesPerBoard] != 0 {
		t.Error("history before the start is not zero")
	}
}

// A history longer than eight boards shows the newest eight.
func TestEncodeKeepsEight(t *testing.T) {
	h := line(t, "", "a2a3", "a7a6", "b2b3", "b7b6", "c2c3", "c7c6", "d2d3", "d7d6", "e2e3")
	m, _ := encode(h)
	for step := range HistoryLen {
		older := chess.NewHistory(*h.At(h.Len() - 1 - step))
		want, _ := encode(older)
		for p := range planeRepetition {
			w := want[p]
			if step%2 == 1 {
				w = MirrorRanks.Mask(want[(p+planeTheirs)%12])
			}
			if m[step*PlanesPerBoard+p] != w {
				t.Errorf("step %d plane %d = %x, want %x", step, p, m[step*PlanesPerBoard+p], w)
			}
		}
	}
}

// The repetition plane is set for every history board that had occurred before.
func TestEncodeRepetition(t *testing.T) {
	m, _ := encode(line(t, "", "g1f3", "g8f6", "f3g1", "f6g8", "g1f3"))
	for step := range HistoryLen {
		want := uint64(0)
		if step < 2 { // after f6g8 and g1f3
			want = allOnes
		}
		if got := m[step*PlanesPerBoard+planeRepetition]; got != want {
			t.Errorf("step %d repetition plane = %x, want %x", step, got, want)
		}
	}
}

// A start board with an en-passant right is preceded by one board with the
// pawn put back; from the next move on the same board lies one step further.
func TestEncodeEnPassantStart(t *testing.T) {
	const fen = "rnbqkbnr/ppppp1pp/8/4Pp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3"
	m, _ := encode(line(t, fen))
	before := m[PlanesPerBoard : 2*PlanesPerBoard]
	if got, want := before[planeTheirs], uint64(0xff)<<48; got != want {
		t.Errorf("their pawns before = %x, want %x", got, want)
	}
	for p := range PlanesPerBoard {
		if p != planeTheirs && before[p] != m[p] {
			t.Errorf("plane %d differs from the start board's", p)
		}
	}
	if m[2*PlanesPerBoard] != 0 {
		t.Error("more than one board before the start")
	}

	m, _ = encode(line(t, fen, "g1f3"))
	before = m[2*PlanesPerBoard : 3*PlanesPerBoard]
	if got, want := before[0], uint64(0xff)<<8; got != want {
		t.Errorf("after a move: our (black's) pawns before = %x, want %x", got, want)
	}
	if m[3*PlanesPerBoard] != 0 {
		t.Error("after a move: more than one board before the start")
	}

	// The same played out has the same boards.
	played, _ := encode(line(t, "", "e2e4", "a7a6", "e4e5", "f7f5"))
	fromFEN, _ := encode(line(t, "rnbqkbnr/1pppp1pp/p7/4Pp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3"))
	if [26]uint64(played[:26]) != [26]uint64(fromFEN[:26]) {
		t.Error("the board before the start differs from the one played")
	}
}

func TestEncodeDoesNotAllocate(t *testing.T) {
	h := line(t, "", "e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "b5a4", "g8f6", "e1g1")
	var l chess.MoveList
	h.Board().GenerateMoves(&l)
	b := NewBatch(4)
	n := testing.AllocsPerRun(100, func() {
		b.Reset()
		AppendPosition(b, h, &l)
		Key128(&b.Masks[0], &b.Scalars[0])
	})
	if n != 0 {
		t.Errorf("%v allocations per position, want 0", n)
	}
}

func TestAppendPosition(t *testing.T) {
	h := line(t, "", "e2e4")
	var l chess.MoveList
	h.Board().GenerateMoves(&l)
	b := NewBatch(0)
	for want := range 3 {
		if got := AppendPosition(b, h, &l); got != want {
			t.Fatalf("row = %d, want %d", got, want)
		}
	}
	m, s := encode(h)
	for i := range b.N {
		if b.Masks[i] != m || b.Scalars[i] != s {
			t.Errorf("row %d differs from Encode", i)
		}
		legal := b.LegalOf(i)
		if len(legal) != l.N || len(b.PriorOf(i)) != l.N {
			t.Fatalf("row %d has %d legal moves, want %d", i, len(legal), l.N)
		}
		for j, mv := range l.Slice() {
			if legal[j] != PolicyIndex(mv) {
				t.Errorf("row %d move %d = %d, want %d", i, j, legal[j], PolicyIndex(mv))
			}
		}
	}
}

func TestAppendTrainPosition(t *testing.T) {
	h := line(t, "")
	var l chess.MoveList
	h.Board().GenerateMoves(&l)
	b := NewTrainBatch(1)
	for range 2 {
		b.Reset()
		i := AppendTrainPosition(b, h, &l)
		q := b.Targets[i][TargetST].Q
		if len(b.PolicyOf(i)) != 20 || b.Weight[i] != 1 || q == q {
			t.Errorf("row %d: %d policy entries, weight %g, unknown target %g", i, len(b.PolicyOf(i)), b.Weight[i], q)
		}
		b.PolicyOf(i)[3], b.Targets[i][TargetST].Q = 1, 0.5 // must not show in the next use
	}
}

func TestExpandPlanes(t *testing.T) {
	m, s := encode(line(t, "", "g1f3"))
	x := make([]float32, NumPlanes*NumSquares)
	for i := range x {
		x[i] = 7
	}
	ExpandPlanes(x, &m, &s)
	for p := range NumPlanes {
		for sq := range NumSquares {
			var want float32
			switch {
			case p < NumMasks:
				want = float32(m[p] >> sq & 1)
			case p <= 108 || p == 111:
				want = 1
			case p == 109:
				want = float32(1) / 99
			}
			if got := x[p*NumSquares+sq]; got != want {
				t.Fatalf("plane %d square %d = %g, want %g", p, sq, got, want)
			}
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	h := line(b, "", "e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "b5a4", "g8f6", "e1g1")
	var m [NumMasks]uint64
	var s Scalars
	b.ReportAllocs()
	for b.Loop() {
		Encode(h, &m, &s)
	}
}

func BenchmarkAppendPosition(b *testing.B) {
	h := line(b, "", "e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "b5a4", "g8f6", "e1g1")
	var l chess.MoveList
	h.Board().GenerateMoves(&l)
	batch := NewBatch(1)
	b.ReportAllocs()
	for b.Loop() {
		batch.Reset()
		AppendPosition(batch, h, &l)
	}
}
