package lc0

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/record"
)

// mate is f2f3 e7e5 g2g4 d8h4 mate, 21 visits a move: 15 and 5 on the first two
// legal moves, the values of ply i all different.
func mate(t testing.TB) *record.Game {
	t.Helper()
	g := &record.Game{NetID: "n", End: record.EndCheckmate, WhiteResult: -1}
	b := chess.StartBoard()
	for i, s := range []string{"f2f3", "e7e5", "g2g4", "d8h4"} {
		m, err := b.ParseUCI(s)
		if err != nil {
			t.Fatal(err)
		}
		var l chess.MoveList
		b.GenerateMoves(&l)
		x := float32(i) / 8
		p := record.Ply{Move: m, Kind: record.PolicyCounts, Counts: make([]uint32, l.N), Visits: 21, Weight: 1, KLD: .25 + x, Flags: record.FullSearch,
			Root: encoding.QDM{Q: .5, D: .25, M: 40 + x}, Best: encoding.QDM{Q: .5 - x, D: .25, M: 30 + x},
			Played: encoding.QDM{Q: -.5 + x, D: .125, M: 20 + x}, Orig: encoding.QDM{Q: .25 - x, D: .5, M: 10 + x}}
		for j, k := 0, uint32(15); k > 0; j, k = j+1, k-10 {
			if l.Moves[j] == m {
				j++
			}
			p.Counts[j] = k
			if k < 10 {
				break
			}
		}
		g.Plies = append(g.Plies, p)
		b.Make(m)
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	return g
}

func written(t testing.TB, g *record.Game) []Record {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteChunk(&buf, g); err != nil {
		t.Fatal(err)
	}
	records, err := readChunk(buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// Every field of the second record of a small game by its literal offset.
func TestV6Layout(t *testing.T) {
	raw, err := AppendRecords([]byte("kept"), mate(t), Form{Version: v6Version})
	if err != nil || len(raw) != 4+4*8356 || string(raw[:4]) != "kept" {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	start, second, last := raw[4:4+8356], raw[4+8356:4+2*8356], raw[4+3*8356:]
	for i, want := range []string{ // start position's planes as stored (FORMATS.md, section 3)
		"00ff000000000000", "4200000000000000", "2400000000000000", "8100000000000000", "1000000000000000", "0800000000000000",
		"000000000000ff00", "0000000000000042", "0000000000000024", "0000000000000081", "0000000000000010", "0000000000000008", "0000000000000000"} {
		if got := hex.EncodeToString(start[7440+8*i:][:8]); got != want {
			t.Errorf("plane %d is %s, want %s", i, got, want)
		}
	}
	if !bytes.Equal(start[7440+13*8:8272], make([]byte, 91*8)) {
		t.Error("history planes of the start position are not zero")
	}
	f := func(x float32) string {
		return hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
	}
	for _, c := range []struct {
		name   string
		record []byte
		at     int
		want   string
	}{
		{"version", second, 0, "06000000"}, {"input_format", second, 4, "01000000"},
		{"castling", second, 8272, "01010101"}, {"side, rule50, invariance, dummy", second, 8276, "01000000"},
		{"side of white", start, 8276, "00000000"},
		{"root_q", second, 8280, f(.5)}, {"best_q", second, 8284, f(.375)}, {"root_d", second, 8288, f(.25)}, {"best_d", second, 8292, f(.25)},
		{"root_m", second, 8296, f(40.125)}, {"best_m", second, 8300, f(30.125)},
		// best_m of the last record, 30.375, and two records after this one.
		{"plies_left", second, 8304, f(32.375)}, {"plies_left of the last", last, 8304, f(30.375)},
		{"result_q of black, who won", second, 8308, f(1)}, {"result_q of white", start, 8308, f(-1)}, {"result_d", second, 8312, f(0)},
		{"played_q", second, 8316, f(-.375)}, {"played_d", second, 8320, f(.125)}, {"played_m", second, 8324, f(20.125)},
		{"orig_q", second, 8328, f(.125)}, {"orig_d", second, 8332, f(.5)}, {"orig_m", second, 8336, f(10.125)},
		{"visits", second, 8340, "15000000"},
		{"played_idx e7e5 = e2e4 322", second, 8344, "4201"}, {"played_idx f2f3 346", start, 8344, "5a01"},
		{"policy_kld", second, 8348, f(.375)}, {"q_st", second, 8352, f(0)},
	} {
		if got := hex.EncodeToString(c.record[c.at:][:len(c.want)/2]); got != c.want {
			t.Errorf("%s at %d is %s, want %s", c.name, c.at, got, c.want)
		}
	}
	checkCounts(t, start, []int{204, 207, 230, 234, 259, 264, 288, 293, 317, 322, 346, 351, 374, 378, 400, 403, 34, 36, 159, 161})
}

// checkCounts: of the start position's twenty moves (by their literal indices)
// two have 0.75 and 0.25, the others 0; all else is -1.
func checkCounts(t *testing.T, rec []byte, legal []int) {
	t.Helper()
	seen := map[float32]int{}
	for i := range 1858 {
		seen[math.Float32frombits(binary.LittleEndian.Uint32(rec[8+4*i:]))]++
	}
	if seen[-1] != 1838 || seen[0] != 18 || seen[.75] != 1 || seen[.25] != 1 {
		t.Errorf("probabilities by how often: %v", seen)
	}
	for _, i := range legal {
		if math.Float32frombits(binary.LittleEndian.Uint32(rec[8+4*i:])) < 0 {
			t.Errorf("%s is marked illegal", encoding.PolicyString(uint16(i)))
		}
	}
}

// A random opening move, a cheap search and a search without weight: the chunk
// begins with the first trained row and keeps the others as placeholders.
func TestV6Placeholders(t *testing.T) {
	g := mate(t)
	none := encoding.UnknownQDM
	g.Plies[0] = record.Ply{Move: g.Plies[0].Move, Root: none, Best: none, Played: none, Orig: none}
	g.Plies[2] = record.Ply{Move: g.Plies[2].Move, Root: none, Best: none, Played: none, Orig: none}
	g.Plies[3].Weight = 0
	r := written(t, g)
	if len(r) != 3 {
		t.Fatalf("%d records, want 3", len(r))
	}
	for i, want := range []Invariance{0, Placeholder, Placeholder} {
		if r[i].Invariance != want {
			t.Errorf("record %d: flags %#x, want %#x", i, r[i].Invariance, want)
		}
	}
	if r[0].Planes[encoding.PlanesPerBoard] == 0 {
		t.Error("the opening move does not show in the history")
	}
	// Nothing was searched before g2g4: the value is that of the next position
	// turned round, the policy is the move played.
	if want := (encoding.QDM{Q: -.5, D: .25, M: 41.375}); r[1].Root != want || r[1].Best != want || r[1].Played != want {
		t.Errorf("values %+v %+v %+v, want %+v", r[1].Root, r[1].Best, r[1].Played, want)
	}
	if r[1].Probabilities[378] != 1 || r[1].PlayedIdx != 378 || r[1].BestIdx != 378 || r[1].Visits != 0 || r[1].PolicyKLD != 0 {
		t.Errorf("%d, %d, %d visits", r[1].PlayedIdx, r[1].BestIdx, r[1].Visits)
	}
	if r[2].Visits != 21 {
		t.Errorf("a search without weight has %d visits", r[2].Visits)
	}
	g.Plies[1].Weight = 0
	var buf bytes.Buffer
	if err := WriteChunk(&buf, g); err != nil || buf.Len() != 0 {
		t.Errorf("no trained row: %d bytes, %v", buf.Len(), err)
	}
}

// A move that was played without a visit has the value of what it led to.
func TestV6UnknownPlayed(t *testing.T) {
	g := mate(t)
	g.Plies[1].Played, g.Plies[3].Played = encoding.UnknownQDM, encoding.UnknownQDM
	g.Plies[1].Orig = encoding.UnknownQDM
	r := written(t, g)
	if want := (encoding.QDM{Q: -.5, D: .25, M: 41.25}); r[1].Played != want {
		t.Errorf("played %+v, want the next root turned %+v", r[1].Played, want)
	}
	if want := (encoding.QDM{Q: 1, D: 0, M: 1}); r[3].Played != want {
		t.Errorf("the mating move has %+v, want %+v", r[3].Played, want)
	}
	if q := r[1].Orig.Q; q == q {
		t.Errorf("orig_q is %v, want NaN", q)
	}
}

func TestV6FlagsAndResult(t *testing.T) {
	g := mate(t)
	g.Plies, g.End, g.WhiteResult, g.Flags = g.Plies[:2], record.EndMaxPlies, 0, record.MaxPliesHit
	g.Plies[0].Flags |= record.Adjudicated | record.BestProven
	r := written(t, g)
	if r[0].Invariance != 0x38 || r[1].Invariance != 0x10 || r[0].ResultQ != 0 || r[0].ResultD != 1 {
		t.Errorf("flags %#x and %#x, result %v %v", r[0].Invariance, r[1].Invariance, r[0].ResultQ, r[0].ResultD)
	}
	g.End = record.EndAborted
	if out, err := AppendRecords([]byte{7}, g, Form{Version: v6Version}); !errors.Is(err, ErrNoResult) || len(out) != 1 {
		t.Errorf("aborted: %d bytes, %v", len(out), err)
	}
	g.Plies[1].Move = g.Plies[0].Move ^ 0xfff
	var invalid *record.InvalidError
	if _, err := AppendRecords(nil, g, Form{Version: v6Version}); !errors.As(err, &invalid) || invalid.Ply != 1 {
		t.Errorf("an illegal move: %v", err)
	}
}

// In Chess960 the castling bytes tell the rooks' files, as format 2 has them.
func TestV6Chess960(t *testing.T) {
	b := chesstest.Board(t, "1r3k1r/8/8/8/8/8/8/1R3K1R b HBhb - 3 9")
	var l chess.MoveList
	b.GenerateMoves(&l)
	g := &record.Game{NetID: "n", Start: b.FEN(), End: record.EndMaxPlies}
	v := encoding.QDM{Q: 0, D: .5, M: 3}
	g.Plies = []record.Ply{{Move: l.Moves[0], Kind: record.PolicyCounts, Counts: make([]uint32, l.N), Root: v, Best: v, Played: v, Orig: v, Visits: 2, Weight: 1}}
	g.Plies[0].Counts[0] = 1
	r := written(t, g)[0]
	if r.InputFormat != 2 || r.Castling != [4]uint8{2, 128, 2, 128} || r.SideOrEP != 1 || r.Rule50 != 3 {
		t.Errorf("format %d, castling %v, side %d, rule50 %d", r.InputFormat, r.Castling, r.SideOrEP, r.Rule50)
	}
}

// Values are drawn in just as far as Leela's ranges want.
func TestDrawnIn(t *testing.T) {
	for _, c := range []struct{ in, want encoding.QDM }{
		{encoding.QDM{Q: .25, D: .75, M: 2}, encoding.QDM{Q: .25, D: .75, M: 2}},
		{encoding.QDM{Q: 1.0005, D: 0}, encoding.QDM{Q: 1}},
		{encoding.QDM{Q: -1, D: .0005}, encoding.QDM{Q: -1}},
		{encoding.QDM{Q: 0, D: 1.0005}, encoding.QDM{D: 1}},
	} {
		if got := drawnIn(c.in); got != c.want {
			t.Errorf("%+v becomes %+v, want %+v", c.in, got, c.want)
		}
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 20000 {
		q := 2*rng.Float32() - 1
		v := encoding.QDM{Q: q, D: (1 - float32(math.Abs(float64(q)))) * (1 + 1e-3*(rng.Float32()-.5))}
		got := drawnIn(v)
		win := (1 - got.D + got.Q) / 2
		if win < 0 || win-got.Q < 0 || got.D > v.D || v.D-got.D > 2e-3 || got.Q != v.Q {
			t.Fatalf("seed %d: %+v becomes %+v: win %v, loss %v", seed, v, got, win, win-got.Q)
		}
	}
}

// Games of random moves and visits keep what they hold through a chunk, and the
// bytes depend on the game alone.
func TestV6RandomGames(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 2))
	for range 20 {
		g := randomGame(rng)
		if err := g.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var a, b bytes.Buffer
		if err := errors.Join(WriteChunk(&a, g), WriteChunk(&b, g.Clone())); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("seed %d: two chunks of a game differ: %v", seed, err)
		}
		r, err := readChunk(a.Bytes())
		if err != nil || len(r) != len(g.Plies) {
			t.Fatalf("seed %d: %d records of %d plies: %v", seed, len(r), len(g.Plies), err)
		}
		batch, replayer := encoding.NewTrainBatch(len(g.Plies)), record.Replayer{}
		for i, p := range g.Plies {
			if err := replayer.AppendRow(batch, g, i); err != nil {
				t.Fatal(err)
			}
			if r[i].Planes != batch.Masks[i] || r[i].PlayedIdx != encoding.PolicyIndex(p.Move) || r[i].Root != p.Root {
				t.Fatalf("seed %d ply %d: planes, move or value differ", seed, i)
			}
			legal := 0
			for j, idx := range batch.LegalOf(i) {
				if r[i].Probabilities[idx] != batch.PolicyOf(i)[j] {
					t.Fatalf("seed %d ply %d: policy differs", seed, i)
				}
			}
			for _, x := range r[i].Probabilities {
				if x >= 0 {
					legal++
				}
			}
			if legal != len(batch.LegalOf(i)) {
				t.Fatalf("seed %d ply %d: %d legal moves", seed, i, legal)
			}
		}
	}
}

func randomGame(rng *rand.Rand) *record.Game {
	g := &record.Game{NetID: "n", End: record.EndMaxPlies}
	h := chess.NewHistory(chess.StartBoard())
	for {
		var l chess.MoveList
		h.Board().GenerateMoves(&l)
		if h.Terminal(l.N) != chess.NotOver { // the last ply may end the game, too
			g.End, g.WhiteResult = record.EndUnknown, 0
			if l.N == 0 && h.Board().InCheck() {
				g.WhiteResult = int8(2*int(h.Board().SideToMove()) - 1)
			}
			break
		}
		if len(g.Plies) == 80 {
			break
		}
		value := func() encoding.QDM {
			q := 2*rng.Float32() - 1
			return encoding.QDM{Q: q, D: (1 - float32(math.Abs(float64(q)))) * .9 * rng.Float32(), M: 100 * rng.Float32()}
		}
		p := record.Ply{Move: l.Moves[rng.IntN(l.N)], Kind: record.PolicyCounts, Counts: make([]uint32, l.N), Weight: 1,
			Root: value(), Best: value(), Played: value(), Orig: value()}
		for range 50 {
			p.Counts[rng.IntN(l.N)]++
		}
		p.Visits = 51
		g.Plies = append(g.Plies, p)
		h.Push(p.Move)
	}
	return g
}

func TestReadV6Refuses(t *testing.T) {
	good := bytesOf(t, mate(t), Form{Version: v6Version})
	if r, err := readChunk(nil); err != nil || len(r) != 0 {
		t.Errorf("an empty chunk: %d records, %v", len(r), err)
	}
	nan := math.Float32bits(float32(math.NaN()))
	for _, c := range []struct {
		at   int // in the second record
		with uint32
		want string
	}{
		{0, 7, "version is 7, that of the records before it 6"}, {0, 8, "version is 8, this program reads 3 to 7"}, {4, 6, "input_format is 6"}, {8272, 2, "castling byte 0 is 0x2"}, {8276, 2, "side_to_move_or_enpassant is 0x2"},
		{8276, 1 | 101<<8, "rule50_count is 101"}, {8276, 1 | 9<<24, "dummy is 9"}, {8, math.Float32bits(1.5), "probability of a1b1 is 1.5"},
		{8, nan, "probability of a1b1 is NaN"}, {8, math.Float32bits(.5), "sum to 1.5"}, {8344, 1900, "played_idx is 1900"}, {8344, 0, "played_idx is a1b1, which is marked illegal"},
		{8280, nan, "root_q is NaN"}, {8284, math.Float32bits(-1.01), "best_q is -1.01"}, {8296, math.Float32bits(-1), "root_m is -1"},
		{8304, math.Float32bits(float32(math.Inf(1))), "plies_left is +Inf"}, {8288, math.Float32bits(.75), "root_q 0.5 and root_d 0.75 leave a negative"},
		{8312, math.Float32bits(2), "result_d is 2"}, {8348, nan, "policy_kld is NaN"},
	} {
		bad := bytes.Clone(good)
		binary.LittleEndian.PutUint32(bad[V6Size+c.at:], c.with)
		r, err := readChunk(bad)
		if !errors.Is(err, ErrCorruptRecord) || len(r) != 1 || !strings.Contains(err.Error(), "record 1: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d records, %v; want %q", len(r), err, c.want)
		}
	}
	zip := zipped(t, good)
	flipped := bytes.Clone(zip)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	for name, data := range map[string][]byte{"torn record": good[:V6Size+100], "torn gzip": zip[:len(zip)/2], "no gzip": {0x1f, 0x8b, 0}, "checksum": flipped} {
		if _, err := readChunk(data); !errors.Is(err, ErrCorruptRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkWriteChunk(b *testing.B) {
	g := randomGame(rand.New(rand.NewPCG(1, 2)))
	n := 0
	for b.Loop() {
		var buf bytes.Buffer
		if err := WriteChunk(&buf, g); err != nil {
			b.Fatal(err)
		}
		n = buf.Len()
	}
	b.ReportMetric(float64(n)/float64(len(g.Plies)), "bytes/position")
	b.ReportMetric(float64(len(g.Plies)), "positions")
}
